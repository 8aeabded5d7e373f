"""The content of the database, read once at start, and the part of it that is the graph.

`Catalogue` has tables, columns, indexes, extensions and rights; `Layout` has the tables of nodes,
edges, evidence and mentions. `discovery` derives the layout from the catalogue.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from pydantic_core import from_json

from bfsql.models.name_keys import ANY_TYPE, NameKeys
from bfsql.models.valid_time import NO_TIME_KEYS, TimeKeys

# --- what the database has ---------------------------------------------------

Path = tuple[str, str]
"""Schema and name of a table."""

_TEXTS = frozenset({"text", "varchar"})
_NUMBERS = frozenset({"int2", "int4", "int8", "float4", "float8", "numeric"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column, with the type that its values have (for a domain, its base type)."""

    name: str
    type_schema: str
    type: str
    """Internal name of the type: `int4`, `text`, `_text` for an array of texts, `vector`."""
    element: str | None = None
    """Name of the elements' type, for an array."""
    required: bool = False
    """Whether it is NOT NULL."""
    modifier: int = -1
    """The type's modifier as the catalogue has it; -1 for none."""
    folded: bool = False
    """Whether its collation is nondeterministic: it may treat, say, `a` and `A` as equal."""
    collation: str = "0"
    """Number of its collation in the catalogue; 0 for a type without one."""

    @property
    def is_text(self) -> bool:
        """Whether its values are compared as text without a cast."""
        return self.type in _TEXTS and not self.folded

    @property
    def is_whole(self) -> bool:
        """Whether its values are integers of at most 64 bits."""
        return self.type in {"int2", "int4", "int8"}

    @property
    def kind(self) -> str:
        """How its values compare as keys: `whole`, `text`, or as the type compares them."""
        return "whole" if self.is_whole else "text" if self.is_text else self.type

    @property
    def is_json(self) -> bool:
        """Whether it is `json` or `jsonb`."""
        return self.type in {"json", "jsonb"}

    @property
    def is_vector(self) -> bool:
        """Whether its type is one of pgvector's."""
        return self.type in {"vector", "halfvec", "sparsevec"}

    @property
    def dimensions(self) -> int | None:
        """The length of its vectors, if its type states it."""
        return self.modifier if self.is_vector and self.modifier > 0 else None

    @property
    def is_text_array(self) -> bool:
        """Whether it is an array of texts."""
        return self.element in _TEXTS

    @property
    def is_number_array(self) -> bool:
        """Whether it is an array of numbers."""
        return self.element in _NUMBERS


@dataclass(frozen=True, slots=True)
class Index:
    """An index of a table."""

    name: str
    method: str
    """`btree`, `hash`, `gin`, `gist`, `hnsw`, `ivfflat` and so on."""
    keys: Sequence[str]
    """Its keys in order: names of columns, or expressions in the server's spelling."""
    opclasses: Sequence[str]
    """Operator class of each key, such as `text_ops` or `gin_trgm_ops`."""
    valid: bool
    """False if its creation was interrupted."""
    rows: str | None
    """The condition on the rows that it covers, in the server's spelling; None for all rows."""
    unique: bool
    primary: bool
    """Whether it is that of the primary key."""


