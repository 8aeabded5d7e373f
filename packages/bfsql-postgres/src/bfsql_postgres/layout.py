"""Tables with their meaning: what is asked for, found in what is there."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Literal

from bfsql_postgres.catalogue import Catalogue, Column, Relation

Key = Literal["text", "whole", "uuid", "mixed"]
"""What ids are: texts, whole numbers, UUIDs; or of several or other types, compared as text."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A text that stands for a column: the type of all rows of a table, say."""

    text: str


Term = Column | Constant
"""Where a type or a predicate comes from."""

Fields = tuple[tuple[str, Column], ...]
"""Keys of metadata, and the columns that they come from."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """A table of nodes."""

    relation: Relation
    id: Column
    type: Term
    name: Column | None
    aliases: Column | None
    metadata: Fields
    """Name and aliases included."""
    status: Column | None = None
    """Rows where it is `merged` do not exist."""
    properties: Column | None = None
    """JSON whose keys come up into the metadata."""
    embedding: Column | None = None
    """The entity's vector, of whatever type; never fetched."""


@dataclass(frozen=True, slots=True)
class Edges:
    """A table of edges."""

    relation: Relation
    subject: Column
    predicate: Term
    object: Column
    metadata: Fields
    row: Column | None = None
    """What evidence refers to a row by."""
    documents: Column | None = None
    """The documents that a row comes from, as JSON or an array."""
    properties: Column | None = None
    """JSON whose keys come up into the metadata."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A table of passages that support edges."""

    relation: Relation
    reference: Column
    """`subject:predicate:object` as text, or the `row` of an edge."""
    by_row: bool
    """Which of the two."""
    document: Column | None
    fields: Fields
    """Keys of an item; the document's included."""
    lifted: tuple[Column, ...] = ()
    """JSON whose keys come up into the item."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """A table of the places where entities are named, counted for those that bring no count."""

    relation: Relation
    entity: Column
    document: Column | None


@dataclass(frozen=True, slots=True)
class Layout:
    """A graph in a database."""

    catalogue: Catalogue
    key: Key
    nodes: tuple[Nodes, ...]
    """Where two tables have the same id, the first one tells the type."""
    edges: tuple[Edges, ...]
    evidence: tuple[Evidence, ...] = ()
    mentions: Mentions | None = None

    @property
    def codec(self) -> str:
        """What Python calls the database's encoding; UTF-8 where it has no name for it."""
        name = self.catalogue.encoding.replace("WIN", "cp").replace("KOI8", "koi8_")
        try:
            return codecs.lookup(name).name
        except LookupError:
            return "utf-8"

    @property
    def cast_columns(self) -> tuple[tuple[Relation, Column], ...]:
        """Columns of ids that are compared as text and are none: an index on them is no help."""
        if self.key != "mixed":
            return ()
        columns = [(nodes.relation, nodes.id) for nodes in self.nodes]
        columns += [(e.relation, column) for e in self.edges for column in (e.subject, e.object)]
        cast = {(r.schema, r.name, c.name): (r, c) for r, c in columns if not c.is_text}
        return tuple(cast.values())


def key_of(columns: list[Column]) -> Key:
    """How ids compare, from all the columns that hold them."""
    if all(column.is_text for column in columns):
        return "text"
    if all(column.is_whole for column in columns):
        return "whole"
    if all(column.is_uuid for column in columns):
        return "uuid"
    return "mixed"
