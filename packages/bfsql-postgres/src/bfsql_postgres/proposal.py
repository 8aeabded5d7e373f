"""A mapping for a database as it is, from its primary and foreign keys.

A table with a key is a type of nodes, and a foreign key of it a predicate. A table that is little
more than two foreign keys is a predicate, and its other columns are properties of the edges.
Nothing is counted: the catalogue is read, and the first rows of each table for the choice of names.
"""
# ruff: noqa: S608 - these texts are made of quoted names

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from bfsql.errors import StoreError, listing
from bfsql.plugins import Proposal, ProposedSetting
from bfsql_postgres.schema import CATALOGUE, Catalogue, Column, Path, Relation, read
from bfsql_postgres.settings import PostgresSettings, predicate_of, quoted
from bfsql_postgres.sql import identifier, qualified, union

SAMPLED = 500
"""First rows of a table by which the column of names is chosen."""
COMPARED = 200
"""Characters of a text that are compared."""
SHOWN = 8
"""Tables that a sentence names."""

_TEXTS = frozenset({"text", "varchar", "bpchar", "citext"})
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)

TABLES = """
SELECT coalesce(json_agg(json_build_object(
    'schema', n.nspname, 'name', c.relname, 'kind', c.relkind,
    'readable', has_schema_privilege(n.oid, 'USAGE')
        AND has_any_column_privilege(c.oid, 'SELECT'),
    'keys', (
        SELECT json_agg(own.columns ORDER BY NOT own.indisprimary, own.indnkeyatts, own.relname)
        FROM (
            SELECT i.indisprimary, i.indnkeyatts, ic.relname, (
                SELECT json_agg(a.attname ORDER BY p)
                FROM generate_series(1, i.indnkeyatts) AS p
                JOIN pg_catalog.pg_attribute AS a
                    ON a.attrelid = c.oid AND a.attnum = i.indkey[p - 1]
            ) AS columns
            FROM pg_catalog.pg_index AS i
            JOIN pg_catalog.pg_class AS ic ON ic.oid = i.indexrelid
            WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid
                AND i.indpred IS NULL AND i.indexprs IS NULL
                AND NOT EXISTS (
                    SELECT FROM pg_catalog.pg_attribute AS a
                    WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey) AND NOT a.attnotnull
                )
        ) AS own
    ),
    'references', (
        SELECT json_agg(json_build_object(
            'schema', tn.nspname, 'name', t.relname,
            'pairs', (
                SELECT json_agg(json_build_array(a.attname, b.attname) ORDER BY p)
                FROM generate_subscripts(k.conkey, 1) AS p
                JOIN pg_catalog.pg_attribute AS a
                    ON a.attrelid = k.conrelid AND a.attnum = k.conkey[p]
                JOIN pg_catalog.pg_attribute AS b
                    ON b.attrelid = k.confrelid AND b.attnum = k.confkey[p]
            )
        ) ORDER BY k.conkey, k.conname)
        FROM pg_catalog.pg_constraint AS k
        JOIN pg_catalog.pg_class AS t ON t.oid = k.confrelid
        JOIN pg_catalog.pg_namespace AS tn ON tn.oid = t.relnamespace
        WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.conparentid = 0
    )
) ORDER BY n.nspname, c.relname), '[]')::text
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_'
    AND n.nspname <> 'information_schema' AND ($1::text IS NULL OR n.nspname = $1)
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits AS i WHERE i.inhrelid = c.oid)
    AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_depend AS d
        WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
    )
"""
"""The tables of a schema, or of all, without those of extensions and without partitions, which are
read through their parents; with unique keys that have no nulls, the primary key first.
"""


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key."""

    target: Path
    pairs: tuple[tuple[str, str], ...]
    """Its columns, each with the column of the target."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that has it."""
        return tuple(own for own, _ in self.pairs)

    def in_order(self, key: Sequence[str]) -> list[str] | None:
        """Its columns in the order of the target's key; None if it refers to other columns."""
        by_target = {target: own for own, target in self.pairs}
        return [by_target[one] for one in key] if set(key) == set(by_target) else None