class Reference(NamedTuple):
    """A foreign key."""

    target: Path
    pairs: Sequence[tuple[str, str]]  # its columns, each with the column of the target

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that has it."""
        return tuple(own for own, _ in self.pairs)


@dataclass(frozen=True, slots=True)
class Relation:
    """A table, a view, a materialized view or a foreign table."""

    schema: str
    name: str
    kind: str
    """`r` table, `p` partitioned table, `v` view, `m` materialized view, `f` foreign table."""
    rows: float
    """The planner's estimate; 0 if it has none, as for views, or if it counts rows of others."""
    secured: bool
    """Whether row security applies to this role."""
    comment: str
    """After the first line, the arguments of `NameKeys` if a load made the table."""
    columns: Mapping[str, Column]
    """The columns that this role may read, by name."""
    unreadable: Sequence[str]
    """Names of the columns that this role may not read."""
    indexes: Sequence[Index]
    references: Sequence[Reference]

    @property
    def whole_indexes(self) -> list[Index]:
        """The indexes of all rows whose creation has ended."""
        return [one for one in self.indexes if one.valid and one.rows is None]

    @property
    def keys(self) -> list[tuple[str, ...]]:
        """Its unique keys without nulls, in columns that this role may read, the primary first."""
        indexes = [one for one in self.whole_indexes if one.unique]
        indexes.sort(key=lambda one: (not one.primary, len(one.keys)))
        return [
            tuple(one.keys)
            for one in indexes
            if all((known := self.columns.get(key)) and known.required for key in one.keys)
        ]

    @property
    def is_indexable(self) -> bool:
        """Whether it can have indexes."""
        return self.kind in "rpm"

    def leads(self, *columns: str) -> bool:
        """Whether a complete, valid index begins with the columns, in sort order."""
        first = len(columns)
        return any(
            index.method == "btree"
            and set(index.keys[:first]) == set(columns)
            and not any(one.endswith("_pattern_ops") for one in index.opclasses[:first])
            for index in self.whole_indexes
        )

    def is_unique(self, *columns: str) -> bool:
        """Whether no two rows have the same values in these columns."""
        return any(one.unique and set(one.keys) == set(columns) for one in self.whole_indexes)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The findings about the database."""

    encoding: str
    """The database's encoding: `UTF8`, `LATIN1`."""
    validates: bool
    """Whether the server has `pg_input_is_valid`, which is since version 16."""
    lowers_ascii: bool
    """Whether its usual collation folds ASCII letters to ASCII: that of Turkish does not."""
    database: str
    role: str
    relations: Mapping[Path, Relation]
    """The requested tables that exist."""
    extensions: Mapping[str, str]
    """Schema of each installed extension."""
    schemas: Mapping[str, bool]
    """The requested schemas that exist, and whether the role has USAGE on them."""
    others: Mapping[str, Sequence[str]]
    """Names of the tables in each schema, the first fifty."""

    @property
    def trigrams(self) -> str | None:
        """Schema of pg_trgm, None if it is not installed."""
        return self.extensions.get("pg_trgm")


