"""Where the graph is, and which attributes mean what."""

from pathlib import Path
from typing import Any

from pydantic import Field

from bfsql.models.merge import UNTYPED
from bfsql.settings import BackendSettings


class Attributes(BackendSettings):
    """Which attributes of nodes and edges mean what."""

    type: str = Field(default="type", description="Attribute with a node's type.")
    name: str = Field(default="name", description="Attribute with a node's name.")
    predicate: str = Field(default="predicate", description="Attribute with an edge's predicate.")

    def of_node(self, said: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Type and metadata of a node."""
        metadata = {key: value for key, value in said.items() if key != self.type}
        metadata |= {"name": metadata.pop(self.name)} if self.name in metadata else {}
        return str(said.get(self.type) or UNTYPED), metadata

    def of_edge(self, said: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Predicate and metadata of an edge."""
        metadata = {key: value for key, value in said.items() if key != self.predicate}
        return str(said.get(self.predicate) or "related_to"), metadata


class NetworkxSettings(Attributes):
    """The same, for a graph in a file."""

    path: Path = Field(description="The graph: node-link (.json), .graphml or .gexf.")
