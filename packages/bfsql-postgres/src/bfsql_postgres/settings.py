"""What the backend can be told: where the graph is, how it is laid out, what reading may cost."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    model_validator,
)

from bfsql.embedding import EmbeddingSettings
from bfsql.settings import Env, resolve

TABLES: dict[str, tuple[str, ...]] = {
    "entity": (
        "entity_id",
        "entity_type",
        "name",
        "synonyms",
        "status",
        "properties",
        "embedding",
    ),
    "relationship": (
        "id",
        "subject_id",
        "predicate",
        "object_id",
        "source_documents",
        "properties",
    ),
    "bundle_evidence": ("relationship_key", "document_id"),
    "evidence": ("relationship_id", "paper_id", "confidence_score", "metadata_"),
    "bundle_mention": ("entity_id", "document_id"),
}
"""Columns that mean something, by table; all others are metadata under their own names."""

NEEDED = {
    "entity": ("entity_id", "entity_type"),
    "relationship": ("subject_id", "predicate", "object_id"),
}
"""What a graph cannot be without."""

MERGED = "merged"
"""Status of an entity that another one stands for: kept for audits, never shown (chapter 9)."""


class Names:
    """What kgraph's tables and columns are called in one database.

    Args:
        given: `entity` or `entity.entity_id` to another name.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given

    def table(self, table: str) -> str:
        """The name of a table."""
        return self._given.get(table, table)

    def column(self, table: str, column: str) -> str:
        """The name of a column of it."""
        return self._given.get(f"{table}.{column}", column)


def checked(given: dict[str, str]) -> dict[str, str]:
    """The names, when all of them rename something that is looked for.

    Raises:
        ValueError: One of them does not, in a sentence that gives those that do.
    """
    known = [*TABLES, *(f"{table}.{column}" for table, own in TABLES.items() for column in own)]
    for key, name in given.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            cure = f"did you mean {close[0]}" if close else f"there are {', '.join(known)}"
            raise ValueError(f"{key!r} is no table or column of kgraph's; {cure}")
        if not name or "\0" in name:
            raise ValueError(f"{key!r} has to have a name, and {name!r} is none")
    return given


Name = Annotated[str, Field(min_length=1), AfterValidator(lambda value: _sound(value))]  # noqa: PLW0108 - it is defined below
"""Name of something in Postgres."""

Columns = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: _listed(value)),  # noqa: PLW0108 - it is defined below
]
"""Names of columns: a list, or one text with bars between them."""


