"""A mapping for a database as it is, from its primary and foreign keys.

A table with a key is a type of nodes, and a foreign key of it a predicate. A table that is little
more than two foreign keys is a predicate, and its other columns are properties of the edges.
Nothing is counted: the catalogue is read, and the first rows of each table for the choice of names.
"""
# ruff: noqa: S608 - these texts are made of quoted names

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from bfsql.errors import StoreError, listing
from bfsql.plugins import Proposal, ProposedSetting, display_name
from bfsql_postgres.failures import grant
from bfsql_postgres.schema import CATALOGUE, Catalogue, Path, read
from bfsql_postgres.settings import PostgresSettings, predicate_of, quoted, spelled_name
from bfsql_postgres.sql import identifier, literal, qualified, union

SAMPLE_ROWS = 500
"""First rows of a table by which the column of names is chosen."""

_TEXTS = frozenset({"text", "varchar", "bpchar", "citext"})

TABLES = """
SELECT coalesce(json_agg(json_build_object(
    'path', json_build_array(n.nspname, c.relname), 'kind', c.relkind,
    'readable', has_schema_privilege(n.oid, 'USAGE')
        AND has_any_column_privilege(c.oid, 'SELECT'),
    'references', ARRAY(
        SELECT json_build_object(
            'target', json_build_array(tn.nspname, t.relname),
            'pairs', (
                SELECT json_agg(json_build_array(a.attname, b.attname) ORDER BY p)
                FROM generate_subscripts(k.conkey, 1) AS p
                JOIN pg_catalog.pg_attribute AS a
                    ON a.attrelid = k.conrelid AND a.attnum = k.conkey[p]
                JOIN pg_catalog.pg_attribute AS b
                    ON b.attrelid = k.confrelid AND b.attnum = k.confkey[p]
            )
        )
        FROM pg_catalog.pg_constraint AS k
        JOIN pg_catalog.pg_class AS t ON t.oid = k.confrelid
        JOIN pg_catalog.pg_namespace AS tn ON tn.oid = t.relnamespace
        WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.conparentid = 0
        ORDER BY k.conkey, k.conname
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
read through their parents; with their foreign keys.
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

    def in_order(self, key: Sequence[str]) -> list[str]:
        """Its columns in the order of the target's key; empty if it refers to other columns."""
        by_target = {target: own for own, target in self.pairs}
        return [by_target[one] for one in key] if set(key) == set(by_target) else []


@dataclass(frozen=True, slots=True)
class LinkedTable:
    """A table with its foreign keys."""

    path: Path
    kind: str
    readable: bool
    references: tuple[Reference, ...]


async def proposed(
    database: Any, settings: PostgresSettings
) -> tuple[PostgresSettings, Catalogue, Proposal] | None:
    """The settings with a mapping for the tables of a database, and what was read for it.

    None if the database has no tables with a key. If the settings have a schema, no other is read.

    Raises:
        StoreError: No table refers to another, or the role may not read the tables or their keys.
    """
    given = settings.schema_ if "schema_" in settings.model_fields_set else None
    [[text]] = await database.fetch(TABLES, given)
    tables = TypeAdapter(list[LinkedTable]).validate_json(text)
    odd = [one.path for one in tables if not _is_plain(one.path)]
    tables = [one for one in tables if _is_plain(one.path)]
    paths = [one.path for one in tables if one.readable and one.kind in "rp"]
    [[text]] = await database.fetch(CATALOGUE, [one for one, _ in paths], [one for _, one in paths])
    mapping = _Mapping(tables, read(text), settings, odd)
    if not mapping.keys:
        if lacking := mapping.lacking_rights():
            raise StoreError(lacking)
        return None
    mapping.choose_names(await database.fetch(mapping.samples()))
    proposal = mapping.proposal()
    found = {one.field: one.value for one in proposal.settings}
    whole = PostgresSettings.model_validate({**settings.model_dump(by_alias=False), **found})
    return whole, mapping.catalogue, proposal


