"""What is asked of a load, and its report.

`bfsql load` passes a `LoadOptions` to the loader of a backend, next to the
stream of records, and prints the `LoadReport` that comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from bfsql.models.merge import UNTYPED
from bfsql.models.records import GraphRecord, Refusal

MADE_TYPE = "Node"
"""Type of nodes that only edges name, and of nodes whose records give none, outside RDF."""

Progress = Callable[[str, "float | None"], None]
"""Called with the phase of a load (`reading`, `merging`, `writing`) and the share of it that is
done, 0 to 1, or None where that is unknown; from any thread. What it raises ends the load."""


class LoadMode(StrEnum):
    """What becomes of a graph that the store holds already."""

    NEW = "new"
    """It stays, and the load is refused: with an error that names `--replace` and `--append`."""
    REPLACE = "replace"
    """The new graph takes its place."""
    APPEND = "append"
    """The new records are merged into it, by the rules that hold within one load."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How a store is to be filled.

    The defaults load a graph exactly as its records have it; `bfsql load` sets more.
    """

    mode: LoadMode = LoadMode.NEW
    remove: Iterable[GraphRecord] = ()
    """With `APPEND`: what to take out before anything is added. A node goes with all of its
    edges, an edge with its evidence; metadata is not looked at. Read once."""
    create_nodes: bool = False
    """Whether an edge's end that no record describes becomes a node (type `default_type`, its
    name is its id), or the edge dangles."""
    default_type: str = UNTYPED
    """Type of nodes that no record gives one; any other type that a record gives replaces it."""
    require_nodes: bool = False
    """Whether a graph without nodes, or in which every edge dangles, is an error that leaves the
    store as it was."""
    strict: bool = False
    """Whether a record that the store cannot hold ends the load."""
    backup: bool = True
    """Whether a file that is replaced is kept under another name."""
    progress: Progress | None = None
    """Called now and then."""


REPLACING = LoadOptions(LoadMode.REPLACE)
"""The graph takes the place of what is there, exactly as its records have it."""


@dataclass(slots=True)
class ColumnAccount:
    """How one column of a table, or attribute of a node or edge, was read."""

    name: str
    """As the file has it."""
    meaning: str
    """`id`, `type`, `name`, `aliases`, `subject`, `predicate`, `object`, `metadata`, `evidence` or
    `ignored`."""
    example: str | None = None
    """Its first value."""


@dataclass(slots=True)
class SourceAccount:
    """How one source was read; complete when its last record has been given."""

    name: str
    """Its path, or `standard input`."""
    format: str
    """Name of the format, one of `bfsql.sources.FORMATS`."""
    encoding: str | None = None
    """Of text: `utf-8`, `utf-16`, ..."""
    separator: str | None = None
    """Of a table's cells."""
    columns: list[ColumnAccount] = field(default_factory=list)
    """Of a table, in its order; of a bag of attributes, those that have a meaning."""
    notes: list[str] = field(default_factory=list)
    """What was left out or taken for something else, a sentence each."""
    nodes: int = 0
    """Node records given."""
    edges: int = 0
    """Edge records given."""
    evidence: int = 0
    """Evidence records given."""
    refused: int = 0
    """Lines refused."""


@dataclass(slots=True)
class LoadReport:
    """What a load did, in numbers of distinct things."""

    nodes: int = 0
    """Nodes now in the store."""
    edges: int = 0
    """Triples now in the store."""
    evidence: int = 0
    """Passages now in the store."""
    duplicate_nodes: int = 0
    """Further records of a node that was there, merged into it. Statements of RDF files about one
    node are no duplicates; where other files are loaded with them, this is a lower bound."""
    duplicate_edges: int = 0
    """Further records of a triple that was there, merged into it."""
    dangling_edges: int = 0
    """Triples with an end that no node record describes."""
    dangling_examples: list[str] = field(default_factory=list)
    """Ids of such ends, a few."""
    created_nodes: int = 0
    """Nodes made of edges' ends that no record describes."""
    created_examples: list[str] = field(default_factory=list)
    """Ids of such nodes, a few."""
    removed_nodes: int = 0
    """Nodes that were taken out."""
    removed_edges: int = 0
    """Triples that were taken out, those of removed nodes included."""
    not_there: int = 0
    """Nodes and triples that were to be taken out, and that the store did not have."""
    not_there_examples: list[str] = field(default_factory=list)
    """A few of them, as a sentence names them."""
    unattached_evidence: int = 0
    """Passages whose edge no record describes; they are kept out."""
    refusals: list[Refusal] = field(default_factory=list)
    """Lines refused; the first hundred are kept."""
    refused: int = 0
    """Number of all lines refused."""
    place: str = ""
    """Where the graph is now, as a person names it: a path, an address."""
    backup: str = ""
    """Path of the file that was replaced, where it was kept."""
    sources: list[SourceAccount] = field(default_factory=list)
    """How each source was read."""
    removals: list[SourceAccount] = field(default_factory=list)
    """How each source of what was to be taken out was read."""
