"""A backend: notes that mention each other, kept in a folder of text files."""

import asyncio
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import bfsql
from bfsql.models import Edge, EntityStub, Metadata, Node


class Notebook(bfsql.GraphDbInterface):
    """Text files that link to each other as [[name]].

    Args:
        folder: Where the files are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _names(self) -> list[str]:
        return sorted(path.stem for path in self._folder.glob("*.txt"))

    def _text(self, name: str) -> str:
        if name not in self._names():
            raise KeyError(name)
        return (self._folder / f"{name}.txt").read_text(encoding="utf-8")

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> Iterable[EntityStub]:
        if node_types and "Note" not in node_types:
            return []
        names = [name for name in self._names() if query.casefold() in name.casefold()]
        return [EntityStub(name, "Note", name) for name in names[:20]]

    async def edges_from(self, entity_id: str) -> Iterable[Edge]:
        linked = re.findall(r"\[\[(.+?)\]\]", self._text(entity_id))
        return [Edge(entity_id, "MENTIONS", name) for name in linked]

    async def edges_to(self, entity_id: str) -> Iterable[Edge]:
        self._text(entity_id)
        edges = [edge for name in self._names() for edge in await self.edges_from(name)]
        return [edge for edge in edges if edge.object == entity_id]

    async def get_node(self, entity_id: str) -> Node:
        self._text(entity_id)
        return Node(entity_id, "Note")

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        return {"name": entity_id, "text": self._text(entity_id)}

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        if edge not in await self.edges_from(edge.subject):
            raise KeyError(edge)
        return {}

    async def entity_types(self) -> Sequence[str]:
        return ["Note"]

    async def predicates(self) -> Sequence[str]:
        return ["MENTIONS"]


async def ask(folder: Path) -> None:
    async with bfsql.open_graph(Notebook, folder=folder) as graph:
        answer = await graph.bfs_query(seeds=["water"], max_hops=1)
        print(answer.text)


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "tea.txt").write_text("Needs [[water]] and [[time]].", encoding="utf-8")
    (folder / "water.txt").write_text("Boil it.", encoding="utf-8")
    asyncio.run(ask(folder))
