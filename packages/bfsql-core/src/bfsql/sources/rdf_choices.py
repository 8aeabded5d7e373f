"""The type and the name of RDF nodes that have several, once all statements have been read.

The most specific type is the main one, which depends on the class hierarchy, and all names are in
one language. The nodes wait in a temporary file.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from pydantic_core import from_json, to_json

from bfsql.models.rdf import Literal, in_languages
from bfsql.models.rdf_types import MOST_SUBCLASSES, TypeRanking

ENGLISH = "en"
BATCH = 1_000
"""Rows that are written to a temporary file at a time."""


Name: TypeAlias = tuple[int, str, str]
"""A name of a node: the place of its property in the order of preference, the language in lower
case or an empty text, and the name."""


class Choices:
    """Nodes with several types or with names in several languages.

    Args:
        languages: Languages of names in the order of preference; without any, English if at least
            half as many names are English as have the most frequent language, otherwise that one.

    Attributes:
        names: The number of names of each language.
    """

    def __init__(self, languages: Sequence[str]) -> None:
        self.names: Counter[str] = Counter()
        self._languages = languages
        self._above: set[tuple[str, str]] = set()
        self._waiting: list[tuple[str, bytes, bytes]] = []
        self._connection: sqlite3.Connection | None = None

    def add_subclass(self, class_: str, above: str) -> None:
        """Add a pair of classes; of more than `MOST_SUBCLASSES`, none is used."""
        if len(self._above) <= MOST_SUBCLASSES:
            self._above.add((class_, above))

    def add(self, id_: str, types: Iterable[str], names: Iterable[Name]) -> None:
        """Add a node with the IRIs of its types."""
        self._waiting.append((id_, to_json([*types]), to_json([*names])))
        if len(self._waiting) >= BATCH:
            self._flush()

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of names in the order of preference."""
        if self._languages:
            return tuple(self._languages)
        return name_languages(self.names)

    def chosen(self) -> Iterator[tuple[str, list[str], list[str]]]:
        """The id of each node, its types, the main one first, and its names, the best first."""
        if self._connection is None and not self._waiting:
            return
        self._flush()
        assert self._connection is not None
        ranking = TypeRanking(above=self._above if len(self._above) <= MOST_SUBCLASSES else ())
        languages = self.languages
        for id_, types, names in self._connection.execute("SELECT id, types, names FROM node"):
            ranked = by_preference(from_json(names), languages)
            yield id_, ranking.ranked(from_json(types)), ranked

    def close(self) -> None:
        """Remove the temporary file."""
        if self._connection is not None:
            self._connection.close()

    def _flush(self) -> None:
        if self._connection is None:
            self._connection = sqlite3.connect("", check_same_thread=False)
            self._connection.execute("CREATE TABLE node (id TEXT, types BLOB, names BLOB)")
        self._connection.executemany("INSERT INTO node VALUES (?, ?, ?)", self._waiting)
        self._waiting.clear()


def name_languages(names: Counter[str]) -> tuple[str, ...]:
    """The language that all names of a graph should have, if they can; none if no name has one.

    Args:
        names: The number of names of each language; names without one do not count.
    """
    tagged = Counter({language: n for language, n in names.items() if language})
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
        place = len(languages)
        if language:
            literal = Literal(text, language)
            ranks = (n for n, one in enumerate(languages) if in_languages(literal, (one,)))
            place = next(ranks, len(languages) + 1)
        is_foreign = bool(languages) and place > len(languages)
        return is_foreign, rank, place, language, text

    return list(dict.fromkeys(text for *_, text in sorted(names, key=order)))
