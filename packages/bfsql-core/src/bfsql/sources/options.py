"""The options for reading graph files."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """How to read graph files; every field can be left out."""

    format: str | None = None
    """Format of all files, by its name in `registry.FORMATS`; otherwise the suffix decides."""
    encoding: str | None = None
    """Of text that does not say its own, by the name that Python has for it: `cp1252`. A byte order
    mark in a file counts more. Without it text is UTF-8."""
    null_texts: tuple[str, ...] = ("NaN", "nan", "null", "NULL", "None")
    """Texts that count as empty in ids, types, names, aliases and predicates; in metadata they
    stay. With an empty tuple, or one empty text, every other text counts."""
    separator: str | None = None
    """Of the cells of tables: a character, or one of `rows.SEPARATORS`. Otherwise the first lines
    decide."""
    no_header: bool = False
    """Whether the first row of tables is data, except where it has usual names of columns."""
    columns: tuple[str, ...] = ()
    """Names of the columns of tables without a header, which this implies; a column whose name is
    empty is called by its number: `column_2`."""
    id_column: str | None = None
    """Column of a node table with the node's id."""
    type_column: str | None = None
    """Column of a node table with the node's type."""
    name_column: str | None = None
    """Column of a node table with the display name."""
    alias_column: str | None = None
    """Column of a node table with further names, separated by `|` or `;`."""
    subject_column: str | None = None
    """Column of an edge table with the id of the node that the edge leaves."""
    predicate_column: str | None = None
    """Column of an edge table with what the relationship is; with an empty text none is."""
    object_column: str | None = None
    """Column of an edge table with the id of the node that the edge enters."""
    of_files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Name of a table's file to the values of `OWN_OPTIONS` that apply only to it."""
    edge_columns: Mapping[str, str] = field(default_factory=dict)
    """Column of node tables that holds ids of other nodes, separated by `|` or `;`, to the
    predicate of the edges to them; with an empty text its name is the predicate."""
    id_prefixes: Mapping[str, str] = field(default_factory=dict)
    """Column with ids, or name of a table, to the text that is put before these ids."""
    subject_type: str | None = None
    """Type of the nodes at which the edges of tables start; otherwise only a load without tables
    of nodes takes it from the name of the column."""
    object_type: str | None = None
    """Type of the nodes at which the edges of tables end."""
    default_type: str = ""
    """Type of nodes that name none."""
    default_predicate: str = "related_to"
    """Predicate of edges that name none."""
    prefixes: Mapping[str, str] | None = field(default_factory=dict)
    """RDF: prefix to namespace, used to shorten ids before the prefixes of the files are. With
    None ids are whole IRIs in angle brackets."""
    base: str | None = None
    """RDF: what relative IRIs are resolved against; without it, the name of the file."""
    context: Path | None = None
    """JSON-LD: a file with the context of documents that refer to one elsewhere."""
    languages: tuple[str, ...] = ()
    """RDF: languages of the texts to keep, for instance `en`; without any, all are kept."""
    graph: tuple[str, ...] = ()
    """RDF: ids of the named graphs to read; without any, all statements are read."""
    type_property: tuple[str, ...] = ("rdf:type",)
    """RDF: ids of the properties that give a node's type."""
    type_priority: tuple[str, ...] = ()
    """RDF: ids of types that precede a node's other types, the best first."""
    label_property: tuple[str, ...] = ()
    """RDF: ids of the properties that hold the name, the best first; without any, the usual."""
    alias_property: tuple[str, ...] = ()
    """RDF: ids of the properties that hold other names; without any, the usual ones."""
    only_predicate: tuple[str, ...] = ()
    """RDF: ids of the predicates of edges; without any, all are."""
    exclude_predicate: tuple[str, ...] = ()
    """RDF: ids of predicates whose statements are no edges."""

    def of_file(self, name: str) -> SourceOptions:
        """The options for a file of this name."""
        named: Mapping[str, Any] = self.of_files.get(name, {})
        return replace(self, **named)


NO_OPTIONS = SourceOptions()
"""Default options: everything is read exactly as it is in the files."""

NODE_OPTIONS = ("id_column", "type_column", "name_column", "alias_column")
"""The options that name a column of node tables."""
EDGE_OPTIONS = ("subject_column", "predicate_column", "object_column")
"""The options that name a column of edge tables."""
OWN_OPTIONS = (
    *(*NODE_OPTIONS, *EDGE_OPTIONS, "subject_type", "object_type"),
    *("default_type", "default_predicate"),
)
"""The options that can have a value of their own for a file."""


def option_of(field: str, value: str = "") -> str:
    """An option of `SourceOptions` as the command line has it: `--id-column iata`."""
    return " ".join(filter(None, ("--" + field.replace("_", "-"), value and shlex.quote(value))))
