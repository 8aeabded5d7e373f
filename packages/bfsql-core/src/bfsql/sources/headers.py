"""The meaning of each column of a table, and the record that a row becomes."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

from bfsql.errors import SourceError
from bfsql.models.records import EdgeRecord, GraphStream, NodeRecord
from bfsql.sources.fields import (
    Skipped,
    Unusable,
    excerpt,
    identifier,
    optional_identifier,
    records,
    texts,
)
from bfsql.sources.options import EDGE_OPTIONS, NODE_OPTIONS, SourceOptions, option_of

Row: TypeAlias = Mapping[Any, Any]
"""Column to value; a column without a value may be absent or None."""

Names: TypeAlias = tuple[str, ...]
"""Usual names of a column in lower case, the likelier first; a colon starts a Neo4j name."""

FALLBACK_IDS: Names = ("key", "name")
"""Columns that are ids only if no value occurs twice, since they may also be properties."""
ID: Names = (
    *(":id", "id", "entity_id", "node_id", "identifier", "curie", "iri", "uri", "_id", "_key"),
    *("uuid", *FALLBACK_IDS),
)
TYPE: Names = (
    *(":label", "type", "entity_type", "node_type", "labelv", "category", "kind", "class"),
    "_labels",
    *("entitytype", "labels"),
)
NAME: Names = ("name", "preferred_name", "display_name", "preferred_label", "title")
ALIASES: Names = ("synonyms", "aliases", "alias", "synonym", "alt_labels", "alternative_names")
SUBJECT: Names = (
    *(":start_id", "subject", "subject_id", "source", "source_id", "from", "from_id", "start"),
    *("start_id", "head", "head_id", "src", "_start", "_from", "fromnodeid", "source_ref"),
    *("sourceid", "origin", "source_node_uuid"),
)
OBJECT: Names = (
    *(":end_id", "object", "object_id", "target", "target_id", "to", "to_id", "end"),
    *("end_id", "tail", "tail_id", "dst", "_end", "_to", "tonodeid", "target_ref"),
    *("targetid", "destination", "dest", "destid", "target_node_uuid"),
)
PREDICATE: Names = (
    *(":type", ":label"),
    *("predicate", "relation", "relationship", "relation_type", "relationship_type"),
    *("rel", "edge_type", "type", "labele", "label", "kind", "_type"),
    *("relationtype", "relationshiptype"),
)

_COLUMN = re.compile(
    r"(?P<name>.*):(?P<kind>\w+)(?:\((?P<group>[^()]*)\))?(?:\{.*\})?(?P<many>\[\])?\Z", re.DOTALL
)
_IDS = frozenset({"id", "start_id", "end_id"})
_SPECIAL = _IDS | {"label", "type", "ignore"}
_NEPTUNE = {"~id": "id", "~from": "start_id", "~to": "end_id", "~label": "label"}
_INTEGER = re.compile(r"[+-]?\d{1,18}\Z", re.ASCII)
SEPARATOR = ";"
"""Separator of labels and of array values of Neo4j."""

_LISTED = 40
_SEPARATED = {":label": SEPARATOR, "category": "|", "_labels": ":"}
"""Columns whose cells hold several types, as in Neo4j, KGX and APOC files, and their separators."""
_PRECEDENCE = ("aliases", "name", "type", "id", "predicate", "object", "subject")
"""If a column has several roles, the last of these is its meaning."""
_NO_NULLS: frozenset[str] = frozenset({""})


def value_or_none(value: Any, nulls: frozenset[str]) -> Any:
    """The value, or None if it is a text for a missing value, or not a number."""
    if isinstance(value, str):
        return None if value in nulls else value
    return None if isinstance(value, float) and math.isnan(value) else value


@dataclass(frozen=True, slots=True)
class _Columns(ABC):
    """What columns of nodes and of edges have in common."""

    ROLES: ClassVar[tuple[str, ...]]
    """The fields with the name of a column."""
    roles: tuple[str | None, ...] = field(init=False)
    """The column of each role; None without one."""
    meanings: dict[str, str] = field(init=False, compare=False)
    """The role of each column that has one."""
    empty_texts: Counter[tuple[str, str]] = field(init=False, compare=False)
    """How often a column has a text that counts as empty; for ids only if `skips`."""
    null_texts: frozenset[str] = field(default=_NO_NULLS, kw_only=True)
    """Texts that do not count as a value."""
    skips: bool = field(default=False, kw_only=True)
    """Whether rows without an id are counted, and not refused."""

    def __post_init__(self) -> None:
        columns = {role: getattr(self, role) for role in self.ROLES}
        meanings = {columns[role]: role for role in _PRECEDENCE if columns.get(role) is not None}
        object.__setattr__(self, "roles", tuple(columns.values()))
        object.__setattr__(self, "meanings", meanings)
        nodes = getattr(self, "nodes", None)
        object.__setattr__(self, "empty_texts", nodes.empty_texts if nodes else Counter())

    def record(self, row: Row) -> NodeRecord | EdgeRecord:
        """The record of a row; errors as with `record_of`."""
        own = self.meanings
        return self.record_of(
            map(row.get, self.roles),
            {key: value for key, value in row.items() if value is not None and key not in own},
        )

    def id_of(self, value: Any, column: str) -> str:
        """An id; errors as with `record_of`."""
        known = value_or_none(value, self.null_texts)
        if self.skips and known is None:
            self.empty_texts[column, str(value or "")] += 1
            raise Skipped
        return identifier(known, column)

    @abstractmethod
    def record_of(self, values: Iterable[Any], metadata: dict[str, Any]) -> NodeRecord | EdgeRecord:
        """The record with these values.

        Args:
            values: Those of `roles`, as the file has them.
            metadata: The other fields; modified.

        Raises:
            Unusable: An id is missing, or a field is of the wrong kind.
        """


@dataclass(frozen=True, slots=True)
class NodeColumns(_Columns):
    """The columns of a node table; every other column is metadata."""

    ROLES: ClassVar = ("id", "type", "name", "aliases")

    id: str
    type: str | None
    name: str | None
    aliases: str | None
    default_type: str
    separator: str = ""
    """The separator of several types in one text."""
    group: str = ""
    """The prefix of every id."""
    is_fallback: bool = False
    """Whether the id column is one of `FALLBACK_IDS` that the caller does not name."""

    def record_of(self, values: Iterable[Any], metadata: dict[str, Any]) -> NodeRecord:
        """The node with these values; see `_Columns.record_of`.

        Args:
            values: Those of `roles`; aliases are a list, or one text separated by `|` or `;`.
            metadata: The other fields; modified.
        """
        nulls = self.null_texts
        id_, type_, name, aliases = values
        if type_ is None:
            type_ = self.default_type
        elif isinstance(type_, str) and not self.separator:
            type_ = _non_empty(self, type_, self.type)
            type_ = self.default_type if type_ is None else identifier(type_, self.type or "")
        else:
            type_ = self._first_type(type_, metadata)
        if name is not None and (name := _non_empty(self, name, self.name)) is not None:
            _put(metadata, "name", _text(name, self.name))
        if aliases is not None and (aliases := _non_empty(self, aliases, self.aliases)) is not None:
            found = texts(aliases, self.aliases or "")
            _put(metadata, "synonyms", [text for text in found if text not in nulls])
        return NodeRecord(self.group + self.id_of(id_, self.id), type_, metadata)

    def _first_type(self, value: Any, metadata: dict[str, Any]) -> str:
        """The first of several types; the others are added to the metadata."""
        several = value if isinstance(value, list) else [value]
        if isinstance(value, str) and self.separator:
            several = value.split(self.separator)
        found = [_non_empty(self, type_, self.type) for type_ in several]
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
class EdgeColumns(_Columns):
    """The columns of an edge table; every other column is metadata."""

    ROLES: ClassVar = ("subject", "predicate", "object")

    subject: str
    predicate: str | None
    object: str
    default_predicate: str
    subject_group: str = ""
    """The prefix of the subject's id."""
    object_group: str = ""
    nodes: NodeColumns | None = None
    """The columns of rows without both ends, if there are such rows: they are nodes."""

    def is_node(self, subject: Any, object_: Any) -> bool:
        """Whether a row with these values at the ends is a node."""
        nulls = self.null_texts
        return self.nodes is not None and all(
            value_or_none(end, nulls) is None for end in (subject, object_)
        )

    def record(self, row: Row) -> NodeRecord | EdgeRecord:
        """The record of a row; errors as with `record_of`."""
        if self.nodes is not None and self.is_node(row.get(self.subject), row.get(self.object)):
            return self.nodes.record(row)
        return _Columns.record(self, row)

    def record_of(self, values: Iterable[Any], metadata: dict[str, Any]) -> EdgeRecord:
        """The edge with these values; see `_Columns.record_of`."""
        subject, predicate, object_ = values
        return EdgeRecord(
            self.subject_group + self.id_of(subject, self.subject),
            optional_identifier(
                _non_empty(self, predicate, self.predicate),
                self.predicate or "",
                self.default_predicate,
            ),
            self.object_group + self.id_of(object_, self.object),
            metadata,
        )


