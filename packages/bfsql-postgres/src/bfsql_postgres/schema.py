"""What the database has: tables, columns, indexes, extensions and rights, read once at start."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic_core import from_json

Path = tuple[str, str]
"""Schema and name of a table."""

_TEXTS = frozenset({"text", "varchar"})
_WHOLE = frozenset({"int2", "int4", "int8"})
_FLOATS = frozenset({"float4", "float8"})
_TIMES = frozenset({"date", "time", "timetz", "timestamp", "timestamptz"})
_JSON = frozenset({"json", "jsonb"})
_VECTORS = frozenset({"vector", "halfvec", "sparsevec"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column, with the type that its values have (that of a domain is its base type)."""

    name: str
    type_schema: str
    type: str
    """The type's own name: `int4`, `text`, `_text` for an array of texts, `vector`."""
    element: str | None = None
    """Name of the elements' type, where it is an array."""
    required: bool = False
    """Whether it has no nulls."""
    modifier: int = -1
    """What stands in brackets after the type, as the catalogue has it; -1 for nothing."""
    folded: bool = False
    """Whether its collation takes different texts for the same (`a` and `A`, say)."""

    @property
    def is_text(self) -> bool:
        """Whether its values are compared as text without a cast."""
        return self.type in _TEXTS and not self.folded

    @property
    def is_whole(self) -> bool:
        """Whether its values are whole numbers of at most 64 bits."""
        return self.type in _WHOLE

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers of any kind."""
        return self.type in _WHOLE | _FLOATS | {"numeric"}

    @property
    def is_uuid(self) -> bool:
        """Whether its values are UUIDs."""
        return self.type == "uuid"

    @property
    def is_json(self) -> bool:
        """Whether it holds JSON, in either of the two types."""
        return self.type in _JSON

    @property
    def is_time(self) -> bool:
        """Whether its values are dates, times or both."""
        return self.type in _TIMES

    @property
    def is_vector(self) -> bool:
        """Whether it is of one of pgvector's types."""
        return self.type in _VECTORS

    @property
    def dimensions(self) -> int | None:
        """The length of all its vectors, where its type states it."""
        return self.modifier if self.is_vector and self.modifier > 0 else None

    @property
    def is_ordered(self) -> bool:
        """Whether `<` and `>` are those of the server, in the order of a plain index."""
        return self.type_schema == "pg_catalog" and not self.folded

    @property
    def is_derived(self) -> bool:
        """Whether it repeats what other columns say, as the vectors of a text search do."""
        return self.type == "tsvector"

    @property
    def is_text_array(self) -> bool:
        """Whether it is an array of texts."""
        return self.element in _TEXTS

    @property
    def is_number_array(self) -> bool:
        """Whether it is an array of numbers."""
        return self.element in _WHOLE | _FLOATS | {"numeric"}


