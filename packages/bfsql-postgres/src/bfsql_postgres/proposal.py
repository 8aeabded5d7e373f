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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any

from bfsql.errors import StoreError, listing
from bfsql.plugins import Proposal, ProposedSetting, display_name
from bfsql_postgres.failures import grant
from bfsql_postgres.schema import CATALOGUE, Catalogue, Path, Reference, read
from bfsql_postgres.settings import PostgresSettings, by_table, predicate_of, quoted, spelled_name
from bfsql_postgres.sql import identifier, literal, qualified, union

SAMPLE_ROWS = 500
"""First rows of a table by which the column of names is chosen."""

_TEXTS = frozenset({"text", "varchar", "bpchar", "citext"})

TABLES = """
SELECT n.nspname, c.relname, c.relkind IN ('r', 'p')
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_'
    AND n.nspname <> 'information_schema' AND ($1::text IS NULL OR n.nspname = $1)
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits AS i WHERE i.inhrelid = c.oid)
    AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_depend AS d
        WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
    )
ORDER BY 1, 2
"""
"""The tables of a schema, or of all, and whether they are no views or foreign tables; without those
of extensions, and without partitions, which are read through their parents.
"""


async def proposed(
    database: Any, settings: PostgresSettings
) -> tuple[PostgresSettings, Catalogue, Proposal] | None:
    """The settings with a mapping for the tables of a database, and what was read for it.

    None if the database has no tables with a key. If the settings have a schema, no other is read.

    Raises:
        StoreError: No table refers to another, or the role may not read the tables or their keys.
    """
    given = settings.schema_ if "schema_" in settings.model_fields_set else None
    tables = {(schema, name): own for schema, name, own in await database.fetch(TABLES, given)}
    plain = [path for path, own in tables.items() if own and "".join(path).isprintable()]
    [[text]] = await database.fetch(CATALOGUE, [one for one, _ in plain], [one for _, one in plain])
    mapping = _Mapping(tables, read(text), settings.schema_)
    if not mapping.keys:
        if lacking := mapping.lacking_rights():
            raise StoreError(lacking)
        return None
    proposal = mapping.proposal(await database.fetch(mapping.samples()))
    found = {one.field: one.value for one in proposal.settings}
    whole = PostgresSettings.model_validate({**settings.model_dump(by_alias=False), **found})
    return whole, mapping.catalogue, proposal


