"""The options of a load, and its report.

`bfsql load` passes a `LoadOptions` to the loader of a backend, together with the
stream of records, and prints the returned `LoadReport`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bfsql.models.merge import UNTYPED
from bfsql.models.records import GraphRecord, NodeRecord, Refusal
from bfsql.models.valid_time import NO_TIME_KEYS, TimeKeys

MADE_TYPE = "Node"
"""Type of nodes without a record, and of nodes whose records have no type, outside RDF."""

_ANY_TYPE = frozenset({MADE_TYPE, UNTYPED})
Progress = Callable[[str, "float | None"], None]
"""Called with the phase of a load (`reading`, `merging`, `writing`) and its completed share, 0 to
1, or None if that is unknown; called from any thread. An exception from it ends the load.
"""


class LoadMode(StrEnum):
    """The treatment of an existing graph in the store."""

    NEW = "new"
    """It remains, and the load is refused with an error that names the other modes."""
    REPLACE = "replace"
    """The new graph replaces it."""
    APPEND = "append"
    """The new records are merged into it, by the same rules as within one load. Not supported by
    every store: see `bfsql.plugins.BackendPlugin.appends`.
    """


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
    count_duplicates: bool = False
    """Whether each edge has its `multiplicity`, also an edge of one record; it is added to the
    records before a loader sees them."""
    strict: bool = False
    """Whether a record that the store cannot hold ends the load."""
    backup: bool = True
    """Whether a file that is replaced is kept under another name."""
    progress: Progress | None = None
    """Called now and then."""
    time_keys: TimeKeys = NO_TIME_KEYS
    """The properties that say when facts hold."""
    title: str = ""
    """Name of the graph for people, which a graph file keeps; with `APPEND`, empty for the old."""
    description: str = ""
    """What the graph contains and where it comes from; likewise."""
    possible_ids: frozenset[str] = frozenset()
    """Texts; the report has those that are ids of nodes in `actual_ids`."""


REPLACING = LoadOptions(LoadMode.REPLACE)
"""The new graph replaces the existing one, exactly as its records have it."""


@dataclass(slots=True)
class ColumnAccount:
    """How one column of a table, or attribute of a node or edge, was read."""

    name: str
    """Its name, as the file has it."""
    meaning: str
    """`id`, `type`, `name`, `aliases`, `subject`, `predicate`, `object` (in a table of nodes: of
    their edges), `metadata`, `evidence` or `ignored`."""
    example: str | None = None
    """Its first value."""


@dataclass(slots=True)
class SourceAccount:
    """How one source was read; complete once its last record has been yielded."""

    name: str
    """Its path."""
    format: str
    """Name of the format, one of `bfsql.sources.FORMATS`."""
    encoding: str | None = None
    """The encoding of text: `utf-8`, `utf-16`, ..."""
    separator: str | None = None
    """The separator of a table's cells."""
    columns: list[ColumnAccount] = field(default_factory=list)
    """The columns of a table, in its order; for bags of attributes, those with a meaning.
    """
    notes: list[str] = field(default_factory=list)
    """What was left out or interpreted as something else, one sentence each."""
    empty_texts: list[Counter[tuple[str, str]]] = field(default_factory=list)
    """How often each column has a text that counts as empty, by the reader's own tables."""
    texts: dict[str, list[str]] = field(default_factory=dict)
    """Attributes of nodes without a name that may be one, with values."""
    by_keys: bool = False
    """Whether it is a table that was read by its keys."""
    nodes: int = 0
    """Number of node records yielded; of RDF, number of statements about nodes."""
    joined_nodes: int = 0
    """Number of these statements that were added to the record of another one."""
    edges: int = 0
    """Number of edge records yielded, without those of statements about edges."""
    statements: int = 0
    """Number of edge records that only have what RDF says about an edge."""
    evidence: int = 0
    """Number of evidence records yielded."""
    refused: int = 0
    """Number of lines refused."""

    def add_column(self, name: str, meaning: str, value: Any) -> ColumnAccount:
        """Add a column with the beginning of a value, of a list the first, as its example."""
        first = value[0] if isinstance(value, list) and value else value
        column = ColumnAccount(name, meaning, str(first)[:80])
        self.columns.append(column)
        return column

    def note_empty_texts(self) -> None:
        """Add the texts that count as empty to the notes, and forget them."""
        found = sum(self.empty_texts, Counter[tuple[str, str]]())
        ids = {one.name for one in self.columns if one.meaning in {"id", "subject", "object"}}
        for column in dict.fromkeys(name for name, _ in found):
            own = {text: n for (name, text), n in sorted(found.items()) if name == column}
            texts = ", ".join(f"{text or 'empty'} {n:,}" for text, n in own.items())
            if column in ids:
                self.note(f"{column}: rows without a value are left out: {texts}")
            else:
                self.note(f'{column}: read as empty: {texts}; --null-text "" keeps such texts')
        self.empty_texts = []

    def note(self, sentence: str) -> None:
        """Add a sentence to the notes, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)


@dataclass(slots=True)
class LoadReport:
    """The effect of a load, in numbers of distinct items."""

    nodes: int = 0
    """Number of nodes now in the store."""
    edges: int = 0
    """Number of triples now in the store."""
    evidence: int = 0
    """Number of passages now in the store."""
    duplicate_nodes: int = 0
    """Number of further records of existing nodes, merged into them. Statements of RDF files about
    one node are not duplicates; if other files are loaded with them, this is a lower bound.
    """
    duplicate_edges: int = 0
    """Number of further records of existing triples, merged into them."""
    many_duplicates: bool = False
    """Whether these are so many that `LoadOptions.count_duplicates` should be considered."""
    dangling_edges: int = 0
    """Number of triples with an end that no node record describes."""
    dangling_examples: list[str] = field(default_factory=list)
    """Some ids of such ends."""
    created_nodes: int = 0
    """Number of nodes created for ends of edges that no record describes."""
    created_examples: list[str] = field(default_factory=list)
    """Some ids of such nodes."""
    described_ends: int = 0
    """Number of ids at the ends of edges that a node record describes; only counted if there are
    others."""
    undescribed_ends: int = 0
    """Number of ids at the ends of edges that no node record describes."""
    undescribed_sample: list[str] = field(default_factory=list)
    """Up to a thousand of them, evenly distributed."""
    actual_ids: set[str] = field(default_factory=set)
    """Those of `LoadOptions.possible_ids` that are ids of nodes."""
    wrong_columns: list[str] = field(default_factory=list)
    """Sentences on tables whose ids were probably not read from the right columns."""
    unknown_dates: list[str] = field(default_factory=list)
    """Sentences on properties that are to say when facts hold, and that nothing has."""
    removed_nodes: int = 0
    """Number of nodes removed."""
    removed_edges: int = 0
    """Number of triples removed, including those of removed nodes."""
    not_there: int = 0
    """Number of nodes and triples to be removed that the store did not have."""
    not_there_examples: list[str] = field(default_factory=list)
    """Some of them, as messages name them."""
    retyped_nodes: int = 0
    """Number of nodes whose records have different types; not counted by every loader."""
    retyped_examples: list[str] = field(default_factory=list)
    """Some of them with their types, as messages name them."""
    similar_ids: int = 0
    """Number of groups of ids, also of ends without a node, that differ only in case, blanks,
    Unicode form or a final .0; not counted by every loader, nor among more than a million ids."""
    similar_examples: list[tuple[str, str]] = field(default_factory=list)
    """Two ids of some of these groups."""
    unattached_evidence: int = 0
    """Number of passages whose edge no record describes; they are not loaded."""
    refusals: list[Refusal] = field(default_factory=list)
    """Lines refused; only the first hundred are listed."""
    refused: int = 0
    """Number of all lines refused."""
    place: str = ""
    """The location of the graph, as a person names it: a path, an address."""
    backup: str = ""
    """Path of the file that was replaced, if it was retained."""
    sources: list[SourceAccount] = field(default_factory=list)
    """How each source was read."""
    removals: list[SourceAccount] = field(default_factory=list)
    """How each source of the records to be removed was read."""

    def note_similar_ids(self, rows: Iterable[tuple[int, str, str]]) -> None:
        """Enter the rows of `bfsql.loading.statements.SIMILAR_IDS`."""
        for self.similar_ids, one, other in rows:
            self.similar_examples.append((one, other))

    def note_types(self, records: Sequence[NodeRecord], default_type: str) -> None:
        """Count a node if its records give different types.

        A missing type is the default one if that was chosen for these nodes. Records that say no
        more than an edge does, as of nodes that were created for it, do not count.
        """
        chosen = "" if default_type in _ANY_TYPE else default_type
        given = (r.entity_type or chosen for r in records if r.metadata != {"name": r.id})
        types = dict.fromkeys(type_ for type_ in given if type_ and type_ not in _ANY_TYPE)
        if len(types) > 1:
            self.retyped_nodes += 1
            example = f"{records[0].id} ({', '.join(types)})"
            self.retyped_examples = [*self.retyped_examples, example][:5]
