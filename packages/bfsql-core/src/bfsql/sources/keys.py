"""Which column of a table is its key, its name, or a reference to the key of another table.

Declared keys count first, then names together with values, then values alone. Names are compared
by their words, in the singular and without words for ids: `home_team_id` refers to `teams`. A share
of the values decides, so that some unknown references change nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from operator import attrgetter
from typing import Literal

import numpy as np

from bfsql.arrays import LongArray
from bfsql.sources.profiles import (
    MISSING,
    UNIQUE,
    ColumnProfile,
    TableProfile,
    Values,
    different_rows,
    hashes_of,
    key_text,
    keys_of,
    profile,
    row_hash,
    text_of,
)
from bfsql.sources.relational import RelationalTable

NAMED, ALONE = 0.5, 0.85
"""Share of values that are keys, from which a column with a name like its table's, or with any
name, is a reference. A tenth of unknown references still leaves the second."""
_FREQUENT, _NEAR = 100, 12
"""Most values of a column by which the tables that may have them are found, and most of these."""

_ID = frozenset(
    (
        *("id", "ids", "identifier", "code", "codes", "key", "keys", "no", "nr", "num", "number"),
        *("uuid", "guid", "uri", "iri", "fk"),
    )
)
"""Words that say that a column is a key or refers to one."""
_PLAIN = _ID | {"label", "doi", "isbn", "name", "column"}
"""Names of keys that say nothing about their table; `column_1` is that of one without a name."""
_REFERS = frozenset(
    (
        *("by", "to", "via", "parent", "manager", "boss", "supervisor", "owner", "leader", "head"),
        *("author", "mother", "father", "spouse"),
    )
)
"""Words at the end of a name that say that it refers to something, not to which table."""
_SELF = frozenset(("parent", "prev", "previous", "next", "super"))
_WORD = re.compile(r"\d+|[^\W\d_]+")
_CAMEL = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman"}
_SAME = frozenset(("series", "species", "news", "timeseries", "obs"))
_IE = ("movies", "cookies", "calories", "zombies", "selfies", "pixies", "rookies", "ties", "pies")


def words(name: str) -> list[str]:
    """The words of a name, in lower case."""
    return [one.lower() for run in _WORD.findall(name) for one in _CAMEL.split(run)]


@cache
def singular(word: str) -> str:
    """An English word in the singular, where that is plain."""
    low = word.lower()
    if low in _IRREGULAR:
        return word[0] + _IRREGULAR[low][1:]
    if low in _SAME or len(low) < 3 or not low.endswith("s") or low.endswith(("ss", "us", "is")):
        return word
    if low.endswith("ies") and low not in _IE:
        return word[:-3] + "y"
    if low.endswith("yses"):
        return word[:-2] + "is"
    es = low.endswith(("ches", "shes", "xes", "sses")) or re.search("[^aeo]uses$", low)
    return word[:-2] if es else word[:-1]


def type_of(table: str) -> str:
    """The type of the nodes of a table: its name with the last word in the singular."""
    found = re.search(r"[^\W\d_]+(?=[\W\d_]*$)", table)
    if found is None:
        return table
    word = _CAMEL.split(found[0])[-1]
    return table[: found.end() - len(word)] + singular(word) + table[found.end() :]


def _stem(name: str) -> tuple[str, ...]:
    """The words of a column without those for ids, numbers at the end, and in the singular."""
    found = words(name)
    while len(found) > 1 and (found[-1] in _ID or found[-1].isdecimal()):
        found.pop()
    while len(found) > 1 and found[0] in {"id", "fk", "pk", "ref"}:
        found.pop(0)
    return (*found[:-1], singular(found[-1])) if found else (name,)


def predicate_of(column: str) -> str:
    """The predicate of a reference: its column without a word for ids at its end."""
    return re.sub(r"(?<=.)(?:[\s._-]+(?:id|ID|Id)|(?<=[^\W\d_A-Z])I[dD])\Z", "", column)


@dataclass(slots=True)
class Reference:
    """A column that holds keys of other rows, or several that form one."""

    columns: tuple[str, ...]
    to: tuple[str, ...]
    """The tables that it refers to, by name; a value is looked for in the first one first."""
    predicate: str
    several: bool = False
    """Whether a cell holds several ids, or numbers with a decimal point."""
    reason: str = ""
    share: float = 1.0
    """The share of values that are keys, in the first rows."""
    is_named: bool = True
    """Whether its name, or a declaration, says it."""
    is_complete: bool = False
    """Whether all values were compared, and are keys."""

    @property
    def sureness(self) -> str:
        """Why it is one, in a few words."""
        if self.reason:
            return self.reason
        return f"{'name' if self.is_named else 'values'}, {self.share:.0%}"


@dataclass(slots=True)
class TableReading:
    """What a table is read as."""

    table: RelationalTable
    name: str
    """Its name, which no other table has."""
    kind: Literal["nodes", "edges", "left out"] = "nodes"
    type: str = ""
    """The type of its nodes; the predicate of its edges."""
    key: tuple[str, ...] = ()
    """The columns of the key; without any, each different row is a node."""
    key_reason: str = ""
    name_column: str | None = None
    references: list[Reference] = field(default_factory=list)
    """Those of nodes; of edges the subject and the object."""
    candidates: list[tuple[str, str]] = field(default_factory=list)
    """Columns that are not read, since they may refer to several tables, and these."""
    keys: LongArray = field(default_factory=lambda: np.empty(0, np.int64))
    """The hashes of the keys of its rows."""
    rows: int | None = None
    """The number of rows; None if it was not counted."""
    is_alone: bool = True
    """Whether its file has no other table."""

    def places(self, columns: Sequence[str]) -> list[int]:
        """The positions of columns in a row."""
        names = [column.name for column in self.table.columns]
        return [names.index(column) for column in columns]


def summary(readings: Iterable[TableReading]) -> list[tuple[str, ...]]:
    """How tables are read: a row for each table, and for each of its references, indented.

    A row has the table or the columns, the number of rows, what they are read as, and why.
    """
    rows: list[tuple[str, ...]] = []
    for one in readings:
        parts = [f"{one.kind} {one.type}".rstrip()]
        if one.kind == "nodes":
            parts.append(f"key {', '.join(one.key)}" if one.key else "each different row")
            parts += [f"name {one.name_column}"] if one.name_column else []
        number = "" if one.rows is None else f"{one.rows:,}"
        rows.append((one.name, number, ", ".join(parts), one.key_reason))
        for ref in one.references:
            to = " or ".join(ref.to)
            rows.append((f"  {', '.join(ref.columns)}", "", f"-> {to}", ref.sureness))
        rows += [(f"  {column}", "", f"-> {to}?", "not read") for column, to in one.candidates]
    return rows


def read_keys(tables: Sequence[RelationalTable], nulls: Collection[str]) -> list[TableReading]:
    """The reading of tables that may refer to each other.

    Args:
        tables: The tables.
        nulls: Texts that count as empty.
    """
    return _Reader(tables, nulls).read()


def names_of(tables: Sequence[RelationalTable]) -> list[str]:
    """A name for each table: its own, after that of its folder or file where another has it."""
    names = [table.name for table in tables]
    for above in map(attrgetter, ("path.parent.name", "path.name")):
        counts, pairs = Counter(names), zip(map(above, tables), names, strict=True)
        names = [name if counts[name] == 1 else f"{first}.{name}" for first, name in pairs]
    return names


class _Reader:
    def __init__(self, tables: Sequence[RelationalTable], nulls: Collection[str]) -> None:
        self._nulls = nulls
        self._missing = hashes_of(("", *MISSING, *nulls))
        self._profiles: dict[str, TableProfile] = {}
        self._readings: dict[str, TableReading] = {}
        files = Counter(table.path for table in tables)
        for name, table in zip(names_of(tables), tables, strict=True):
            self._profiles[name] = one = profile(table, nulls)
            reading = TableReading(table, name, type=type_of(name))
            reading.rows = one.sampled if one.is_whole else None
            reading.is_alone = files[table.path] == 1
            self._readings[name] = reading
        self._stems = _table_stems([*self._readings])
        self._targets: dict[str, TableReading] = {}

    def read(self) -> list[TableReading]:
        """The readings, in the order of the tables."""
        for name in self._readings:
            self._choose_key(name)
        self._targets = {name: one for name, one in self._readings.items() if len(one.key) == 1}
        self._index()
        declared = {name: [*self._declared(name)] for name in self._readings}
        for name in self._readings:  # a key that is another table's is no target
            key = self._readings[name].key
            if len(key) == 1 and self._key_reference(name, declared[name]) is not None:
                self._targets.pop(name)
        self._index()
        for name, found in declared.items():
            self._readings[name].references = [*found, *self._named(name, found)]
        for name in self._readings:
            self._add_by_values(name)
        targets = {to for one in self._readings.values() for ref in one.references for to in ref.to}
        for name in self._readings.keys() - targets:
            self._choose_kind(name)
        for name in self._readings:
            self._choose_name(name)
        return [*self._readings.values()]

    # --- keys -----------------------------------------------------------------------

    def _choose_key(self, name: str) -> None:
        reading, known = self._readings[name], self._profiles[name]
        if reading.table.key:
            reading.key, reading.key_reason = reading.table.key, "declared"
            reading.keys, reading.rows = keys_of(reading.table, reading.places(reading.key))
            return
        for column in self._candidates(name):
            if known.is_whole:
                keys, rows = np.sort(column.values.hashes), known.sampled
            else:
                keys, rows = keys_of(reading.table, [column.place])
                reading.rows = rows
                if len(keys) < UNIQUE * rows and len(keys) < UNIQUE * different_rows(reading.table):
                    continue
            reading.key, reading.keys = (column.name,), keys
            share = len(keys) / max(1, rows)
            is_named = self._rank(name, column) in {0, 1, 2, 4}
            reading.key_reason = "name" if is_named else "first unique"
            reading.key_reason += "" if share == 1 else f", {share:.2%}"
            return

    def _candidates(self, name: str) -> list[ColumnProfile]:
        """The columns that can be the key, the likeliest first."""
        known = self._profiles[name]
        different = UNIQUE * known.distinct / max(1, known.sampled)
        unique = [
            column
            for column in known.columns.values()
            if column.kind in {"whole", "text"}
            and column.different >= different
            and column.filled >= different
        ]
        return sorted(unique, key=lambda column: self._rank(name, column))

    def _rank(self, name: str, column: ColumnProfile) -> int:
        """How much the name of a column is that of a key of its table; less is more."""
        own, stem = self._stems[name], "".join(_stem(column.name))
        plain = "".join(words(column.name))
        if plain in {"id", "uuid", "guid", "identifier"}:
            return 0
        if stem == own:
            return 1
        if plain in _PLAIN - {"name"} or (plain == "name" and not column.place):
            return 2
        first = column.place == 0 and column.kind == "text"  # a short form beside its name
        return 3 if first else 4 if plain == "name" else 5

    # --- references -----------------------------------------------------------------

    def _index(self) -> None:
        """Make the targets findable by their words and by their keys."""
        self._told = defaultdict[str, list[TableReading]](list)
        targets = [*self._targets.values()]
        for one in targets:
            for text in {self._stems[one.name], *({"".join(_stem(one.key[0]))} - _PLAIN)}:
                self._told[text].append(one)
        keys = np.concatenate([np.empty(0, np.int64), *(one.keys for one in targets)])
        order = np.argsort(keys, kind="stable")
        numbers = np.repeat(np.arange(len(targets)), [len(one.keys) for one in targets])
        self._keys, self._owners = keys[order], numbers[order]

    def _holding(self, values: Values) -> list[TableReading]:
        """The tables that have most of the most frequent values as keys."""
        most = np.argsort(-values.weights)[:_FREQUENT]
        starts = np.searchsorted(self._keys, values.hashes[most])
        ends = np.searchsorted(self._keys, values.hashes[most], side="right")
        owners = [self._owners[start:end] for start, end in zip(starts, ends, strict=True)]
        counts = np.bincount(np.concatenate([*owners, self._owners[:0]]), minlength=1)
        targets = [*self._targets.values()]
        return [targets[n] for n in np.argsort(-counts)[:_NEAR] if counts[n]]

    def _share(self, column: ColumnProfile, target: TableReading) -> tuple[float, bool]:
        """The share of values that are keys of a table, and whether their parts are."""
        whole = column.values.share(target.keys, self._missing)
        if column.parts is None:
            return whole, False
        parts = column.parts.share(target.keys, self._missing)
        return (parts, True) if parts > whole else (whole, False)

    def _declared(self, name: str) -> Iterator[Reference]:
        for one in self._readings[name].table.foreign_keys:
            target = next((r for r in self._readings.values() if r.table.name == one.table), None)
            if target is not None and (not one.referred or set(one.referred) == set(target.key)):
                order = one.referred or target.key
                columns = tuple(one.columns[order.index(key)] for key in target.key)
                single = len(columns) == 1
                predicate = predicate_of(columns[0]) if single else target.type
                yield Reference(columns, (target.name,), predicate, reason="declared")

    def _key_reference(self, name: str, declared: Sequence[Reference]) -> Reference | None:
        key = self._readings[name].key
        known = next((one for one in declared if one.columns == key), None)
        return known or self._by_name(name, self._profiles[name].columns[key[0]])

    def _named(self, name: str, declared: Sequence[Reference]) -> Iterator[Reference]:
        used = {column for one in declared for column in one.columns}
        for column in self._profiles[name].columns.values():
            if column.name not in used and (found := self._by_name(name, column)) is not None:
                yield found

    def _by_name(self, name: str, column: ColumnProfile) -> Reference | None:
        """The reference that a column's name and at least half of its values say."""
        is_key = (column.name,) == self._readings[name].key
        if is_key and "".join(_stem(column.name)) == self._stems[name]:
            return None
        # A key that is named like its table is less likely another's than the first unique column.
        least = 2 if is_key and self._readings[name].key_reason.startswith("name") else 1
        stem, found = _stem(column.name), []
        told = [one for n in range(len(stem)) for one in self._told["".join(stem[n:])]]
        told += [self._readings[name]] if stem[0] in _SELF and name in self._targets else []
        for target in {one.name: one for one in told}.values():
            score = self._score(name, column, target)
            if score >= least and not (is_key and target.name == name):
                share, several = self._share(column, target)
                if share >= NAMED:
                    found.append((score, share, target, several))
        if not found:
            return None
        _, share, target, several = max(found, key=lambda one: one[:2])
        return self._reference(name, column, target, several=several, share=share)

    def _score(self, name: str, column: ColumnProfile, target: TableReading) -> float:
        """How much the name of a column is that of a table or of its key; 0 if not at all."""
        stem, own = _stem(column.name), self._stems[target.name]
        key = _stem(target.key[0])
        telling = {own, "".join(key)} - _PLAIN
        if "".join(stem) == own:
            return 4
        if "".join(stem) in telling:
            return 3 if words(column.name) == words(target.key[0]) and target.name != name else 2
        if target.name == name and stem[0] in _SELF:
            return 1
        ends = (n for n in range(1, len(stem)) if "".join(stem[n:]) in telling)
        return next((1 + len("".join(stem[n:])) / 100 for n in ends), 0)

    def _reference(
        self, name: str, column: ColumnProfile, target: TableReading, *, several: bool, share: float
    ) -> Reference:
        """The reference to a table; other values may be the keys of a second one."""
        to, missing = [target.name], self._missing
        values = column.parts if several and column.parts is not None else column.values
        rest = values.without(np.union1d(target.keys, missing))
        if column.kind == "text" and len(rest.hashes) > 1:
            others = self._holding(rest)
            part, other = max(
                ((rest.share(one.keys, missing), one.name) for one in others), default=(0, "")
            )
            if part >= NAMED and _common(rest, self._targets[other]) >= 2:
                to.append(other)
                share = values.share(np.union1d(target.keys, self._targets[other].keys), missing)
        one = Reference((column.name,), tuple(to), predicate_of(column.name), several, share=share)
        one.is_complete = self._profiles[name].is_whole and share == 1
        return one

    def _best(self, name: str, column: ColumnProfile) -> TableReading | None:
        """The table with most values of a column, at least two, which may refer to a second one."""
        near = self._holding(column.values)
        targets = [one for one in near if self._may_refer(name, column, one)]
        best = max(targets, key=lambda one: self._share(column, one)[0], default=None)
        return best if best is not None and _common(column.values, best) >= 2 else None

    def _add_by_values(self, name: str) -> None:
        """Add the references of columns whose names say nothing."""
        reading = self._readings[name]
        used = {column for one in reading.references for column in one.columns} | {*reading.key}
        for column in self._profiles[name].columns.values():
            if column.name in used or column.kind not in {"whole", "text"}:
                continue
            found = [
                (share, several, target)
                for target in self._holding(column.values)
                if self._may_refer(name, column, target)
                for share, several in [self._share(column, target)]
                if share >= ALONE
            ]
            if len(found) > 1 and column.kind == "whole":
                found = [one for one in found if name not in self._reaches(one[2].name)] or found
            best = self._best(name, column) if column.kind == "text" and not found else None
            if best is not None:
                found = [(0.0, False, best)]
            if len(found) == 1:
                share, several, target = found[0]
                one = self._reference(name, column, target, several=several, share=share)
                one.is_named = False
                if one.share >= ALONE:
                    reading.references.append(one)
                continue
            near = [target for *_, target in found]
            if not near and _REFERS.intersection(words(column.name)[-1:]):
                holding = self._holding(column.values)
                near = [one for one in holding if self._share(column, one)[0] >= ALONE]
            if near and column.kind == "whole":
                to = " or ".join(target.name for target in near)
                reading.candidates.append((column.name, to))
        order = [column.name for column in reading.table.columns]
        reading.references.sort(key=lambda one: order.index(one.columns[0]))

    def _may_refer(self, name: str, column: ColumnProfile, target: TableReading) -> bool:
        """Whether the values of a column can be keys of a table without its name saying so."""
        known = self._profiles[target.name].columns[target.key[0]]
        if column.kind != known.kind:
            return False
        if target.name == name:  # another key of the same rows is no reference
            return column.kind == "text" and column.different < UNIQUE * known.different
        if column.kind == "text":
            return True
        is_number = column.different >= UNIQUE and counts_rows(target)  # of a row, in every table
        if is_number or _common(column.values, target) < 3:  # fewer numbers are keys by chance
            return False
        if len(words(column.name)) > 1 and words(column.name)[-1] in {*_ID, "by"}:
            return True
        # Lengths and years are keys by chance, above all of tables that number their rows.
        most = column.values.hashes[[column.values.weights.argmax()]]
        rest = column.values.without(most).share(target.keys, self._missing)
        return rest >= NAMED and not counts_rows(target)

    def _reaches(self, name: str) -> set[str]:
        """The tables that a table refers to, and those that they refer to."""
        found, new = set[str](), {name}
        while new:
            found |= new
            new = {t for n in new for one in self._readings[n].references for t in one.to} - found
        return found

    # --- kinds and names --------------------------------------------------------------

    def _choose_kind(self, name: str) -> None:
        """Make a table that nothing refers to a relation if it is little but two references.

        One without a key and references is left out if it has notes.
        """
        reading, known = self._readings[name], self._profiles[name]
        if not (reading.key or reading.references or reading.candidates) and self._is_prose(name):
            reading.kind, reading.type, reading.key_reason = "left out", "", "text or empty"
        ends = [column for one in reading.references for column in one.columns]
        if len(reading.references) != 2 or not known.sampled:
            return
        if any(one.several or len(one.to) > 1 for one in reading.references):
            return
        if len(known.columns) - len(ends) > 3 or self._has_own_key(reading, ends):
            return
        if any(known.columns[column].filled < UNIQUE for column in ends):
            return
        places = reading.places(ends)
        none, rows = {"", *MISSING, *self._nulls}, islice(reading.table.rows(), known.sampled)
        filled = [row for row in rows if none.isdisjoint(text_of(row[place]) for place in places)]
        pairs = {key_text(row, places) for row in filled}
        if len(pairs) >= UNIQUE * len({*map(row_hash, filled)}):
            reading.kind, reading.type = "edges", reading.name
            reading.key, reading.key_reason = (), ""

    def _is_prose(self, name: str) -> bool:
        """Whether most cells of a table beside others are empty, or have four words."""
        known = self._profiles[name]
        if len(self._readings) == 1 or not known.is_whole or known.sampled > 1_000:
            return False
        cells = [text_of(cell).strip() for row in known.table.rows() for cell in row]
        prose = sum(cell in ("", *self._nulls) or cell.count(" ") > 2 for cell in cells)
        return 2 * prose > len(cells)

    def _has_own_key(self, reading: TableReading, ends: Sequence[str]) -> bool:
        """Whether a table has a key that is no reference, nor a column that differs by chance."""
        if not reading.key or {*reading.key} <= {*ends}:
            return False
        order = [column.name for column in reading.table.columns]
        by_chance = order.index(reading.key[0]) > min(map(order.index, ends))
        return not (by_chance and reading.key_reason.startswith("first"))

    def _choose_name(self, name: str) -> None:
        reading, known = self._readings[name], self._profiles[name]
        if reading.kind != "nodes":
            return
        refers = {_stem(column) for one in reading.references for column in one.columns}
        used = {column for one in reading.references for column in one.columns}
        ranks = []
        for column in known.columns.values():
            rank = self._name_rank(name, column)
            repeats = _stem(column.name)[:-1] in refers  # team_name beside team_id
            if rank is not None and column.name not in used and not repeats:
                ranks.append((rank, column.place, column.name))
        key = known.columns[reading.key[0]] if len(reading.key) == 1 else None
        own = key.name if key is not None and key.kind == "text" else None
        reading.name_column = min(ranks)[2] if ranks else own

    def _name_rank(self, name: str, column: ColumnProfile) -> int | None:
        """How much a column is a name, the less the more; None if it is none."""
        if column.kind != "text":
            return None
        found, stem, own = words(column.name), "".join(_stem(column.name)), self._stems[name]
        people = any("last" in words(one) for one in self._profiles[name].columns)
        is_part = bool({"first", "middle", "given", "prefix", "suffix"} & {*found})
        ranks = (
            found == ["name"]
            or (found[-1:] == ["name"] and "".join(_stem(column.name[:-4])) == own)
            or stem == f"{own}description",
            stem in {"title", "label", "fullname", "displayname", "caption"} and not people,
            stem in {"lastname", "surname", "familyname", "family"},
            stem == own and (column.name,) != self._readings[name].key,
            found[-1:] in (["name"], ["title"], ["label"]) and not is_part,
            found[-1:] == ["name"],
            found[:1] == ["column"] and column.different > 0.5,
        )
        return next((rank for rank, holds in enumerate(ranks) if holds), None)


def counts_rows(target: TableReading) -> bool:
    """Whether the keys of a table are little more than the numbers of its rows."""
    numbers = hashes_of([*map(str, range(len(target.keys) * 6 // 5 + 2))])
    return len(target.keys) > 0 and bool(np.isin(target.keys, numbers).mean() > 0.9)


def _common(values: Values, target: TableReading) -> int:
    """How many different values are keys of a table."""
    return int(np.isin(values.hashes, target.keys).sum())


def _table_stems(tables: Sequence[str]) -> dict[str, str]:
    """The words of tables in the singular as one text, without those that all begin or end with."""
    every: Mapping[str, list[str]] = {name: words(name) for name in tables}
    for at in (0, -1):
        while len(every) > 1 and min(map(len, every.values())) > 1:
            if len({found[at] for found in every.values()}) > 1:
                break
            for found in every.values():
                found.pop(at)
    return {name: "".join((*f[:-1], singular(f[-1]))) if f else name for name, f in every.items()}
