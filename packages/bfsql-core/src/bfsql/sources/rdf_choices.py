"""The types and the names of RDF nodes, which depend on all files of a load.

The most specific type is the main one, which depends on the class hierarchy, and all names are in
one language. The nodes wait in a temporary file until the last statement of the last file.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

from pydantic_core import from_json, to_json

from bfsql.models.rdf import ALL_LANGUAGES, Literal, in_languages, language_rank
from bfsql.models.rdf_types import MOST_SUBCLASSES, TypeRanking

ENGLISH = "en"
BATCH = 1_000
"""Rows that are written to a temporary file at a time."""


Name: TypeAlias = tuple[int, str, str]
"""A name of a node: the place of its property in the order of preference, the language in lower
case or an empty text, and the name."""


class Choices:
    """The types and names of the nodes of one file.

    Args:
        languages: Languages of names in the order of preference; without any, English if at least
            half as many names are English as have the most frequent language, otherwise that one.
        priority: Types that precede all others.

    Attributes:
        names: The number of names of each language.
        above: Pairs of a class and its superclass.
        connection: The temporary file.
        files: The files whose choices are made here: this one, or those of `read_together`.
    """

    def __init__(self, languages: Sequence[str], priority: Sequence[str] = ()) -> None:
        self.names: Counter[str] = Counter()
        self._languages, self._priority = languages, priority
        self.above: set[tuple[str, str]] = set()
        self._waiting: list[tuple[str, bytes, bytes]] = []
        self.connection = sqlite3.connect("", check_same_thread=False)
        self.connection.execute("CREATE TABLE node (id TEXT, types BLOB, names BLOB)")
        self.files: Sequence[Choices] = (self,)

    def add_subclass(self, class_: str, above: str) -> None:
        """Add a pair of classes; of more than `MOST_SUBCLASSES`, none is used."""
        if len(self.above) <= MOST_SUBCLASSES:
            self.above.add((class_, above))

    def add(self, id_: str, types: Iterable[str], names: Sequence[Name]) -> None:
        """Add types, by their IRIs, and names of a node."""
        self.names.update(language for _, language, _ in names)
        self._waiting.append((id_, to_json([*types]), to_json(names)))
        if len(self._waiting) >= BATCH:
            self._flush()

    def chosen(self) -> Iterator[tuple[str, list[str], list[str]]]:
        """The id of each node, its types, the main one first, and its names, the best first."""
        above = set[tuple[str, str]]().union(*(one.above for one in self.files))
        above = above if len(above) <= MOST_SUBCLASSES else set()
        ranking = TypeRanking(self._priority, above=above)
        languages = self.languages()
        for id_, rows in groupby(merge(*(one.rows() for one in self.files)), itemgetter(0)):
            types, names = set[str](), list[Name]()
            for _, some_types, some_names in rows:
                types.update(from_json(some_types))
                names += from_json(some_names)
            yield id_, ranking.ranked(types), by_preference(names, languages)

    def languages(self) -> tuple[str, ...]:
        """The languages of names in the order of preference; none if no name has one."""
        return tuple(self._languages) or name_languages(self._names())

    def have_foreign_names(self) -> bool:
        """Whether there are names in several languages."""
        tags = {language.partition("-")[0] for language in self._names()}
        return len(tags - {"", ALL_LANGUAGES}) > 1

    def _names(self) -> Counter[str]:
        return sum((one.names for one in self.files), Counter())

    def rows(self) -> Iterator[tuple[str, bytes, bytes]]:
        """The ids, types and names as they were added, by id."""
        self._flush()
        yield from self.connection.execute("SELECT id, types, names FROM node ORDER BY id")

    def _flush(self) -> None:
        self.connection.executemany("INSERT INTO node VALUES (?, ?, ?)", self._waiting)
        self._waiting.clear()


def name_languages(names: Counter[str]) -> tuple[str, ...]:
    """The language that all names of a graph should have, if they can; none if no name has one.

    Args:
        names: The number of names of each language; names without one do not count.
    """
    tagged = Counter({tag: n for tag, n in names.items() if tag not in ("", ALL_LANGUAGES)})
    if not tagged:
        return ()
    main = Counter[str]()
    for language, number in tagged.items():
        main[language.partition("-")[0]] += number
    frequent = min(main, key=lambda language: (-main[language], language))
    return (ENGLISH if 2 * main[ENGLISH] >= main[frequent] else frequent,)


def by_preference(names: Iterable[Name], languages: Sequence[str]) -> list[str]:
    """The texts of names, the best first: those in foreign languages are last."""

    def order(name: Name) -> tuple[bool, int, int, str, str]:
        rank, language, text = name
        is_foreign = not in_languages(Literal(text, language), languages)
        return is_foreign, rank, language_rank(language, languages), language, text

    return list(dict.fromkeys(text for *_, text in sorted(names, key=order)))
