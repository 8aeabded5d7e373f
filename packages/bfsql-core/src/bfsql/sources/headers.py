"""The meaning of each column of a table, and the record that a row becomes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from bfsql.errors import SourceError
from bfsql.models.records import EdgeRecord, NodeRecord
from bfsql.sources.fields import Unusable, excerpt, identifier, optional_identifier, texts
from bfsql.sources.formats import SourceOptions
from bfsql.sources.neo4j_headers import SEPARATOR, Neo4jColumn, neo4j_columns

Row: TypeAlias = Mapping[str, Any]
"""Column to value; a column without a value may be absent or None."""

Names: TypeAlias = tuple[str, ...]
"""Usual names of a column in lower case, the likelier first; a colon starts a Neo4j name."""

FALLBACK_IDS: Names = ("key", "name")
"""Columns that are ids only if no value occurs twice, since they may also be properties."""
ID: Names = (
    *(":id", "id", "entity_id", "node_id", "identifier", "curie", "iri", "uri"),
    *FALLBACK_IDS,
)
TYPE: Names = (":label", "type", "entity_type", "node_type", "labelv", "category", "kind", "class")
NAME: Names = ("name", "preferred_name", "display_name", "preferred_label", "title")
ALIASES: Names = ("synonyms", "aliases", "alias", "synonym", "alt_labels", "alternative_names")
SUBJECT: Names = (
    *(":start_id", "subject", "subject_id", "source", "source_id", "from", "from_id", "start"),
    *("start_id", "head", "head_id", "src"),
)
OBJECT: Names = (
    *(":end_id", "object", "object_id", "target", "target_id", "to", "to_id", "end"),
    *("end_id", "tail", "tail_id", "dst"),
)
PREDICATE: Names = (
    *(":type", "predicate", "relation", "relationship", "relation_type", "relationship_type"),
    *("rel", "edge_type", "type", "labele", "label", "kind"),
)

_LISTED = 40
_SEPARATED = {":label": SEPARATOR, "category": "|"}
"""Columns whose cells hold several types, as in Neo4j and KGX files, and their separators."""
_NO_NULLS: frozenset[str] = frozenset({""})


def value_or_none(value: Any, nulls: frozenset[str]) -> Any:
    """The value, or None if it is a text for a missing value, or not a number."""
    if isinstance(value, str):
        return None if value in nulls else value
    return None if isinstance(value, float) and math.isnan(value) else value


@dataclass(frozen=True, slots=True)
class NodeColumns:
    """The columns of a node table; every other column is metadata."""

    id: str
    type: str | None
    name: str | None
    aliases: str | None
    default_type: str
    null_texts: frozenset[str] = _NO_NULLS
    """Texts that do not count as an id, type, name or alias."""
    separator: str = ""
    """The separator of several types in one text."""
    group: str = ""
    """The prefix of every id."""
    is_fallback: bool = False
    """Whether the id column is one of `FALLBACK_IDS` that the caller does not name."""

    @property
    def meanings(self) -> dict[str, str]:
        """The meaning of each column."""
        named = {"aliases": self.aliases, "name": self.name, "type": self.type, "id": self.id}
        return {column: meaning for meaning, column in named.items() if column is not None}

    def record(self, row: Row) -> NodeRecord:
        """The node of a row.

        Raises:
            Unusable: The id is missing, or a field is of the wrong kind.
        """
        own = {self.id, self.type, self.name, self.aliases}
        return self.node(
            row.get(self.id),
            row.get(self.type) if self.type is not None else None,
            row.get(self.name) if self.name is not None else None,
            row.get(self.aliases) if self.aliases is not None else None,
            {key: value for key, value in row.items() if value is not None and key not in own},
        )

    def node(
        self, id_: Any, type_: Any, name: Any, aliases: Any, metadata: dict[str, Any]
    ) -> NodeRecord:
        """The node with these values.

        Args:
            id_: The value of the id column, as the file has it.
            type_: The value of the type column, or None; the same applies to the others.
            name: The display name.
            aliases: Further names, a list or one text separated by `|` or `;`.
            metadata: The other fields of the node; modified.

        Raises:
            Unusable: The id is missing, or a field is of the wrong kind.
        """
        nulls = self.null_texts
        if type_ is None:
            type_ = self.default_type
        elif isinstance(type_, str) and not self.separator:
            type_ = self.default_type if type_ in nulls else identifier(type_, self.type or "")
        else:
            type_ = self._first_type(type_, metadata)
        if name is not None and (name := value_or_none(name, nulls)) is not None:
            _put(metadata, "name", _text(name, self.name))
        if aliases is not None and (aliases := value_or_none(aliases, nulls)) is not None:
            found = texts(aliases, self.aliases or "")
            _put(metadata, "synonyms", [text for text in found if text not in nulls])
        return NodeRecord(
            self.group + identifier(value_or_none(id_, nulls), self.id), type_, metadata
        )

    def _first_type(self, value: Any, metadata: dict[str, Any]) -> str:
        """The first of several types; the others are added to the metadata."""
        several = value if isinstance(value, list) else [value]
        if isinstance(value, str) and self.separator:
            several = value.split(self.separator)
        found = [value_or_none(type_, self.null_texts) for type_ in several]
        types = [identifier(type_, self.type or "") for type_ in found if type_ is not None]
        _put(metadata, "other_types", types[1:])
        return types[0] if types else self.default_type


def _put(metadata: dict[str, Any], field: str, value: str | list[str]) -> None:
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
    null_texts: frozenset[str] = _NO_NULLS
    """Texts that do not count as an id or predicate."""
    subject_group: str = ""
    """The prefix of the subject's id."""
    object_group: str = ""

    @property
    def meanings(self) -> dict[str, str]:
        """The meaning of each column."""
        named = {"predicate": self.predicate, "object": self.object, "subject": self.subject}
        return {column: meaning for meaning, column in named.items() if column is not None}

    def record(self, row: Row) -> EdgeRecord:
        """The edge of a row; errors as with `NodeColumns.record`."""
        own = {self.subject, self.predicate, self.object}
        return self.edge(
            row.get(self.subject),
            row.get(self.predicate) if self.predicate is not None else None,
            row.get(self.object),
            {key: value for key, value in row.items() if value is not None and key not in own},
        )

    def edge(
        self, subject: Any, predicate: Any, object_: Any, metadata: dict[str, Any]
    ) -> EdgeRecord:
        """The edge with these values, as the file has them; errors as with `NodeColumns.node`."""
        nulls = self.null_texts
        return EdgeRecord(
            self.subject_group + identifier(value_or_none(subject, nulls), self.subject),
            optional_identifier(
                value_or_none(predicate, nulls), self.predicate or "", self.default_predicate
            ),
            self.object_group + identifier(value_or_none(object_, nulls), self.object),
            metadata,
        )