Columns: TypeAlias = NodeColumns | EdgeColumns

RecordOfRow: TypeAlias = Callable[[Row], NodeRecord | EdgeRecord]
"""Makes the record of a row; it raises `Unusable`."""


class ObjectTable(NamedTuple):
    """A table whose rows are objects, and its records."""

    path: Path
    """The path of the file."""
    columns: Columns
    """The meaning of the columns."""
    items: Callable[[], Iterable[tuple[int | str, dict[str, Any] | Unusable]]]
    """Reads the rows from the beginning, each with its place as in `fields.records`."""
    make: RecordOfRow
    is_row: Callable[[Row], bool] = lambda _: True
    """Whether an object is of the kind that `columns` describes."""
    is_mixed: bool = False
    """Whether there are nodes and edges, whose keys are entered into the account one by one."""

    def records(self) -> GraphStream:
        """The records, and refusals of rows that cannot be used."""
        make = self.make
        return records(self.path, self.items(), lambda row: (make(row),))

    def rows(self) -> Iterator[dict[str, Any]]:
        """All rows that can be read, of the kind that `columns` describes."""
        found = (row for _, row in self.items() if not isinstance(row, Unusable))
        return (row for row in found if self.is_row(row))


def _non_empty(columns: Columns, value: Any, column: str | None) -> Any:
    """As `value_or_none`; texts that count as empty are counted."""
    known = value_or_none(value, columns.null_texts)
    if known is None and isinstance(value, str) and value:
        columns.empty_texts[column or "", value] += 1
    return known


