"""Which column of a table is what, and the record that a row becomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from bfsql.errors import SourceError
from bfsql.models.records import EdgeRecord, NodeRecord
from bfsql.sources.fields import Unusable, identifier, optional_identifier, shown, texts
from bfsql.sources.formats import SourceOptions

Row: TypeAlias = Mapping[str, Any]
"""Column to value; a column without a value may be absent or None."""

Names: TypeAlias = tuple[str, ...]
"""Usual names of a column in lower case, the likelier first; a colon begins a Neo4j one."""

ID: Names = (
    *("id", "entity_id", "node_id", ":id", "identifier", "curie", "iri", "uri", "key"),
    "name",
)
TYPE: Names = ("type", "entity_type", "node_type", ":label", "labelv", "category", "kind", "class")
NAME: Names = ("name", "preferred_name", "display_name", "preferred_label", "title")
ALIASES: Names = ("synonyms", "aliases", "alias", "synonym", "alt_labels", "alternative_names")
SUBJECT: Names = (
    *("subject", "subject_id", "source", "source_id", "from", "from_id", "start", "start_id"),
    *(":start_id", "head", "head_id", "src"),
)
OBJECT: Names = (
    *("object", "object_id", "target", "target_id", "to", "to_id", "end", "end_id"),
    *(":end_id", "tail", "tail_id", "dst"),
)
PREDICATE: Names = (
    *("predicate", "relation", "relationship", "relation_type", "relationship_type", "rel"),
    *("edge_type", ":type", "type", "labele", "label", "kind"),
)

_SPACE = re.compile(r"\([^()]*\)\Z")
"""The id space of a Neo4j import header: `:ID(Person)`."""


@dataclass(frozen=True, slots=True)
class NodeColumns:
    """The columns of a node table; every other column is metadata."""

    id: str
    type: str | None
    name: str | None
    aliases: str | None
    default_type: str

    def record(self, row: Row, convert: Callable[[Any], Any] | None = None) -> NodeRecord:
        """The node of a row.

        Args:
            row: The row.
            convert: What a value that is metadata means; without it, itself.

        Raises:
            Unusable: The id is missing, or a field is of the wrong kind.
        """
        id_ = identifier(row.get(self.id), self.id)
        type_ = self.default_type
        if self.type is not None:
            type_ = optional_identifier(row.get(self.type), self.type, type_)
        own = {self.id, self.type, self.name, self.aliases}
        metadata = _rest(row, own, convert)
        self._put(metadata, "name", _name(row, self.name))
        self._put(metadata, "synonyms", texts(row.get(self.aliases or ""), self.aliases or ""))
        return NodeRecord(id_, type_, metadata)

    @staticmethod
    def _put(metadata: dict[str, Any], field: str, value: str | list[str] | None) -> None:
        if not value:
            return
        if field in metadata:
            metadata[f"column.{field}"] = metadata[field]
        metadata[field] = value


@dataclass(frozen=True, slots=True)
class EdgeColumns:
    """The columns of an edge table; every other column is metadata."""

    subject: str
    predicate: str | None
    object: str
    default_predicate: str

    def record(self, row: Row, convert: Callable[[Any], Any] | None = None) -> EdgeRecord:
        """The edge of a row; arguments and errors as with `NodeColumns.record`."""
        predicate = self.default_predicate
        if self.predicate is not None:
            predicate = optional_identifier(row.get(self.predicate), self.predicate, predicate)
        return EdgeRecord(
            identifier(row.get(self.subject), self.subject),
            predicate,
            identifier(row.get(self.object), self.object),
            _rest(row, {self.subject, self.predicate, self.object}, convert),
        )


def columns_of(
    path: Path, have: Sequence[str], options: SourceOptions
) -> NodeColumns | EdgeColumns:
    """What a table with these columns is, by the options or else by usual names.

    It is an edge table when it has a subject and an object column, otherwise a
    node table when it has an id column. A node table without another name
    takes `label` for the name; with one, for the type.

    Args:
        path: The file, for the sentence.
        have: Its columns.
        options: The names that the caller gives.

    Raises:
        SourceError: A column that is needed is not there; the sentence lists
            the columns that are.
    """
    subject = _pick(have, options.subject_column, SUBJECT)
    object_ = _pick(have, options.object_column, OBJECT)
    if subject is not None and object_ is not None:
        predicate = _pick(have, options.predicate_column, PREDICATE, taken=(subject, object_))
        if options.predicate_column is not None and predicate is None:
            raise _missing(path, have, {"predicate_column": options.predicate_column})
        return EdgeColumns(subject, predicate, object_, options.default_predicate)
    if _pick(have, None, SUBJECT) is not None and _pick(have, None, OBJECT) is not None:
        asked = {"subject_column": options.subject_column, "object_column": options.object_column}
        raise _missing(path, have, asked)
    id_ = _pick(have, options.id_column, ID)
    if id_ is None:
        raise _missing(path, have, {"id_column": options.id_column})
    return _node_columns(id_, have, options)


def named_columns(options: SourceOptions) -> dict[str, str]:
    """The columns that the caller names, by option."""
    fields = ("id", "type", "name", "alias", "subject", "predicate", "object")
    named = {f"{field}_column": getattr(options, f"{field}_column") for field in fields}
    return {option: column for option, column in named.items() if column is not None}


def _node_columns(id_: str, have: Sequence[str], options: SourceOptions) -> NodeColumns:
    types, names = _with_label(TYPE, have, options)
    taken = () if options.type_column == id_ else (id_,)
    name = _pick(have, options.name_column, names)
    return NodeColumns(
        id_,
        _pick(have, options.type_column, types, taken=taken),
        name,
        _pick(have, options.alias_column, ALIASES),
        options.default_type,
    )


def _with_label(types: Names, have: Sequence[str], options: SourceOptions) -> tuple[Names, Names]:
    """The names of type and name: `label` is a type only where something else is the name."""
    if options.name_column is not None or _pick(have, None, NAME) is not None:
        return (*types, "label"), NAME
    return types, (*NAME, "label")


def _pick(
    have: Sequence[str], named: str | None, usual: Sequence[str], taken: Sequence[str] = ()
) -> str | None:
    if named is not None:
        return named if named in have else None
    plain = {_SPACE.sub("", c).casefold(): c for c in reversed(have) if c not in taken}
    for name in usual:
        if name in plain:
            return plain[name]
        if name.startswith(":"):
            for column, original in plain.items():
                if column.endswith(name):
                    return original
    return None


def _missing(path: Path, have: Sequence[str], asked: Mapping[str, str | None]) -> SourceError:
    columns = ", ".join(have) or "none"
    gone = [
        f"{column!r} ({option})"
        for option, column in asked.items()
        if column is not None and column not in have
    ]
    if gone:
        said = " and no column ".join(gone)
        return SourceError(path, f"there is no column {said}; the columns are: {columns}")
    return SourceError(
        path,
        "no column is known to hold ids: a table of nodes has one such as id, a table of edges "
        f"two such as subject and object. The columns are: {columns}. Name the right ones with "
        "--id-column, or with --subject-column and --object-column",
    )


def _name(row: Row, column: str | None) -> str | None:
    value = None if column is None else row.get(column)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise Unusable(f"{column} is {shown(value)}, which is not text")


def _rest(row: Row, own: set[str | None], convert: Callable[[Any], Any] | None) -> dict[str, Any]:
    if convert is None:
        return {k: v for k, v in row.items() if v is not None and k not in own}
    return {k: convert(v) for k, v in row.items() if v is not None and k not in own}