CATALOGUE = """
WITH asked AS (
    SELECT DISTINCT wanted.schema, wanted.name, c.oid, c.relkind, c.reltuples,
        row_security_active(c.oid) AS secured,
        has_schema_privilege(n.oid, 'USAGE') AS usable
    FROM unnest($1::text[], $2::text[]) AS wanted (schema, name)
    JOIN pg_catalog.pg_namespace AS n ON n.nspname = wanted.schema
    JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relname = wanted.name
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
)
SELECT json_build_object(
    'encoding', getdatabaseencoding(), 'lowers_ascii', lower('I') = 'i',
    'validates', current_setting('server_version_num')::integer >= 160000,
    'database', current_database(), 'role', current_user,
    'relations', (
        SELECT json_agg(json_build_object(
            'schema', schema, 'name', name, 'kind', relkind, 'secured', secured, 'rows',
            CASE WHEN secured OR relkind = 'f' AND current_user <> session_user THEN 0
                ELSE greatest(reltuples, 0) END,
            'comment', coalesce(obj_description(asked.oid, 'pg_class'), ''),
            'columns', (
                SELECT json_agg(json_build_object(
                    'name', a.attname, 'type_schema', tn.nspname, 'type', t.typname,
                    'element', e.typname, 'required', a.attnotnull,
                    'modifier', CASE d.typtype WHEN 'd' THEN d.typtypmod ELSE a.atttypmod END,
                    'folded', NOT coalesce(k.collisdeterministic, true),
                    'collation', a.attcollation::text,
                    'readable', usable AND has_column_privilege(asked.oid, a.attnum, 'SELECT')
                ) ORDER BY a.attnum)
                FROM pg_catalog.pg_attribute AS a
                JOIN pg_catalog.pg_type AS d ON d.oid = a.atttypid
                JOIN pg_catalog.pg_type AS t
                    ON t.oid = CASE d.typtype WHEN 'd' THEN d.typbasetype ELSE d.oid END
                JOIN pg_catalog.pg_namespace AS tn ON tn.oid = t.typnamespace
                LEFT JOIN pg_catalog.pg_type AS e ON e.oid = t.typelem AND t.typcategory = 'A'
                LEFT JOIN pg_catalog.pg_collation AS k ON k.oid = a.attcollation
                WHERE a.attrelid = asked.oid AND a.attnum > 0 AND NOT a.attisdropped
            ),
            'indexes', (
                SELECT json_agg(json_build_object(
                    'name', ic.relname, 'method', am.amname,
                    'valid', i.indisvalid, 'rows', pg_get_expr(i.indpred, i.indrelid, true),
                    'unique', i.indisunique, 'primary', i.indisprimary,
                    'keys', (
                        SELECT json_agg(
                            coalesce(k.attname::text, pg_get_indexdef(i.indexrelid, p, true))
                            ORDER BY p
                        )
                        FROM generate_series(1, i.indnkeyatts) AS p
                        LEFT JOIN pg_catalog.pg_attribute AS k
                            ON k.attrelid = i.indrelid AND k.attnum = i.indkey[p - 1]
                            AND k.attnum > 0
                    ),
                    'opclasses', (
                        SELECT json_agg(o.opcname ORDER BY p)
                        FROM generate_series(1, i.indnkeyatts) AS p
                        JOIN pg_catalog.pg_opclass AS o ON o.oid = i.indclass[p - 1]
                    )
                ) ORDER BY ic.relname)
                FROM pg_catalog.pg_index AS i
                JOIN pg_catalog.pg_class AS ic ON ic.oid = i.indexrelid
                JOIN pg_catalog.pg_am AS am ON am.oid = ic.relam
                WHERE i.indrelid = asked.oid
            ),
            'references', ARRAY(
                SELECT json_build_array(tn.nspname, t.relname, (
                    SELECT json_agg(json_build_array(a.attname, b.attname) ORDER BY p)
                    FROM generate_subscripts(k.conkey, 1) AS p
                    JOIN pg_catalog.pg_attribute AS a
                        ON a.attrelid = k.conrelid AND a.attnum = k.conkey[p]
                    JOIN pg_catalog.pg_attribute AS b
                        ON b.attrelid = k.confrelid AND b.attnum = k.confkey[p]
                ))
                FROM pg_catalog.pg_constraint AS k
                JOIN pg_catalog.pg_class AS t ON t.oid = k.confrelid
                JOIN pg_catalog.pg_namespace AS tn ON tn.oid = t.relnamespace
                WHERE k.conrelid = asked.oid AND k.contype = 'f' AND k.conparentid = 0
                ORDER BY k.conkey, k.conname
            )
        ) ORDER BY schema COLLATE "C", name COLLATE "C") FROM asked
    ),
    'extensions', (
        SELECT json_object_agg(x.extname, n.nspname)
        FROM pg_catalog.pg_extension AS x
        JOIN pg_catalog.pg_namespace AS n ON n.oid = x.extnamespace
        WHERE has_schema_privilege(n.oid, 'USAGE')
    ),
    'schemas', (
        SELECT json_object_agg(n.nspname, has_schema_privilege(n.oid, 'USAGE'))
        FROM pg_catalog.pg_namespace AS n WHERE n.nspname = ANY ($1::text[])
    ),
    'others', (
        SELECT json_object_agg(schema, names) FROM (
            SELECT n.nspname AS schema, (array_agg(c.relname ORDER BY c.relname))[:50] AS names
            FROM pg_catalog.pg_namespace AS n
            JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid
            WHERE n.nspname = ANY ($1::text[]) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
            GROUP BY n.nspname
        ) AS found
    )
)::text
"""
"""One statement for all of it; its values are the schemas and names of the requested tables."""


def read(text: str) -> Catalogue:
    """Parse the catalogue from the result of `CATALOGUE`."""
    found: dict[str, Any] = from_json(text)
    relations = [_relation(one) for one in found["relations"] or ()]
    found["relations"] = {(one.schema, one.name): one for one in relations}
    return Catalogue(**{key: {} if value is None else value for key, value in found.items()})


def _relation(found: dict[str, Any]) -> Relation:
    columns = [(one.pop("readable"), one) for one in found["columns"] or ()]
    found["columns"] = {one["name"]: Column(**one) for readable, one in columns if readable}
    found["unreadable"] = [one["name"] for readable, one in columns if not readable]
    found["indexes"] = [Index(**one) for one in found["indexes"] or ()]
    found["references"] = [Reference((place, to), by) for place, to, by in found["references"]]
    return Relation(**found)


# --- which part of it is the graph -------------------------------------------

Key = Literal["text", "whole", "uuid", "mixed", "prefixed"]
"""How ids compare: as text, integers or UUIDs; `mixed`: several or other types, cast to text;
`prefixed`: by the key of the table that their prefix names.
"""

Term = Column | str
"""The source of a type or a predicate: a column, or a constant for all rows."""