def columns_of(
    path: Path,
    have: Sequence[str],
    options: SourceOptions,
    *,
    groups: bool = False,
    mixed: bool = False,
    proposal: Callable[[], str] = str,
) -> Columns:
    """The kind of a table with these columns, determined by the options or else by usual names.

    A table with a subject and an object column is an edge table, otherwise one with
    an id column is a node table. In a node table, `label` is the name if there is no
    other name column; otherwise it is the type.

    Args:
        path: The file, for the error message.
        have: Its columns, as the file has them.
        options: The names that the caller specifies.
        groups: Whether ids are written `group:id` if the header names their group.
        mixed: Whether rows without both ends are nodes if the table has a column of ids.
        proposal: Returns the advice on columns without usual names; empty without any.

    Raises:
        SourceError: A required column is missing; the message lists the existing columns.
    """
    header = _Header(have)
    subject = header.pick(options.subject_column, SUBJECT)
    object_ = header.pick(options.object_column, OBJECT)
    nulls = frozenset({"", *options.null_texts})

    def prefix(column: str) -> str:
        return id_prefix(path, column, options) + (header.group(column) if groups else "")

    if subject is not None and object_ is not None:
        ends, predicate = (subject, object_), None
        if options.predicate_column != "":
            predicate = header.pick(options.predicate_column, PREDICATE, excluded=ends)
            if options.predicate_column is not None and predicate is None:
                raise _missing(path, have, {"predicate_column": options.predicate_column})
        no_id = replace(options, id_column=None)
        nodes = _node_columns(header, no_id, prefix, ends) if mixed else None
        prefixes = prefix(subject), prefix(object_)
        default = options.default_predicate
        return EdgeColumns(subject, predicate, object_, default, *prefixes, nodes, null_texts=nulls)
    if header.pick(None, SUBJECT) is not None and header.pick(None, OBJECT) is not None:
        asked = {"subject_column": options.subject_column, "object_column": options.object_column}
        raise _missing(path, have, asked)
    columns = _node_columns(header, options, prefix)
    if columns is None:
        raise _missing(path, have, {"id_column": options.id_column}, proposal)
    return columns