@dataclass(frozen=True, slots=True)
class KeyedTable:
    """A table with its unique keys and foreign keys."""

    path: Path
    kind: str
    readable: bool
    keys: tuple[tuple[str, ...], ...]
    references: tuple[Reference, ...]


async def proposed(
    database: Any, settings: PostgresSettings
) -> tuple[PostgresSettings, Catalogue, Proposal] | None:
    """The settings with a mapping for the tables of a database, and what was read for it.

    None if the database has no tables, or none that the role may read.

    Args:
        database: A `Pool` or a connection.
        settings: Settings without `nodes` and `edges`; a schema that is set is the only one read.

    Raises:
        StoreError: No table has a key, or none refers to another.
    """
    given = settings.schema_ if "schema_" in settings.model_fields_set else None
    [[text]] = await database.fetch(TABLES, given)
    tables = [_table(one) for one in from_json(text)]
    usable = [one.path for one in tables if one.readable and one.kind in "rp"]
    if not usable:
        return None
    schemas, names = [schema for schema, _ in usable], [name for _, name in usable]
    [[text]] = await database.fetch(CATALOGUE, schemas, names)
    catalogue = read(text)
    mapping = _Mapping(tables, catalogue, settings)
    samples = mapping.samples()
    rows = await database.fetch(union(samples.values())) if samples else []
    mapping.choose_names({list(samples)[place]: (count, values) for place, count, values in rows})
    proposal = mapping.proposal()
    update = {one.field: one.value for one in proposal.settings}
    whole = PostgresSettings.model_validate({**settings.model_dump(by_alias=False), **update})
    return whole, catalogue, proposal


def _table(found: dict[str, Any]) -> KeyedTable:
    references = (
        Reference((one["schema"], one["name"]), tuple((own, to) for own, to in one["pairs"]))
        for one in found["references"] or ()
    )
    return KeyedTable(
        (found["schema"], found["name"]),
        found["kind"],
        found["readable"],
        tuple(map(tuple, found["keys"] or ())),
        tuple({(one.target, one.columns): one for one in references}.values()),
    )