class _Mapping:
    """The reading of some tables, as settings."""

    def __init__(self, found: Mapping[Path, bool], catalogue: Catalogue, schema: str) -> None:
        self.catalogue, self._schema = catalogue, schema
        plain = {path: own for path, own in found.items() if "".join(path).isprintable()}
        self._views = [path for path, is_table in plain.items() if not is_table]
        relations = catalogue.relations
        usable = {
            path: [key for key in one.keys if self._can_name(path, key)]
            for path, one in relations.items()
        }
        self.keys = {path: keys[0] for path, keys in usable.items() if keys}
        targets = {key.target for one in relations.values() for key in one.references}
        self._links = [path for path in relations if path not in targets and self._is_link(path)]
        for path in self._links:
            self.keys.pop(path, None)
        names = Counter([*(name for _, name in self.keys), *starmap(_full, self.keys)])
        self._types = {path: path[1] if names[path[1]] == 1 else _full(*path) for path in self.keys}
        used = [(path, key) for path, own in relations.items() for key in own.keys]
        used += [(path, one.columns) for path, own in relations.items() for one in own.references]
        odd = [(*path, one) for path, columns in used for one in columns if not one.isprintable()]
        self._odd = [*(path for path in found if path not in plain), *dict.fromkeys(odd)]

    def _can_name(self, path: Path, columns: Iterable[str]) -> bool:
        """Whether the role may read some columns, and settings can name them."""
        known = self.catalogue.relations[path].columns
        return all(one in known and one.isprintable() for one in columns)

    def _is_link(self, path: Path) -> bool:
        """Whether a table is little more than two foreign keys.

        They identify a row, or nothing does, or it has no other columns than a number.
        """
        own = self.catalogue.relations[path]
        ends = {name for one in own.references for name in one.columns}
        return len([key for _, key in self._ends(path) if key]) == len(own.references) == 2 and (
            not own.keys
            or any(set(key) == ends for key in own.keys)
            or own.columns.keys() <= {*ends, *own.keys[0]}
        )

    def _ends(self, path: Path) -> Iterator[tuple[Reference, list[str]]]:
        """The foreign keys that can be named, each with its columns in the order of the key.

        These are empty if the target is not a table of nodes, or has another key.
        """
        for one in self.catalogue.relations[path].references:
            if self._can_name(path, one.columns):
                key, own = self.keys.get(one.target, ()), {to: column for column, to in one.pairs}
                yield one, [own[to] for to in key] if set(key) == set(own) else []

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

    def _texts(self, path: Path) -> list[str]:
        """The columns of text that are not keys."""
        own = self.catalogue.relations[path]
        keys = {*self.keys[path], *(name for one in own.references for name in one.columns)}
        texts = [one.name for one in own.columns.values() if one.type in _TEXTS]
        return [name for name in texts if name not in keys and name.isprintable()]

    # --- settings ---------------------------------------------------------------

    def proposal(self, samples: Sequence[Any]) -> Proposal:
        """The mapping as settings, with what it leaves out; the rows of `samples` choose names."""
        self._rows = {(schema, name): (rows, counts) for schema, name, rows, counts in samples}
        nodes = [*map(self._nodes, self.keys)]
        links = [*map(self._link, self._links)]
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
            ProposedSetting("nodes", nodes, why, by_table(nodes)),
            ProposedSetting("edges", links + edges, shown, by_table(links + edges)),
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
        rows, counts = self._rows[path]
        name = display_name(dict(zip(self._texts(path), counts, strict=True)), rows)
        parts = [f"id={self._id(path)}"]
        parts += [f"type={quoted(self._types[path])}"] if self._types[path] != path[1] else []
        parts += [f"name={spelled_name(name)}"] if name not in (None, "name") else []
        columns = self.catalogue.relations[path].columns
        parts += [f"aliases={one}" for one in ("aliases", "synonyms") if one in columns][:1]
        return f"{self._place(path)}: {', '.join(parts)}"

    def _link(self, path: Path) -> str:
        subject, obj = (self._id(one.target, key) for one, key in self._ends(path))
        return f"{self._place(path)}: subject={subject}, object={obj}"

    def _edges(self, path: Path) -> Iterator[str]:
        known = [(one, key) for one, key in self._ends(path) if key]
        names = [predicate_of(one.columns, self._types[one.target]) for one, _ in known]
        for (one, key), name in zip(known, names, strict=True):
            ends = f"subject={self._id(path)}, object={self._id(one.target, key)}"
            longer = f", predicate={quoted('_'.join(one.columns))}" if names.count(name) > 1 else ""
            yield f"{self._place(path)}: {ends}{longer}"

    def _id(self, path: Path, columns: Sequence[str] = ()) -> str:
        """The ids of a table of nodes, in its own columns or in others."""
        return ":".join(map(spelled_name, (self._types[path], *(columns or self.keys[path]))))

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
        paths = self.catalogue.relations
        denied = {path: own for path in paths if (own := self._denied(path)) is not None}
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
        relation = self.catalogue.relations[path]
        if relation.unreadable and not relation.columns:
            return []
        needed = [name for one in relation.references for name in one.columns]
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
        known = {*self.keys, *self._links, *(one[:2] for one in self._odd)}
        others = [path for path in self.catalogue.relations if path not in known]
        if others := [path for path in others if self._denied(path) is None]:
            yield (
                f"Tables without a primary key are left out: {self._listed(others)}. Give them "
                f"one, or add a line to nodes, as in {self._line(others)}."
            )
        refused = [(path, one) for path in self.keys for one, key in self._ends(path) if not key]
        if beyond := [key for key in refused if key[1].target not in self.keys]:
            yield f"Foreign keys to tables that are left out: {self._columns_of(beyond)}."
        if to_others := [key for key in refused if key[1].target in self.keys]:
            view, line = self._view(*to_others[0])
            yield (
                "Foreign keys are left out that refer to other columns than the primary key: "
                f"{self._columns_of(to_others)}. To read the first one, have the owner run: {view} "
                f"Then add a line to edges: {line}."
            )
        if empty := [path for path, (rows, _) in self._rows.items() if not rows]:
            yield f"Tables without rows: {self._listed(empty)}."
        if self._views:
            yield (
                f"Views and foreign tables are left out: {self._listed(self._views)}. To add one, "
                f"give its key in a line of nodes, as in {self._line(self._views)}."
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
        predicate = predicate_of(reference.columns, self._types[reference.target])
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
        prefix = _full(*path) if path[1] in self._types.values() else path[1]
        return _argument(f"{self._place(path)}: id={spelled_name(prefix)}:COLUMN")


def _full(schema: str, name: str) -> str:
    """A table with its schema, in one way: only the point between them is a point."""
    return ".".join(one.replace("%", "%25").replace(".", "%2E") for one in (schema, name))


def _argument(line: str) -> str:
    """A line of the settings as an argument on a command line."""
    return shlex.quote(line) if re.search(r'["$`\\!]', line) else f'"{line}"'