def _node_columns(
    header: _Header, options: SourceOptions, prefix: Callable[[str], str], ends: Sequence[str] = ()
) -> NodeColumns | None:
    """The columns of a node table, or of the nodes in a table of edges with these ends."""
    id_ = header.pick(options.id_column, ID[: -len(FALLBACK_IDS)] if ends else ID, excluded=ends)
    if id_ is None:
        return None
    has_name = options.name_column is not None or header.pick(None, NAME) is not None
    types, names = with_label(TYPE, has_name=has_name)
    excluded = () if options.type_column == id_ else (id_, *ends)
    type_ = header.pick(options.type_column, types, excluded)
    return NodeColumns(
        id_,
        type_,
        header.pick(options.name_column, names),
        header.pick(options.alias_column, ALIASES),
        options.default_type,
        _SEPARATED.get(header.plain_name(type_), ""),
        prefix(id_),
        options.id_column is None and header.plain_name(id_) in FALLBACK_IDS,
        null_texts=frozenset({"", *options.null_texts}),
    )


def id_prefix(path: Path, column: str, options: SourceOptions) -> str:
    """The text of an option that is put before the ids in a column of a table."""
    prefixes = {key.strip().casefold(): text for key, text in options.id_prefixes.items()}
    own = prefixes.get(column.strip().casefold())
    return prefixes.get(path.name.casefold(), "") if own is None else own


def names_columns(have: Sequence[str], options: SourceOptions) -> bool:
    """Whether one of the cells is the usual name of a column, or one that an option names."""
    header = _Header(have)
    usual = (*ID, *TYPE, *NAME, *ALIASES, *SUBJECT, *OBJECT, *PREDICATE, "label")
    named = (*named_columns(options).values(), *options.edge_columns)
    return header.pick(None, usual) is not None or any(has_column(have, name) for name in named)


EndsAndId: TypeAlias = tuple[str | None, str | None, str | None]
"""The columns of an edge's ends and of a node's id; None without one."""


def ends_and_id(have: Sequence[str], options: SourceOptions) -> EndsAndId:
    """The columns of ids, specified by the options or else with usual names."""
    header = _Header(have)
    return (
        header.pick(options.subject_column, SUBJECT),
        header.pick(options.object_column, OBJECT),
        header.pick(options.id_column, ID),
    )


def named_columns(options: SourceOptions) -> dict[str, str]:
    """The columns that the caller names, by option."""
    named = {option: getattr(options, option) for option in (*NODE_OPTIONS, *EDGE_OPTIONS)}
    return {option: column for option, column in named.items() if column}


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


def column_named(have: Sequence[str], named: str) -> str | None:
    """The column with this name, ignoring case and surrounding blanks."""
    return _Header(have).pick(named, ())


def has_column(have: Sequence[str], named: str) -> bool:
    """Whether one of the columns has this name."""
    return column_named(have, named) is not None


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
            self._names.setdefault(name.removeprefix("column_"), column)
            if parsed is not None:
                self._names.setdefault(parsed.name.casefold(), column)
                name = f":{parsed.kind}" if parsed.special else parsed.name
            self._plain.setdefault(name.casefold(), column)

    def pick(
        self, named: str | None, usual: Sequence[str], excluded: Sequence[str] = ()
    ) -> str | None:
        """The column with the specified name, or else the first with a usual name."""
        if named is not None:
            return named if named in self._have else self._names.get(named.strip().casefold())
        found = (self._plain.get(name) for name in usual)
        return next((one for one in found if one is not None and one not in excluded), None)

    def plain_name(self, column: str | None) -> str:
        """The plain name of a column; empty for None."""
        return next((plain for plain, have in self._plain.items() if have == column), "")

    def group(self, column: str) -> str:
        """The prefix of the ids in a column whose group is named."""
        parsed = self._columns[list(self._have).index(column)]
        return f"{parsed.group}:" if parsed is not None and parsed.group else ""