def columns_of(
    path: Path, have: Sequence[str], options: SourceOptions, *, groups: bool = False
) -> NodeColumns | EdgeColumns:
    """The kind of a table with these columns, determined by the options or else by usual names.

    A table with a subject and an object column is an edge table, otherwise one with
    an id column is a node table. In a node table, `label` is the name if there is no
    other name column; otherwise it is the type.

    Args:
        path: The file, for the error message.
        have: Its columns, as the file has them.
        options: The names that the caller specifies.
        groups: Whether ids are written `group:id` if the header names their group.

    Raises:
        SourceError: A required column is missing; the message lists the existing columns.
    """
    header = _Header(have)
    subject = header.pick(options.subject_column, SUBJECT)
    object_ = header.pick(options.object_column, OBJECT)
    nulls = frozenset({"", *options.null_texts})
    if subject is not None and object_ is not None:
        predicate = header.pick(options.predicate_column, PREDICATE, taken=(subject, object_))
        if options.predicate_column is not None and predicate is None:
            raise _missing(path, have, {"predicate_column": options.predicate_column})
        ends = [header.group(end) if groups else "" for end in (subject, object_)]
        return EdgeColumns(subject, predicate, object_, options.default_predicate, nulls, *ends)
    if header.pick(None, SUBJECT) is not None and header.pick(None, OBJECT) is not None:
        asked = {"subject_column": options.subject_column, "object_column": options.object_column}
        raise _missing(path, have, asked)
    id_ = header.pick(options.id_column, ID)
    if id_ is None:
        raise _missing(path, have, {"id_column": options.id_column})
    types, names = header.with_label(options)
    type_ = header.pick(
        options.type_column, types, taken=() if options.type_column == id_ else (id_,)
    )
    return NodeColumns(
        id_,
        type_,
        header.pick(options.name_column, names),
        header.pick(options.alias_column, ALIASES),
        options.default_type,
        nulls,
        _SEPARATED.get(header.plain_name(type_), ""),
        header.group(id_) if groups else "",
        options.id_column is None and header.plain_name(id_) in FALLBACK_IDS,
    )