class _Mapping:
    """The types and predicates of some tables."""

    def __init__(
        self,
        tables: Sequence[LinkedTable],
        catalogue: Catalogue,
        settings: PostgresSettings,
        odd: Sequence[Path],
    ) -> None:
        self.catalogue, self._schema, self._all = catalogue, settings.schema_, tables
        self._tables = {one.path: one for one in tables if one.kind in "rp"}
        self._columns = {path: one.columns for path, one in catalogue.relations.items()}
        self._odd: dict[tuple[str, ...], None] = dict.fromkeys(odd)
        self.keys = {
            path: key
            for path, own in catalogue.relations.items()
            for key in [one for one in own.keys if self._is_writable(path, one)][:1]
        }
        for path, one in self._tables.items():
            self._is_writable(path, [name for own in one.references for name in own.columns])
        used = {reference.target for one in tables for reference in one.references}
        self._links = {
            path for path, one in self._tables.items() if path not in used and self._is_link(one)
        }
        self.keys = {path: key for path, key in self.keys.items() if path not in self._links}
        times = Counter(name for _, name in self.keys)
        full = {_full(*path) for path in self.keys}
        self._labels = {
            (schema, name): name if times[name] == 1 and name not in full else _full(schema, name)
            for schema, name in self.keys
        }
        self._names: dict[Path, str | None] = {}
        self._empty: list[Path] = []

    def _is_writable(self, path: Path, columns: Sequence[str]) -> bool:
        """Whether columns can be named in settings; what cannot is among what is left out."""
        odd = [(*path, column) for column in columns if not _is_plain((column,))]
        self._odd.update(dict.fromkeys(odd))
        return not odd

    def _has(self, path: Path, columns: Sequence[str]) -> bool:
        """Whether the role may read some columns."""
        return self._columns.get(path, {}).keys() >= set(columns)

    def _is_link(self, table: LinkedTable) -> bool:
        """Whether a table is little more than two foreign keys.

        They identify a row, or nothing does, or it has no other columns than a number.
        """
        ends = {name for one in table.references for name in one.columns}
        return (
            len(table.references) == 2  # the ends of an edge
            and all(self._end_columns(table.path, one) for one in table.references)
            and (
                not (keys := self.catalogue.relations[table.path].keys)
                or any(set(key) == ends for key in keys)
                or self._columns[table.path].keys() <= {*ends, *keys[0]}
            )
        )

    def _end_columns(self, path: Path, reference: Reference) -> list[str]:
        """The columns of an edge's end, empty if it is not a key of a table of nodes."""
        columns = reference.in_order(self.keys.get(reference.target, ()))
        return columns if self._has(path, columns) and self._is_writable(path, columns) else []

    # --- names ----------------------------------------------------------------

    def samples(self) -> str:
        """The statement that counts the values in the texts of the first rows of each table.

        A row: schema and name of the table, number of rows, number of values of each text.
        """
        arms = []
        for path, key in self.keys.items():
            texts = [identifier(name) for name in self._texts(path)]
            counts = ", ".join(f"count(DISTINCT left(x.{one}::text, 200))" for one in texts)
            arms.append(
                f"SELECT {literal(path[0])}, {literal(path[1])}, count(*), "
                f"ARRAY[{counts}]::bigint[] FROM (SELECT {', '.join(texts)} FROM "
                f"{qualified(*path)} ORDER BY {', '.join(map(identifier, key))} LIMIT {SAMPLE_ROWS}"
                ") AS x"
            )
        return union(arms)

    def choose_names(self, samples: Sequence[Any]) -> None:
        """Choose the column of names of each table, by the rows of `samples`."""
        for schema, name, rows, counts in samples:
            different = dict(zip(self._texts((schema, name)), counts, strict=True))
            self._names[schema, name] = display_name(different, rows)
            self._empty += [] if rows else [(schema, name)]

    def _texts(self, path: Path) -> list[str]:
        """The columns of text that are not keys."""
        keys = {name for one in self._tables[path].references for name in one.columns}
        keys.update(self.keys[path])
        columns = self._columns[path].values()
        texts = [one.name for one in columns if one.type in _TEXTS and one.name not in keys]
        return list(filter(str.isprintable, texts))

    # --- settings ---------------------------------------------------------------

    def proposal(self) -> Proposal:
        """The mapping as settings, with what it leaves out."""
        nodes = [self._nodes(path) for path in self.keys]
        links = [self._link(path) for path in self._tables if path in self._links]
        edges = [line for path in self.keys for line in self._edges(path)]
        left_out = tuple(self._left_out())
        denied, grants = self._rights()
        number = f"{len(denied)} table{'s' * (len(denied) > 1)}"
        withheld = f"{number} without SELECT: {listing(denied, 8)}" if denied else ""
        if not (links or edges):
            raise StoreError(self.lacking_rights() or " ".join([self._nothing(), *left_out]))
        why = "primary or unique keys; names from name, title, label or the text that differs most"
        numbers = {"foreign keys": len(edges), "tables of two foreign keys": len(links)}
        shown = ", ".join(f"{number} {what}" for what, number in numbers.items() if number)
        chosen = (
            ProposedSetting("nodes", nodes, why),
            ProposedSetting("edges", links + edges, shown),
        )
        return Proposal(chosen, left_out, withheld=withheld, remedy=grants)

    def _nothing(self) -> str:
        *_, path = self.keys
        place, own = self._place(path), self._id(path)
        edges = f"{place}: subject={own}, object={self._id(path, ['parent_id'])}"
        return (
            f"The database has {len(self.keys)} tables with a key and no foreign key, so nothing "
            "says which rows belong together. Describe the edges too, as in --nodes "
            f"{_argument(self._nodes(path))} --edges {_argument(edges)}"
        )

    def _nodes(self, path: Path) -> str:
        name, columns = self._names[path], self._columns[path]
        parts = [f"id={self._id(path)}"]
        parts += [f"type={quoted(self._labels[path])}"] if self._labels[path] != path[1] else []
        parts += [f"name={spelled_name(name)}"] if name not in (None, "name") else []
        parts += [f"aliases={one}" for one in ("aliases", "synonyms") if one in columns][:1]
        return f"{self._place(path)}: {', '.join(parts)}"

    def _link(self, path: Path) -> str:
        subject, obj = (self._end(path, one) for one in self._tables[path].references)
        return f"{self._place(path)}: subject={subject}, object={obj}"

    def _edges(self, path: Path) -> Iterator[str]:
        known = [one for one in self._tables[path].references if self._end_columns(path, one)]
        names = [predicate_of(one.columns, self._labels[one.target]) for one in known]
        for one, name in zip(known, names, strict=True):
            ends = f"subject={self._id(path)}, object={self._end(path, one)}"
            longer = f", predicate={quoted('_'.join(one.columns))}" if names.count(name) > 1 else ""
            yield f"{self._place(path)}: {ends}{longer}"

    def _end(self, path: Path, reference: Reference) -> str:
        return self._id(reference.target, self._end_columns(path, reference))

    def _id(self, path: Path, columns: Sequence[str] = ()) -> str:
        """The ids of a table of nodes, in its own columns or in others."""
        return ":".join(map(spelled_name, (self._labels[path], *(columns or self.keys[path]))))

    def _place(self, path: Path) -> str:
        return ".".join(map(spelled_name, path[1:] if path[0] == self._schema else path))

    # --- what is left out ---------------------------------------------------------

    def lacking_rights(self) -> str:
        """What the role may not read, with the statements that allow it; empty if it may."""
        denied, grants = self._rights()
        role, shown = self.catalogue.role, listing(denied, 8)
        said = f"The role {role!r} may not read {shown}. Have their owner run: {grants}"
        return said if denied else ""

    def _rights(self) -> tuple[list[str], str]:
        """What the role may not read, and the statements that allow it."""
        denied = {path: own for path in self._tables if (own := self._denied(path)) is not None}
        if not denied:
            return [], ""
        role, schemas = self.catalogue.role, ", ".join({identifier(one): None for one, _ in denied})
        grants = [grant(role, qualified(*path), own) for path, own in denied.items()]
        if len(grants) > 8:
            grants = [grant(role, f"ALL TABLES IN SCHEMA {schemas}")]
        usage = f"GRANT USAGE ON SCHEMA {schemas} TO {identifier(role)}; {' '.join(grants)}"
        return [self._column(path, own) for path, own in denied.items()], usage

    def _denied(self, path: Path) -> list[str] | None:
        """The columns of keys that the role may not read; empty for a whole table, None for none.

        Those of a primary key do not matter if the table has another key, or needs none.
        """
        if (relation := self.catalogue.relations.get(path)) is None:
            return []
        needed = [name for one in self._tables[path].references for name in one.columns]
        if path not in self.keys and path not in self._links:
            needed += [name for one in relation.indexes if one.primary for name in one.keys]
        return [one for one in dict.fromkeys(needed) if one in relation.unreadable] or None

    def _left_out(self) -> Iterator[str]:
        if self._odd:
            names = [".".join(map(repr, one)) for one in self._odd]
            yield (
                "Tables and columns of keys are left out whose names have characters that cannot "
                f"be printed: {listing(names, 8)}. Have their owner rename them."
            )
        known = self.keys.keys() | self._links
        known |= {(one[0], one[1]) for one in self._odd}
        if others := [one for one in self._tables.keys() - known if self._denied(one) is None]:
            yield (
                f"Tables without a primary key are left out: {self._listed(others)}. Give them "
                f"one, or add a line to nodes, as in {self._line(others)}."
            )
        refused = [
            (path, one)
            for path in self.keys
            for one in self._tables[path].references
            if self._has(path, one.columns) and self._is_writable(path, one.columns)
            if not self._end_columns(path, one)
        ]
        if beyond := [key for key in refused if key[1].target not in self.keys]:
            yield f"Foreign keys to tables that are left out: {self._columns_of(beyond)}."
        if to_others := [key for key in refused if key[1].target in self.keys]:
            view, line = self._view(*to_others[0])
            yield (
                "Foreign keys are left out that refer to other columns than the primary key: "
                f"{self._columns_of(to_others)}. To read the first one, have the owner run: {view} "
                f"Then add a line to edges: {line}."
            )
        if self._empty:
            yield f"Tables without rows: {self._listed(self._empty)}."
        if views := [one.path for one in self._all if one.kind not in "rp"]:
            yield (
                f"Views and foreign tables are left out: {self._listed(views)}. To add one, give "
                f"its key in a line of nodes, as in {self._line(views)}."
            )

    def _view(self, path: Path, reference: Reference) -> tuple[str, str]:
        """A view of the edges of a foreign key to other columns than the key, and its line."""
        ends, shown = {"subject": path, "object": reference.target}, []
        terms = []
        for alias, end in ends.items():
            columns = {f"{alias}_{n}": column for n, column in enumerate(self.keys[end], 1)}
            shown += [f"{alias}.{identifier(own)} AS {name}" for name, own in columns.items()]
            terms.append(f"{alias}={self._id(end, [*columns])}")
        name = (path[0], "_".join((path[1], *reference.columns)))
        same = [f"subject.{identifier(a)} = object.{identifier(b)}" for a, b in reference.pairs]
        statement = (
            f"CREATE VIEW {qualified(*name)} AS SELECT {', '.join(shown)} FROM {qualified(*path)} "
            f"AS subject JOIN {qualified(*reference.target)} AS object ON {' AND '.join(same)};"
        )
        predicate = predicate_of(reference.columns, self._labels[reference.target])
        terms.append(f"predicate={quoted(predicate)}")
        return statement, _argument(f"{self._place(name)}: {', '.join(terms)}")

    def _columns_of(self, keys: Sequence[tuple[Path, Reference]]) -> str:
        return listing([self._column(path, one.columns) for path, one in keys], 8)

    def _column(self, path: Path, columns: Sequence[str]) -> str:
        return ".".join(filter(None, (self._place(path), ", ".join(columns))))

    def _listed(self, paths: Collection[Path]) -> str:
        return listing([self._place(path) for path in sorted(paths)], 8)

    def _line(self, paths: Collection[Path]) -> str:
        path = min(paths)
        prefix = _full(*path) if path[1] in self._labels.values() else path[1]
        return _argument(f"{self._place(path)}: id={spelled_name(prefix)}:COLUMN")


def _is_plain(names: Sequence[str]) -> bool:
    """Whether names can be written in settings."""
    return all(map(str.isprintable, names))


def _full(schema: str, name: str) -> str:
    """A table with its schema, in one way: only the point between them is a point."""
    return ".".join(one.replace("%", "%25").replace(".", "%2E") for one in (schema, name))


def _argument(line: str) -> str:
    """A line of the settings as an argument on a command line."""
    return shlex.quote(line) if re.search(r'["$`\\!]', line) else f'"{line}"'