@dataclass(slots=True)
class _Mapping:
    """The types and predicates of some tables."""

    tables: Sequence[KeyedTable]
    catalogue: Catalogue
    settings: PostgresSettings
    keys: dict[Path, tuple[str, ...]] = field(init=False)
    """The keys of the tables of nodes."""
    links: dict[Path, KeyedTable] = field(init=False)
    """The tables of edges."""
    labels: dict[Path, str] = field(init=False)
    """The type of each table: its name, with its schema if there are several."""
    names: dict[Path, str | None] = field(default_factory=dict)
    empty: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        keyed = {
            one.path: key
            for one in self.tables
            if (relation := self._relation(one)) is not None
            for key in one.keys[:1]
            if relation.columns.keys() >= set(key)
        }
        used = {reference.target for one in self.tables for reference in one.references}
        self.links = {
            one.path: one
            for one in self.tables
            if one.path not in used and self._is_link(one, keyed)
        }
        self.keys = {path: key for path, key in keyed.items() if path not in self.links}
        times = Counter(name for _, name in self.keys)
        self.labels = {
            (schema, name): name if times[name] == 1 and "." not in name else _full(schema, name)
            for schema, name in self.keys
        }

    def _relation(self, table: KeyedTable) -> Relation | None:
        found = self.catalogue.relations.get(table.path)
        return found if found is not None and table.kind in "rp" else None

    def _is_link(self, table: KeyedTable, keyed: Mapping[Path, Sequence[str]]) -> bool:
        """Whether a table is little more than two foreign keys.

        They identify a row, or nothing does, or it has no other columns than a number.
        """
        relation = self._relation(table)
        if relation is None or len(table.references) != 2:  # noqa: PLR2004 - the ends of an edge
            return False
        if any(one.in_order(keyed.get(one.target, ())) is None for one in table.references):
            return False
        ends = {name for one in table.references for name in one.columns}
        others = relation.columns.keys() - ends
        return ends <= relation.columns.keys() and (
            not table.keys
            or any(set(key) == ends for key in table.keys)
            or others <= set(table.keys[0])
        )

    # --- names ----------------------------------------------------------------

    def samples(self) -> dict[Path, str]:
        """The statements that count the values in the texts of a table's first rows.

        A row: place of the table, number of rows, number of different values of each text.
        """
        found: dict[Path, str] = {}
        for place, (path, key) in enumerate(self.keys.items()):
            texts = [identifier(column.name) for column in self._texts(path)]
            counts = "".join(
                f", count(DISTINCT left(x.{one}::text, {COMPARED}))" for one in texts
            ).lstrip(", ")
            order = ", ".join(map(identifier, key))
            found[path] = (
                f"SELECT {place}, count(*)::int, ARRAY[{counts}]::bigint[] FROM (SELECT "
                f"{', '.join(texts)} FROM {qualified(*path)} ORDER BY {order} LIMIT {SAMPLED}) AS x"
            )
        return found

    def choose_names(self, samples: Mapping[Path, tuple[int, Sequence[int]]]) -> None:
        """Choose the column of names of each table, by `samples`."""
        for path in self.keys:
            rows, counts = samples[path]
            if not rows:
                self.empty.append(path)
            different = {
                column.name: number
                for column, number in zip(self._texts(path), counts, strict=True)
                if 2 * number >= rows
            }
            by_name = {name.lower(): name for name in reversed([*different])}
            usual = [by_name[one] for one in ("name", "title", "label") if one in by_name]
            most = max(different, key=lambda name: different[name], default=None)
            self.names[path] = usual[0] if usual else most

    def _texts(self, path: Path) -> list[Column]:
        """The columns of text that are no keys."""
        own = next(one for one in self.tables if one.path == path)
        keys = {*self.keys[path], *(name for one in own.references for name in one.columns)}
        columns = self.catalogue.relations[path].columns.values()
        return [one for one in columns if one.type in _TEXTS and one.name not in keys]

    # --- settings ---------------------------------------------------------------

    def proposal(self) -> Proposal:
        """The mapping as settings, with what it leaves out."""
        nodes = [self._nodes(path) for path in self.keys]
        edges = [line for one in self.tables for line in self._edges(one)]
        links = f", {len(self.links)} tables of two foreign keys" if self.links else ""
        left_out = tuple(self._left_out())
        if not edges:
            raise StoreError(" ".join([self._nothing(), *left_out]))
        return Proposal(
            (
                ProposedSetting(
                    "nodes",
                    nodes,
                    "tables with a primary or unique key; names from name, title, label or the "
                    "text that differs most",
                ),
                ProposedSetting(
                    "edges", edges, f"{len(edges) - len(self.links)} foreign keys{links}"
                ),
            ),
            left_out,
        )

    def _nothing(self) -> str:
        if not self.keys:
            return "The database has no tables with a primary key that this role may read."
        *_, (table, key) = self.keys.items()
        own = _id(self.labels[table], key)
        return (
            f"The database has {len(self.keys)} tables with a key and no foreign key, so nothing "
            "says which rows belong together. Describe the edges too, as in --nodes "
            f'"{self._place(table)}: id={own}" --edges "{self._place(table)}: subject={own}, '
            f'object={_name(self.labels[table])}:parent_id"'
        )

    def _nodes(self, path: Path) -> str:
        parts = [f"id={_id(self.labels[path], self.keys[path])}"]
        if self.labels[path] != path[1]:
            parts.append(f"type={quoted(self.labels[path])}")
        if (name := self.names[path]) is not None and name != "name":
            parts.append(f"name={_name(name)}")
        columns = self.catalogue.relations[path].columns
        parts += [f"aliases={one}" for one in ("aliases", "synonyms") if one in columns][:1]
        return f"{self._place(path)}: {', '.join(parts)}"

    def _edges(self, table: KeyedTable) -> Iterator[str]:
        if table.path in self.links:
            subject, obj = (self._end(one) for one in table.references)
            yield f"{self._place(table.path)}: subject={subject}, object={obj}"
        elif table.path in self.keys:
            known = [one for one in table.references if self._end(one) and self._has(table, one)]
            names = [predicate_of(one.columns, self.labels[one.target]) for one in known]
            subject = _id(self.labels[table.path], self.keys[table.path])
            for one, name in zip(known, names, strict=True):
                longer = names.count(name) > 1
                shown = f", predicate={quoted('_'.join(one.columns))}" if longer else ""
                ends = f"subject={subject}, object={self._end(one)}"
                yield f"{self._place(table.path)}: {ends}{shown}"

    def _has(self, table: KeyedTable, reference: Reference) -> bool:
        return self.catalogue.relations[table.path].columns.keys() >= set(reference.columns)

    def _end(self, reference: Reference) -> str | None:
        """The end of an edge at the target of a foreign key; None if it is not its key."""
        columns = reference.in_order(self.keys.get(reference.target, ()))
        return _id(self.labels[reference.target], columns) if columns else None

    def _place(self, path: Path) -> str:
        own = _name(path[1])
        return own if path[0] == self.settings.schema_ else f"{_name(path[0])}.{own}"

    # --- what is left out ---------------------------------------------------------

    def _left_out(self) -> Iterator[str]:
        tables = [one for one in self.tables if one.kind in "rp"]
        denied = [one for one in tables if not one.readable]
        if denied:
            grant = f"GRANT SELECT ON {qualified(*denied[0].path)} TO {self._role()};"
            yield f"This role may not read {self._listed(denied)}; have the owner run: {grant}"
        covered = self.keys.keys() | self.links.keys()
        others = [one for one in tables if one.readable and one.path not in covered]
        if others:
            own = self._place(others[0].path)
            yield (
                f"Tables without a readable primary key are left out: {self._listed(others)}. Give "
                f'them one, or add a line to nodes, as in "{own}: id={own}:COLUMN".'
            )
        refused = [
            f"{self._place(one.path)}.{', '.join(reference.columns)}"
            for one in self.tables
            if one.path in self.keys
            for reference in one.references
            if not (self._end(reference) and self._has(one, reference))
        ]
        if refused:
            yield (
                f"Foreign keys are left out: {listing(refused, SHOWN)}. They refer to tables that "
                "are left out, or to other columns than the primary key."
            )
        if self.empty:
            yield f"Tables without rows: {listing([self._place(p) for p in self.empty], SHOWN)}."
        views = [one for one in self.tables if one.kind not in "rp"]
        if views:
            own = self._place(views[0].path)
            yield (
                f"Views and foreign tables are left out: {self._listed(views)}. To add one, give "
                f'its key in a line of nodes, as in "{own}: id={own}:COLUMN".'
            )

    def _role(self) -> str:
        return identifier(self.catalogue.role)

    def _listed(self, tables: Sequence[KeyedTable]) -> str:
        return listing([self._place(one.path) for one in tables], SHOWN)


def _full(schema: str, name: str) -> str:
    """A table with its schema, in one way: only the point between them is a point."""
    return ".".join(one.replace("%", "%25").replace(".", "%2E") for one in (schema, name))


def _id(label: str, columns: Sequence[str]) -> str:
    return ":".join(map(_name, (label, *columns)))


def _name(name: str) -> str:
    """A name as the settings read it."""
    return name if _PLAIN.fullmatch(name) else identifier(name)
