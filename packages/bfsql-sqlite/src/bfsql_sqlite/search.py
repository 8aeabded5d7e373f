"""From what a person types to the entities that may be meant.

Eight looks, each less strict than the one before, until there are enough
candidates. Every look reads an index in the order of `entry.r`, which is the
order of equally good matches (shorter name first, then id), and stops when it
has what it needs; types are filtered inside it. So a word that half of the
graph shares costs no more than a rare one.
"""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from bfsql.models.json_values import is_text
from bfsql.models.merge import without_accents
from bfsql.models.records import EntityStub
from bfsql_sqlite import queries

GRAM = 3
"""Characters of a trigram."""
LIMIT = 20
"""Candidates of a search."""
ENOUGH = 5
"""So many matches, or an exact one, and a misspelling is not looked for."""
LONGEST = 256
"""Characters of folded text that are looked for as a part or a misspelling of a name."""
MOST_WORDS = 16
"""Words that are looked for."""
SCANNED = 10_000
"""Labels or entries that a look without a full-text index reads."""
GRAM_BUDGET = 20_000
"""Entries that a misspelling is compared with by trigrams, the rarest trigrams first."""
COMPARED = 48
"""Of these, the ones that are compared letter by letter."""
ALIKE = 0.7
"""Least likeness, 0 to 1, of a misspelling; `cusing diseas` and `cushing disease` have 0.93."""


# --- text as search compares it ----------------------------------------------


def fold(text: str) -> str:
    """Text for comparison: decomposed, marks dropped, case folded, spaces single."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", without_accents(text).casefold())
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.lower().split())


def words(folded: str) -> list[str]:
    """The runs of letters and digits in folded text, each once, in order."""
    spaced = "".join(c if c.isalnum() else " " for c in folded)
    return list(dict.fromkeys(spaced.split()))


def grams(folded: str) -> set[str]:
    """Every three characters in a row, a space at either end of the text included."""
    padded = f" {folded} "
    return {padded[i : i + GRAM] for i in range(len(padded) - GRAM + 1)}


def type_code(number: int) -> str:
    """Three private-use characters for a type: one word and one trigram at once.

    So a full-text query filters by type inside the index, before any limit.
    Folding turns private-use characters into spaces: no name holds a code.
    """
    high, low = divmod(number, 4096 * 4096)
    middle, low = divmod(low, 4096)
    return "".join(chr(0xE000 + digit) for digit in (high, middle, low))


# --- looking -------------------------------------------------------------------


def search(
    connection: sqlite3.Connection,
    query: str,
    types: Collection[int] | None,
    type_names: Mapping[int, str],
) -> list[EntityStub]:
    """Candidates, best first, at most `LIMIT`.

    Args:
        connection: The graph.
        query: What a person would call the entity, or its id.
        types: Numbers of the types to keep, None for all.
        type_names: Names of all types by number.
    """
    looks = _Looks(connection, query, types)
    found = dict.fromkeys(r for look in looks.exact() for r in look)
    exact = bool(found)
    for look in looks.partial():
        found.update(dict.fromkeys(look))
        if len(found) >= LIMIT:
            break
    if not exact and len(found) < ENOUGH:
        found.update(dict.fromkeys(looks.alike()))
    best = list(found)[:LIMIT]
    rows = {
        r: EntityStub(entity_id, type_names[t], name)
        for statement, keys in queries.chunks(best, queries.stubs)
        for r, entity_id, t, name in connection.execute(statement, keys)
    }
    return [rows[r] for r in best]


class _Looks:
    """The ways to look for one text, each giving numbers of entries."""

    def __init__(
        self, connection: sqlite3.Connection, query: str, types: Collection[int] | None
    ) -> None:
        self._connection = connection
        self._query = query
        self._text = fold(query)
        self._types = json.dumps(sorted(types or ()))
        codes = " OR ".join(_quoted(type_code(t)) for t in sorted(types or ()))
        self._of_types = f" AND type : ({codes})" if codes else ""

    def exact(self) -> Iterator[list[int]]:
        """The text is an id, a name, or an alias."""
        for text in (self._query, self._query.strip()):
            if text and is_text(text):
                yield self._ask(queries.BY_ID, text=text)
        if self._text:
            yield self._ask(queries.BY_LABEL, text=self._text, kind=0)
            yield self._ask(queries.BY_LABEL, text=self._text, kind=1)

    def partial(self) -> Iterator[list[int]]:
        """The text begins a name, has words of one, or is a part of one."""
        if self._text:
            yield self._ask(queries.BY_PREFIX, text=self._text, scan=SCANNED)
            if wanted := words(self._text)[:MOST_WORDS]:
                all_of_them = " AND ".join(map(_quoted, wanted))
                for columns in ("name", "{name others}"):
                    match = f"{columns} : ({all_of_them}){self._of_types}"
                    yield self._ask(queries.BY_WORDS, match=match)
            yield self._part()

    def _part(self) -> list[int]:
        if len(self._text) < GRAM:
            return self._ask(queries.BY_SCAN, text=self._text, scan=SCANNED)
        if len(self._text) > LONGEST:
            return []
        match = f"label : {_quoted(self._text)}{self._of_types}"
        return self._ask(queries.BY_GRAMS, match=match)

    def alike(self) -> list[int]:
        """Entries with a label that the text may be a misspelling of, the most alike first."""
        if not 1 < len(self._text) <= LONGEST:
            return []
        shared = self._sharing(grams(self._text))
        nearest = sorted(shared, key=lambda r: (-shared[r], r))[:COMPARED]
        likeness = {
            r: max(_likeness(self._text, label) for label in (folded, *others.split("\n")))
            for statement, keys in queries.chunks(nearest, queries.labels)
            for r, folded, others in self._connection.execute(statement, keys)
        }
        kept = [r for r, value in likeness.items() if value >= ALIKE]
        return sorted(kept, key=lambda r: (-likeness[r], r))[:LIMIT]

    def _sharing(self, wanted: set[str]) -> Counter[int]:
        """Entries by the number of trigrams they share, within the budget."""
        counts = [
            (entries, gram)
            for statement, keys in queries.chunks(sorted(wanted), queries.gram_counts)
            for gram, entries in set(self._connection.execute(statement, keys))
        ]
        shared: Counter[int] = Counter()
        room = GRAM_BUDGET
        for _, gram in sorted(counts):
            match = f"label : {_quoted(gram)}{self._of_types}"
            entries = self._ask(queries.BY_GRAMS, match=match, limit=room)
            shared.update(entries)
            room -= len(entries)
            if room <= 0:
                break
        return shared

    def _ask(self, statement: str, limit: int = 2 * LIMIT, **values: Any) -> list[int]:
        values |= {"types": self._types, "limit": limit}
        return [r for (r,) in self._connection.execute(statement, values)]


def _quoted(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def _likeness(text: str, label: str) -> float:
    """How alike, 0 to 1: as a whole, or word by word against the best word of the label."""
    matcher = SequenceMatcher(b=text, autojunk=False)
    matcher.set_seq1(label[:LONGEST])
    whole = matcher.ratio()
    wanted, given = words(text)[:MOST_WORDS], words(label[:LONGEST])
    if not wanted or not given:
        return whole
    best = [max(SequenceMatcher(None, word, other).ratio() for other in given) for word in wanted]
    return max(whole, sum(best) / len(best))