def with_label(types: Names, *, has_name: bool) -> tuple[Names, Names]:
    """The columns of type and name: `label` is a type only if another column is the name."""
    return ((*types, "label"), NAME) if has_name else (types, (*NAME, "label"))


def listed(columns: Sequence[str]) -> str:
    """Up to forty columns, as error messages list them."""
    more = f" and {len(columns) - _LISTED:,} more" if len(columns) > _LISTED else ""
    return (", ".join(columns[:_LISTED]) or "none") + more


def _missing(
    path: Path,
    have: Sequence[str],
    options: Mapping[str, str | None],
    proposal: Callable[[], str] = str,
) -> SourceError:
    named = [(column, option) for option, column in options.items() if column is not None]
    if gone := [f"{one!r} ({option})" for one, option in named if not has_column(have, one)]:
        said = " and no column ".join(gone)
        return SourceError(path, f"there is no column {said}; the columns are: {listed(have)}")
    id_ = next((f"{path.name}={one}" for one in have if one.casefold().endswith("id")), "")
    advice = proposal() or (
        f"Name the right ones with {option_of('id_column', id_)}, or with --subject-column and "
        "--object-column"
    )
    return SourceError(
        path,
        "no column is recognized as ids: a table of nodes has one such as id, a table of edges "
        f"two such as subject and object; tables that refer to each other are loaded together, see "
        f"docs/tutorial/csv-tables-with-keys.md. The columns are: {listed(have)}. {advice}",
    )


def _text(value: Any, column: str | None) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise Unusable(f"{column} is {excerpt(value)}, which is not text")


# --- the headers of neo4j-admin's import and of Amazon Neptune ---
#
# neo4j-admin has `personId:ID(Person)`, `name`, `born:date`, `:LABEL`; Neptune `~id`, `~label`,
# `name:String(single)`, `~from`, `~to`.


class Neo4jColumn(NamedTuple):
    """The header of one column."""

    name: str
    """The name of the property; may be empty if the column is special."""
    kind: str
    """`id`, `start_id`, `end_id`, `label`, `type`, `ignore`, or the type of a property; empty
    if the header names no type.
    """
    group: str
    """The id space of an id."""
    many: bool
    """Whether the value is an array."""

    @property
    def special(self) -> bool:
        """Whether the column is not a property."""
        return self.kind in _SPECIAL

    def value(self, default: Callable[[str], Any]) -> Callable[[str], Any]:
        """The conversion from a cell to a value; the default if the header names no type."""
        make = _VALUES.get(self.kind, default)
        return partial(_array, make) if self.many else make


def neo4j_columns(header: Sequence[str]) -> list[Neo4jColumn] | None:
    """The parsed header of every column, or None if no id column has this form."""
    columns = [_column(cell) for cell in header]
    return columns if any(column.kind in _IDS for column in columns) else None


def _column(cell: str) -> Neo4jColumn:
    if kind := _NEPTUNE.get(cell.strip().lower()):
        return Neo4jColumn(cell.strip()[1:], kind, "", many=False)
    found = _COLUMN.match(cell)
    if found is None or (kind := found["kind"].lower()) not in _SPECIAL | _VALUES.keys():
        return Neo4jColumn(cell, "", "", many=False)
    group = found["group"] if kind in _IDS else None
    return Neo4jColumn(found["name"].strip(), kind, group or "", bool(found["many"]))


def _integer(cell: str) -> int | str:
    return int(cell) if _INTEGER.match(cell) else cell


def _decimal(cell: str) -> float | str:
    try:
        value = float(cell)
    except ValueError:
        return cell
    return value if math.isfinite(value) else cell


def _boolean(cell: str) -> bool | str:
    return {"true": True, "false": False}.get(cell.strip().lower(), cell)


def _array(make: Callable[[str], Any], cell: str) -> list[Any]:
    return [make(part) for part in cell.split(SEPARATOR) if part]


_VALUES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("int", "long", "short", "byte"), _integer),
    **dict.fromkeys(("float", "double"), _decimal),
    **dict.fromkeys(("boolean", "bool"), _boolean),
    **dict.fromkeys(("char", "string", "point", "date", "localtime", "time"), str),
    **dict.fromkeys(("localdatetime", "datetime", "duration"), str),
}
"""The types of properties in the headers of neo4j-admin's import and of Amazon Neptune."""