@dataclass(frozen=True, slots=True)
class Index:
    """An index of a table."""

    name: str
    method: str
    """`btree`, `hash`, `gin`, `gist`, `hnsw`, `ivfflat` and so on."""
    keys: tuple[str, ...]
    """What it is made of, in order: names of columns as they are, expressions as the server
    writes them."""
    opclasses: tuple[str, ...]
    """Operator class of each key, such as `text_ops` or `gin_trgm_ops`."""
    unique: bool
    valid: bool
    """False where building it was interrupted."""
    partial: bool
    """Whether it holds only some of the rows."""
    definition: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A table, a view, a materialized view or a foreign table."""

    schema: str
    name: str
    kind: str
    """`r` table, `p` partitioned table, `v` view, `m` materialized view, `f` foreign table."""
    rows: float
    """The planner's estimate; 0 where it has none, as for views."""
    columns: Mapping[str, Column]
    """Those that this role may read, by name."""
    unreadable: tuple[str, ...] = ()
    """Names of the columns that it may not read."""
    indexes: tuple[Index, ...] = ()

    @property
    def is_indexable(self) -> bool:
        """Whether it can have indexes."""
        return self.kind in "rpm"

    def leads(self, column: str) -> bool:
        """Whether a whole, valid index begins with the column, in an order that can be walked."""
        return any(
            index.method == "btree"
            and index.valid
            and not index.partial
            and index.keys[0] == column
            and not index.opclasses[0].endswith("_pattern_ops")
            for index in self.indexes
        )


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What was found in the database."""

    version: int
    """As the server spells it: 150004 is 15.4."""
    encoding: str
    """What characters the database's texts can have: `UTF8`, `LATIN1`."""
    database: str
    role: str
    relations: Mapping[Path, Relation]
    """Those that were asked for and are there."""
    extensions: Mapping[str, str]
    """Schema of each installed extension."""
    schemas: Mapping[str, bool]
    """The schemas asked for that are there, and whether the role may look into them."""
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What else each schema has, by name; the first fifty."""

    @property
    def trigrams(self) -> str | None:
        """Schema of pg_trgm, None where it is not installed."""
        return self.extensions.get("pg_trgm")

    @property
    def vectors(self) -> str | None:
        """Schema of pgvector, None where it is not installed."""
        return self.extensions.get("vector")


CATALOGUE = """
WITH asked AS (
    SELECT DISTINCT wanted.schema, wanted.name, c.oid, c.relkind, c.reltuples
    FROM unnest($1::text[], $2::text[]) AS wanted (schema, name)
    JOIN pg_catalog.pg_namespace AS n ON n.nspname = wanted.schema
    JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relname = wanted.name
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
)
SELECT json_build_object(
    'version', current_setting('server_version_num')::int,
    'encoding', getdatabaseencoding(),
    'database', current_database(),
    'role', current_user,
    'relations', (
        SELECT json_agg(json_build_object(
            'schema', schema, 'name', name, 'kind', relkind, 'rows', greatest(reltuples, 0),
            'columns', (
                SELECT json_agg(json_build_object(
                    'name', a.attname,
                    'type_schema', tn.nspname,
                    'type', t.typname,
                    'element', e.typname,
                    'required', a.attnotnull,
                    'modifier', CASE d.typtype WHEN 'd' THEN d.typtypmod ELSE a.atttypmod END,
                    'folded', NOT coalesce(k.collisdeterministic, true),
                    'readable', has_column_privilege(asked.oid, a.attnum, 'SELECT')
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
                    'name', ic.relname, 'method', am.amname, 'unique', i.indisunique,
                    'valid', i.indisvalid, 'partial', i.indpred IS NOT NULL,
                    'definition', pg_get_indexdef(i.indexrelid),
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
            )
        )) FROM asked
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
"""One statement for all of it; its values are schemas and names of the tables asked for."""


def read(text: str) -> Catalogue:
    """The catalogue out of what `CATALOGUE` answers."""
    found: dict[str, Any] = from_json(text)
    relations = [_relation(one) for one in found["relations"] or ()]
    return Catalogue(
        version=found["version"],
        encoding=found["encoding"],
        database=found["database"],
        role=found["role"],
        relations={(one.schema, one.name): one for one in relations},
        extensions=found["extensions"] or {},
        schemas=found["schemas"] or {},
        others={schema: tuple(names) for schema, names in (found["others"] or {}).items()},
    )


def paths(wanted: Iterable[Path]) -> tuple[list[str], list[str]]:
    """The two values of `CATALOGUE`."""
    pairs = list(dict.fromkeys(wanted))
    return [schema for schema, _ in pairs], [name for _, name in pairs]


def _relation(found: dict[str, Any]) -> Relation:
    columns = found["columns"] or ()
    return Relation(
        schema=found["schema"],
        name=found["name"],
        kind=found["kind"],
        rows=found["rows"],
        columns={
            one["name"]: Column(**{key: one[key] for key in one if key != "readable"})
            for one in columns
            if one["readable"]
        },
        unreadable=tuple(one["name"] for one in columns if not one["readable"]),
        indexes=tuple(
            Index(**{**one, "keys": tuple(one["keys"]), "opclasses": tuple(one["opclasses"])})
            for one in found["indexes"] or ()
        ),
    )


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