def named_columns(options: SourceOptions) -> dict[str, str]:
    """The columns that the caller names, by option."""
    fields = ("id", "type", "name", "alias", "subject", "predicate", "object")
    named = {f"{field}_column": getattr(options, f"{field}_column") for field in fields}
    return {option: column for option, column in named.items() if column is not None}


def check_each_once(path: Path, have: Sequence[str], line: int | None = None) -> None:
    """Check that no column occurs twice.

    Args:
        path: The file, for the error message.
        have: Its columns.
        line: The line that names them, in formats with lines.

    Raises:
        SourceError: A column occurs twice.
    """
    for name, count in Counter(have).most_common(1):
        if count > 1:
            raise SourceError(path, f"the column {name!r} occurs twice; rename one of them", line)


def has_column(have: Sequence[str], named: str) -> bool:
    """Whether one of the columns has this name, ignoring case and surrounding blanks."""
    return _Header(have).pick(named, ()) is not None


class _Header:
    """The columns of a table, found by their plain names.

    A plain name is the name in lower case; for columns of Neo4j's import it is the property's
    name without its type, or `:id`, `:label` and so on.
    """

    def __init__(self, have: Sequence[str]) -> None:
        self._columns: Sequence[Neo4jColumn | None] = neo4j_columns(have) or [None] * len(have)
        self._have = have
        self._plain: dict[str, str] = {}
        self._names: dict[str, str] = {}
        for column, parsed in zip(have, self._columns, strict=True):
            name = column.strip()
            self._names.setdefault(name.casefold(), column)
            if parsed is not None:
                self._names.setdefault(parsed.name.casefold(), column)
                name = f":{parsed.kind}" if parsed.special else parsed.name
            self._plain.setdefault(name.casefold(), column)

    def pick(
        self, named: str | None, usual: Sequence[str], taken: Sequence[str] = ()
    ) -> str | None:
        """The column with the specified name, or else the first with a usual name."""
        if named is not None:
            return named if named in self._have else self._names.get(named.strip().casefold())
        found = (self._plain.get(name) for name in usual)
        return next(
            (column for column in found if column is not None and column not in taken), None
        )

    def with_label(self, options: SourceOptions) -> tuple[Names, Names]:
        """The columns of type and name: `label` is a type only if another column is the name."""
        if options.name_column is not None or self.pick(None, NAME) is not None:
            return (*TYPE, "label"), NAME
        return TYPE, (*NAME, "label")

    def plain_name(self, column: str | None) -> str:
        """The plain name of a column; empty for None."""
        return next((plain for plain, have in self._plain.items() if have == column), "")

    def group(self, column: str) -> str:
        """The prefix of the ids in a column whose group is named."""
        parsed = self._columns[list(self._have).index(column)]
        return f"{parsed.group}:" if parsed is not None and parsed.group else ""


def listed(columns: Sequence[str]) -> str:
    """Up to forty columns, as error messages list them."""
    more = f" and {len(columns) - _LISTED:,} more" if len(columns) > _LISTED else ""
    return (", ".join(columns[:_LISTED]) or "none") + more


def _missing(path: Path, have: Sequence[str], asked: Mapping[str, str | None]) -> SourceError:
    gone = [
        f"{column!r} ({option})"
        for option, column in asked.items()
        if column is not None and not has_column(have, column)
    ]
    if gone:
        said = " and no column ".join(gone)
        return SourceError(path, f"there is no column {said}; the columns are: {listed(have)}")
    return SourceError(
        path,
        "no column is recognized as ids: a table of nodes has one such as id, a table of edges "
        f"two such as subject and object. The columns are: {listed(have)}. Name the right ones "
        "with --id-column, or with --subject-column and --object-column",
    )


def _text(value: Any, column: str | None) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise Unusable(f"{column} is {excerpt(value)}, which is not text")