class Table(BaseModel):
    """A table, a view or a materialized view, by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: Name = Field(description="`name` or `schema.name`.")
    metadata: Columns | None = Field(
        default=None, description="Columns of the metadata; all that mean nothing else by default."
    )

    @property
    def path(self) -> tuple[str | None, str]:
        """Schema, or None where the setting `schema` says it, and name."""
        parts = [_bare(part) for part in re.findall(_NAME_PART, self.table)]
        return (parts[0], parts[1]) if len(parts) == 2 else (None, parts[0])  # noqa: PLR2004


class NodeTable(Table):
    """A table whose rows are nodes."""

    id: str = Field(default="id", description="Column of the id.")
    type: str | None = Field(
        default=None, description="Column of the type, or a constant; the table's name by default."
    )
    name: str | None = Field(
        default=None, description="Column of the display name; `name` by default, where it is."
    )
    aliases: str | None = Field(
        default=None, description="Column of further names: an array, JSON, or text."
    )


class EdgeTable(Table):
    """A table whose rows are edges."""

    subject: str = Field(default="subject", description="Column of the id that the edge leaves.")
    predicate: str | None = Field(
        default=None, description="Column, or a constant; the table's name by default."
    )
    object: str = Field(default="object", description="Column of the id that the edge enters.")


T = TypeVar("T", NodeTable, EdgeTable)


def constant(value: str) -> str | None:
    """The text of a constant in single quotes, None for the name of a column."""
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return None


def tables(value: Any) -> Any:
    """Tables out of texts; what is no text goes through as it is.

    Args:
        value: A text, or a list of texts, mappings and models. A command line cuts
            its texts at commas, so that the pieces are put together again here.

    Raises:
        ValueError: A sentence on what cannot be read.
    """
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Iterable) or isinstance(value, Mapping):
        return value
    parsed: list[Any] = []
    texts: list[str] = []
    for item in value:
        if isinstance(item, str):
            texts.append(item)
        else:
            parsed.append(item)
    return [*parsed, *_parsed(texts)]


# --- the short form ---------------------------------------------------------

_NAME = r'(?:"(?:[^"]|"")*"|[^\s:=,;"\'.|]+)'
_NAME_PART = rf"{_NAME}|[^.]+"
_HEAD = re.compile(rf"({_NAME}(?:\.{_NAME})?)\s*(?::|$)")
_ITEM = re.compile(
    rf"([a-z]+)\s*=\s*('(?:[^']|'')*'|{_NAME}(?:\s*\|\s*{_NAME})*|)$",
)
_CUT = re.compile(r"""((?:"[^"]*"|'[^']*'|[^,;"'])+)""")


def _parsed(texts: list[str]) -> Iterator[dict[str, Any]]:
    joined = ", ".join(texts)
    if joined.lstrip().startswith("{"):
        yield from _json(joined)
        return
    table: dict[str, Any] | None = None
    for piece in (found.strip() for found in _CUT.findall(joined)):
        head = _HEAD.match(piece)
        rest = piece
        if head:
            if table is not None:
                yield table
            table = {"table": head[1]}
            rest = piece[head.end() :].strip()
        item = _ITEM.match(rest)
        if table is None or (rest and item is None):
            raise ValueError(_UNREAD.format(piece))
        if item:
            table[item[1]] = item[2] if item[1] == "metadata" else _unquoted(item[2])
    if table is not None:
        yield table


_UNREAD = (
    "{!r} cannot be read; write a table, a colon and what its columns are, as in "
    "people: id=person_id, name=full_name, type='Person', metadata=born|died"
)


def _json(text: str) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = json.loads(f"[{text}]")
    except ValueError as error:
        raise ValueError(f"it is no JSON ({error})") from None
    return found


def _listed(value: Any) -> Any:
    if isinstance(value, str):
        return [_bare(part.strip()) for part in re.findall(_NAME, value)]
    return value


def _unquoted(text: str) -> str:
    return text if text.startswith("'") else _bare(text)


def _sound(name: str) -> str:
    """The name, when Postgres can have one like it."""
    if "\0" in name or not name.isprintable():
        raise ValueError(f"{name!r} is no name of anything in Postgres")
    return name


def _bare(name: str) -> str:
    """A name without its double quotes."""
    return name[1:-1].replace('""', '"') if name[:1] == name[-1:] == '"' else name


class PostgresSettings(EmbeddingSettings):
    """Where the graph is, which tables it is in, and what reading it may cost."""

    dsn: Annotated[SecretStr | None, Env("DATABASE_URL")] = Field(
        default=None,
        description="Where the database is: postgresql://user:password@host:port/name. Without it "
        "the variables PGHOST, PGDATABASE, PGUSER, PGPASSWORD and so on count.",
    )
    schema_: Annotated[Name, Env("BFSQL_POSTGRES_SCHEMA")] = Field(
        default="public", description="Schema of all tables that name no other."
    )
    names: Annotated[dict[str, str], AfterValidator(checked), Env("BFSQL_POSTGRES_NAMES")] = Field(
        default_factory=dict,
        description="Names of kgraph's tables and columns where yours differ: entity=node, "
        "entity.entity_id=id, relationship=link.",
    )
    nodes: Annotated[list[NodeTable], BeforeValidator(tables), Env("BFSQL_POSTGRES_NODES")] = Field(
        default_factory=list,
        description="Tables of nodes, for a graph that is not kgraph's: \"people: id=person_id, "
        "name=full_name, type='Person', aliases=nicknames, metadata=born|died\". Can be repeated.",
    )
    edges: Annotated[list[EdgeTable], BeforeValidator(tables), Env("BFSQL_POSTGRES_EDGES")] = Field(
        default_factory=list,
        description="Tables of edges, likewise: \"jobs: subject=person_id, predicate='works for', "
        'object=company_id, metadata=since".',
    )
    transaction_pooling: Annotated[bool, Env("BFSQL_POSTGRES_TRANSACTION_POOLING")] = Field(
        default=False,
        description="Whether a pooler in transaction mode (pgbouncer, say) stands in between.",
    )
    pool_size: Annotated[int, Env("BFSQL_POSTGRES_POOL_SIZE")] = Field(
        default=10, ge=1, le=1000, description="Connections to the server at the most."
    )
    connect_timeout: Annotated[float, Env("BFSQL_POSTGRES_CONNECT_TIMEOUT")] = Field(
        default=10,
        gt=0,
        le=600,
        description="Seconds to connect at the most, and to wait for a free connection.",
    )
    statement_timeout: Annotated[float, Env("BFSQL_POSTGRES_STATEMENT_TIMEOUT")] = Field(
        default=60,
        gt=0,
        le=86_400,
        description="Seconds that one statement may take; the deadline of a call counts as well.",
    )
    evidence_layout: Annotated[
        Literal["bundle_evidence", "evidence"], Env("BFSQL_POSTGRES_EVIDENCE_LAYOUT")
    ] = Field(
        default="bundle_evidence",
        description="Where `bfsql load` writes evidence; reading takes what is there.",
    )

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        """Nodes without edges are no graph, and edges alone have no nodes to touch."""
        if bool(self.nodes) != bool(self.edges):
            given, lacking = ("nodes", "edges") if self.nodes else ("edges", "nodes")
            raise ValueError(
                f"The setting {given} names tables and {lacking} names none; name both, or "
                "neither for kgraph's schema."
            )
        return self

    @classmethod
    def of(cls, dsn: str | None, settings: dict[str, Any]) -> Self:
        """The settings of a program: what it says, then what the environment says.

        Args:
            dsn: The database's URL, or None.
            settings: Any of the other fields.

        Raises:
            ConfigurationError: One of them cannot be used.
        """
        given = settings if dsn is None else {**settings, "dsn": dsn}
        return resolve(cls, options=given, environment=dict(os.environ)).settings