@dataclass(frozen=True, slots=True)
class Id:
    """The source of an id: one column, or a prefix and the columns of a key."""

    columns: tuple[Column, ...]
    prefix: str | None = None
    """What precedes the first colon of an id, as `ids.encoded` writes it; None for a column."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)


Fields = tuple[tuple[str, Column], ...]
"""Metadata keys with their columns."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """A table of nodes."""

    relation: Relation
    id: Id
    type: Term
    name: Column | None
    aliases: Column | None
    metadata: Fields
    """Metadata fields, including name and aliases."""
    status: Column | None = None
    """Column that marks rows to ignore: those with the value `merged`."""
    properties: Column | None = None
    """JSON whose keys become metadata keys."""
    embedding: Column | None = None
    """The entity's vector, of any type; never fetched."""


@dataclass(frozen=True, slots=True)
class Edges:
    """A table of edges."""

    relation: Relation
    subject: Id
    predicate: Term
    object: Id
    metadata: Fields
    row: Column | None = None
    """The row's own id, which evidence refers to."""
    documents: Column | None = None
    """Documents that a row comes from, as JSON or an array."""
    properties: Column | None = None
    """JSON whose keys become metadata keys."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A table of passages that support edges."""

    relation: Relation
    reference: Column
    """`subject:predicate:object` as text, or the `row` of an edge."""
    by_row: bool
    """Whether `reference` is the `row` of an edge."""
    document: Column | None
    fields: Fields
    """Keys of an item, including the document's."""
    lifted: tuple[Column, ...] = ()
    """JSON columns whose keys become keys of the item."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """A table of the places where entities are mentioned, counted if nodes have no count."""

    relation: Relation
    entity: Column
    document: Column | None


@dataclass(frozen=True)
class Layout:
    """The location of the graph in a database."""

    catalogue: Catalogue
    key: Key
    nodes: tuple[Nodes, ...]
    """If two tables have the same id, the first one determines the type."""
    edges: tuple[Edges, ...]
    evidence: tuple[Evidence, ...] = ()
    mentions: Mentions | None = None
    uniform: frozenset[str] = frozenset()
    """The prefixes whose keys are of the same kind wherever they are."""
    time_keys: TimeKeys = NO_TIME_KEYS
    """The properties that say when facts hold."""

    @cached_property
    def ids(self) -> Mapping[str, Id]:
        """The sources of the ids of nodes, by prefix."""
        return {nodes.id.prefix: nodes.id for nodes in self.nodes if nodes.id.prefix is not None}

    @cached_property
    def id_sources(self) -> list[tuple[Relation, Id]]:
        """All sources of ids with their tables: those of nodes, and both ends of edges."""
        ends = [(one.relation, end) for one in self.edges for end in (one.subject, one.object)]
        return [(one.relation, one.id) for one in self.nodes] + ends

    @cached_property
    def relations(self) -> Mapping[Path, Relation]:
        """All tables of the graph."""
        mentions = [self.mentions] if self.mentions else []
        parts: list[Nodes | Edges | Evidence | Mentions]
        parts = [*self.nodes, *self.edges, *self.evidence, *mentions]
        return {(one.relation.schema, one.relation.name): one.relation for one in parts}

    @cached_property
    def name_keys(self) -> NameKeys:
        """The columns of names of the tables, and those that a load took for the name."""
        own = [(one.type if isinstance(one.type, str) else ANY_TYPE, one) for one in self.nodes]
        names = [(kind, one.name.name) for kind, one in own if one.name]
        properties = [(kind, key) for kind, one in own for key, _ in one.metadata]
        for _, one in own:
            with suppress(ValueError, TypeError):  # a comment that is no load's
                loaded = NameKeys.pairs(one.relation.comment.partition("\n")[2])
                names, properties = names + loaded[0], properties + loaded[1]
        return NameKeys(names, properties)

    @cached_property
    def keys(self) -> set[str] | None:
        """The keys of nodes; None if some are in JSON."""
        if any(one.properties for one in self.nodes):
            return None
        return {key for one in self.nodes for key, _ in one.metadata}

    @cached_property
    def is_disjoint(self) -> bool:
        """Whether every node is a single row, and its table has one type."""
        return len(self.ids) == len(self.nodes) and all(
            one.relation.is_unique(*one.id.names) and isinstance(one.type, str)
            for one in self.nodes
        )

    @cached_property
    def codec(self) -> str:
        """Python's name of the database's encoding; UTF-8 if Python does not have it."""
        name = self.catalogue.encoding.replace("WIN", "cp").replace("KOI8", "koi8_")
        try:
            return codecs.lookup(name).name
        except LookupError:
            return "utf-8"

    @property
    def embedded(self) -> Nodes | None:
        """The first table of nodes that has vectors."""
        return next((nodes for nodes in self.nodes if nodes.embedding is not None), None)
