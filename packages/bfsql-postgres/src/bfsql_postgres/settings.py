"""The settings: location of the database, tables of the graph, limits on reading.

Tables that are not kgraph's are described one by one, in a short form:

    people: id=person_id, name=full_name, type='Person', aliases=nicknames, metadata=born|died
    employment: subject=person_id, predicate='works for', object=company_id
    orders: id=orders:order_id

A description is a table, a colon, and the roles of its columns, separated by commas; a semicolon
ends it. A value in single quotes is a constant; any other value is a column; ids may begin with a
word, before a colon. Names with spaces or signs are in double quotes. In a configuration file the
same description is a table:
`{table = "people", id = "person_id", type = "'Person'", metadata = ["born"]}`.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self
from urllib.parse import parse_qs

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, SecretStr, model_validator

from bfsql.embedding import EmbeddingSettings
from bfsql.errors import did_you_mean
from bfsql.settings import Env, FoundFile

# --- kgraph's names ----------------------------------------------------------

_RELATIONSHIP = ("id", "subject_id", "predicate", "object_id", "source_documents", "properties")

KGRAPH_TABLES: dict[str, tuple[str, ...]] = {
    "entity": ("entity_id", "entity_type", "name", "synonyms", "status", "properties", "embedding"),
    "relationship": _RELATIONSHIP,
    "bundle_evidence": ("relationship_key", "document_id"),
    "evidence": ("relationship_id", "paper_id", "confidence_score", "metadata_"),
    "bundle_mention": ("entity_id", "document_id"),
}
"""Tables of the pipeline, with the columns that have a meaning; all others are metadata under
their own names.
"""


def _checked_names(names: dict[str, str]) -> dict[str, str]:
    """The names, if every key is `TABLE` or `TABLE.COLUMN` of `KGRAPH_TABLES`."""
    columns = [f"{table}.{column}" for table, own in KGRAPH_TABLES.items() for column in own]
    known = [*KGRAPH_TABLES, *columns]
    for key, name in names.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            cure = f"did you mean {close[0]}" if close else f"there are {', '.join(known)}"
            raise ValueError(f"{key!r} is not a table or column of the kgraph schema; {cure}")
        if not name or "\0" in name:
            raise ValueError(f"{key!r} needs a name, and {name!r} is not one")
    return names


# --- the short form of a table ----------------------------------------------

_NAME = r'(?:"(?:[^"]|"")*"|[^\s:=,;"\'.|]+)'
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NAME_PART = r'"(?:[^"]|"")*"|[^.]+'
_HEAD = re.compile(rf"({_NAME}(?:\.{_NAME})?)\s*(?::|$)")
_ITEM = re.compile(rf"([\w-]+)\s*=\s*('(?:[^']|'')*'|{_NAME}(?:\s*[|:]\s*{_NAME})*|)$")
_ID_SUFFIX = re.compile(r"(?<=.)(?:_(?i:id)|(?<=[a-z])I[dD])$")
_IDS = ("id", "subject", "object")
_CUT = re.compile(r"""((?:"[^"]*"|'[^']*'|[^,;"'])+)""")
_UNREADABLE = (
    "{!r} cannot be read; write a table, a colon and the meaning of its columns, such as people: "
    "id=person_id, name=full_name, type='Person', metadata=born|died. A name with spaces or signs, "
    'such as a point, is in double quotes: "order.items": id="order.items":id'
)


def _tables(value: Any) -> Any:
    """Replace texts by the tables they describe; other items stay unchanged.

    The command line splits its texts at commas, so the pieces are joined again first. In a file,
    each may be a table of its own, whose name is that of the table unless it has another one.
    """
    if isinstance(value, Mapping) and all(isinstance(row, Mapping) for row in value.values()):
        return [{"table": name} | {**row} for name, row in value.items()]
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        return value
    texts = [item for item in items if isinstance(item, str)]
    return [*(item for item in items if not isinstance(item, str)), *_parsed(", ".join(texts))]


def by_table(texts: Sequence[str]) -> dict[str, dict[str, str]]:
    """Tables of a file that say the same as texts; of several of a table, with the object."""
    rows, found = _parsed(", ".join(texts)), dict[str, dict[str, str]]()
    often = Counter(row["table"] for row in rows)
    for number, row in enumerate(rows):
        name = table = row["table"]
        if often[table] > 1:
            name = f"{table}.{row['object'].rpartition(':')[2].strip()}"
            name = f"{name}.{number}" if name in found else name
        found[name] = row if name != table else {key: row[key] for key in row if key != "table"}
    return found


def _parsed(text: str) -> list[dict[str, Any]]:
    tables: list[dict[str, Any]] = []
    if text.lstrip().startswith("{"):
        try:
            return [*json.loads(f"[{text}]")]
        except ValueError as error:
            raise ValueError(f"it is not JSON ({error})") from None
    if stray := set(_CUT.sub("", text)) - set(",; "):
        raise ValueError(f"{text!r} has a {stray.pop()} that nothing closes")
    for piece in (found.strip() for found in _CUT.findall(text)):
        rest = piece
        if head := _HEAD.match(piece):
            tables.append({"table": head[1]})
            rest = piece[head.end() :].strip()
        item = _ITEM.match(rest)
        if not tables or (rest and item is None):
            raise ValueError(_UNREADABLE.format(piece))
        if item:
            raw = item[1] in {"metadata", *_IDS} or item[2].startswith("'")
            tables[-1][item[1]] = item[2] if raw else _unquoted(item[2])
    return tables


def _listed(value: Any) -> Any:
    return [*map(_unquoted, re.findall(_NAME, value))] if isinstance(value, str) else value


def id_parts(value: str) -> tuple[str | None, tuple[str, ...]]:
    """What begins ids, None if they are a column unchanged, and the columns."""
    first, *columns = map(_unquoted, re.findall(_NAME, value))
    return (first, tuple(columns)) if ":" in value and columns else (None, (_unquoted(value),))


def _checked_id(value: str) -> str:
    if re.fullmatch(rf"{_NAME}(?::{_NAME})*|[^:]*", value):
        return value
    raise ValueError(
        f"{value!r} is not an id: write one column, or what begins the ids of the table and the "
        "columns of its key, as in orders:order_id"
    )


def _unquoted(name: str) -> str:
    """A name without its double quotes."""
    return name[1:-1].replace('""', '"') if name[:1] == name[-1:] == '"' else name


def _printable(name: str) -> str:
    if "\0" in name or not name.isprintable():
        raise ValueError(f"{name!r} is not a valid name in Postgres")
    return name


def spelled_name(name: str) -> str:
    """A name as the short form has it."""
    return name if _PLAIN.fullmatch(name) else '"{}"'.format(name.replace('"', '""'))


def _short(key: str, value: str | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return "|".join(map(spelled_name, value))
    is_short = constant(value) is not None or (key in _IDS and ":" in value)
    return value if is_short else spelled_name(_unquoted(value) if key in _IDS else value)


def predicate_of(columns: tuple[str, ...], target: str) -> str:
    """The predicate of a foreign key: its only column without a suffix for ids, or its target."""
    return _ID_SUFFIX.sub("", columns[0]) if len(columns) == 1 else target


def quoted(text: str) -> str:
    """A text as a constant."""
    return "'{}'".format(text.replace("'", "''"))


def constant(value: str) -> str | None:
    """The text of a constant in single quotes; None for the name of a column."""
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return None


# --- the models -------------------------------------------------------------

Name = Annotated[str, Field(min_length=1), AfterValidator(_printable)]
"""Name of a schema or a table."""


def _settable(role: str | None) -> str | None:
    if role == "none":  # SET ROLE has this word for the account itself, whatever its quotes
        raise ValueError("Postgres has no role of this name; leave it out for the account's own")
    return role


Columns = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""Names of columns: a list, or one text separated by vertical bars."""

IdColumns = Annotated[str, AfterValidator(_checked_id)]
"""Source of an id: a column, or what begins the ids and columns, separated by colons."""


class Table(BaseModel, frozen=True, extra="forbid"):
    """A table, a view or a materialized view, by name."""

    table: Name = Field(description="`name` or `schema.name`.")
    metadata: Columns | None = Field(
        default=None,
        description="Columns of the metadata; by default all columns that have no other meaning.",
    )
    properties: str | None = Field(
        default=None, description="Column of JSON whose fields are added to the metadata."
    )

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, described: Any) -> Any:
        for key in described if isinstance(described, Mapping) else ():
            if key not in (known := list(cls.model_fields)):
                hint = f"{did_you_mean(key, known)} The keys are {', '.join(known)}"
                raise ValueError(f"{key!r} is not a key of this setting.{hint}")
        return described

    def __str__(self) -> str:
        """The table in the short form."""
        place = ".".join(spelled_name(one) for one in self.path if one is not None)
        given = self.model_dump(exclude_defaults=True, exclude={"table"})
        items = ", ".join(f"{key}={_short(key, value)}" for key, value in given.items())
        return f"{place}: {items}" if items else place

    @property
    def path(self) -> tuple[str | None, str]:
        """Schema, or None where the setting `schema` applies, and name."""
        parts = [_unquoted(part) for part in re.findall(_NAME_PART, self.table)]
        return (parts[0], parts[1]) if len(parts) == 2 else (None, _unquoted(self.table))


class NodeTable(Table, frozen=True):
    """A table whose rows are nodes."""

    id: IdColumns = Field(
        default="id",
        description="Column that holds the id; or what begins the ids and the columns of the key, "
        "so that tables that count from 1 have different ids: `orders:order_id` for `orders:17`.",
    )
    type: str | None = Field(
        default=None,
        description="Column that holds the type, or a constant; the table's name by default.",
    )
    name: str | None = Field(
        default=None,
        description="Column that holds the display name; by default `name`, if it exists.",
    )
    aliases: str | None = Field(
        default=None, description="Column that holds additional names: an array, JSON, or text."
    )


class EdgeTable(Table, frozen=True):
    """A table whose rows are edges."""

    subject: IdColumns = Field(
        default="subject",
        description="Column that holds the id of the node that the edge leaves, or columns as for "
        "`id` of nodes.",
    )
    predicate: str | None = Field(
        default=None,
        description="Column that holds the predicate, or a constant; the table's name by default. "
        "If each row is a node that is the subject, the default is the column of the object "
        "without `_id`, and the edge has no metadata.",
    )
    object: IdColumns = Field(
        default="object",
        description="Column that holds the id of the node that the edge enters, likewise.",
    )


def _names_no_file(dsn: Any) -> bool:
    """Whether the driver needs no password or key of the user's files for a URL."""
    query = re.sub(r"[\t\r\n]", "", str(dsn)).partition("?")[2]  # as urllib would read it
    files = {"service", "servicefile", "passfile", "sslkey", "sslcert"}
    return not files & parse_qs(query, keep_blank_values=True).keys()


class PostgresSettings(EmbeddingSettings):
    """Where the graph is, which tables it is in, and what reading it may cost."""

    found_file = EmbeddingSettings.found_file | FoundFile(
        "dsn schema_ names nodes edges transaction_pooling pool_size connect_timeout "
        "statement_timeout schema_timeout evidence_layout",
        credentials={"dsn": "", "PGPASSWORD": "dsn", "PGSERVICE": "dsn"},
        checks={"dsn": _names_no_file},
    )
    of_caller = frozenset({"role", "claims"})

    dsn: Annotated[SecretStr | None, Env("DATABASE_URL")] = None
    """The database: postgresql://user:password@host:port/name. If not set, the variables PGHOST,
    PGDATABASE, PGUSER, PGPASSWORD and so on apply.
    """
    schema_: Annotated[Name, Env("BFSQL_POSTGRES_SCHEMA")] = "public"
    """Schema of all tables that do not name one; if set, only its tables are proposed."""
    names: Annotated[
        dict[str, str], AfterValidator(_checked_names), Env("BFSQL_POSTGRES_NAMES")
    ] = Field(default_factory=dict)
    """Your names for kgraph's tables and columns, where they differ: entity=node,
    entity.entity_id=id, relationship=link.
    """
    nodes: Annotated[list[NodeTable], BeforeValidator(_tables), Env("BFSQL_POSTGRES_NODES")] = (
        Field(default_factory=list)
    )
    """Tables of nodes, for a graph that is not kgraph's: "people: id=person_id, name=full_name,
    type='Person', aliases=nicknames, metadata=born|died". Can be repeated. If neither these nor
    kgraph's tables exist, they are proposed from keys.
    """
    edges: Annotated[list[EdgeTable], BeforeValidator(_tables), Env("BFSQL_POSTGRES_EDGES")] = (
        Field(default_factory=list)
    )
    """Tables of edges, likewise: "jobs: subject=person_id, predicate='works for',
    object=company_id, metadata=since".
    """
    transaction_pooling: Annotated[bool, Env("BFSQL_POSTGRES_TRANSACTION_POOLING")] = False
    """Whether connections go through a pooler in transaction mode, such as pgbouncer."""
    role: Annotated[Name | None, AfterValidator(_settable), Env("BFSQL_POSTGRES_ROLE")] = None
    """Role whose rows and rights apply, which each transaction takes by SET LOCAL ROLE."""
    claims: Annotated[dict[str, Any], Env("BFSQL_POSTGRES_CLAIMS")] = Field(default_factory=dict)
    """What policies read of the user by current_setting('request.jwt.claims'), set likewise."""
    pool_size: Annotated[int, Env("BFSQL_POSTGRES_POOL_SIZE")] = Field(default=10, ge=1, le=1000)
    """Maximum number of connections to the server."""
    connect_timeout: Annotated[float, Env("BFSQL_POSTGRES_CONNECT_TIMEOUT")] = Field(
        default=10, gt=0, le=600
    )
    """Seconds to connect, or to wait for a free connection."""
    statement_timeout: Annotated[float, Env("BFSQL_POSTGRES_STATEMENT_TIMEOUT")] = Field(
        default=60, gt=0, le=86_400
    )
    """Seconds that one statement may take; the deadline of a call also applies."""
    schema_timeout: Annotated[float, Env("BFSQL_POSTGRES_SCHEMA_TIMEOUT")] = Field(
        default=20, gt=0, le=600
    )
    """Seconds that counting the relations of large tables for describe_schema may take; after that
    they come from a sample.
    """
    evidence_layout: Annotated[
        Literal["bundle_evidence", "evidence"], Env("BFSQL_POSTGRES_EVIDENCE_LAYOUT")
    ] = "bundle_evidence"
    """Where `bfsql load` writes evidence; reading uses whichever exists."""

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if bool(self.nodes) != bool(self.edges):
            given, lacking = ("nodes", "edges") if self.nodes else ("edges", "nodes")
            raise ValueError(
                f"The setting {given} names tables, but {lacking} does not; set both, or neither "
                "for the kgraph schema."
            )
        return self

    @property
    def is_transactional(self) -> bool:
        """Whether each statement needs a transaction, whose settings end with it."""
        return self.transaction_pooling or self.role is not None or bool(self.claims)

    def name_of(self, kgraph: str) -> str:
        """The name in this database of `TABLE` or `TABLE.COLUMN` in kgraph's schema."""
        return self.names.get(kgraph, kgraph.rpartition(".")[2])

    def path_of(self, table: Table) -> tuple[str, str]:
        """Schema and name of a table."""
        schema, name = table.path
        return schema or self.schema_, name
