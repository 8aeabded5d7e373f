"""The known names of a graph's types or predicates, in the spellings of calls."""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property

from bfsql.deadline import checked
from bfsql.models.matching import LONGEST


class KnownNames:
    """Names that a call may write in another case.

    Args:
        names: The names, in the order in which they are suggested.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = dict.fromkeys(names)

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def spellings(self, written: str) -> list[str]:
        """The name as written, or else every name that differs from it in case alone."""
        return [written] if written in self.names else self._by_folded.get(written.casefold(), [])

    def one(self, written: str) -> str | None:
        """The name as written, or else the only name that differs from it in case alone."""
        same = self.spellings(written)
        return same[0] if len(same) == 1 else None

    def nearest(self, written: str) -> list[list[str]]:
        """The spellings of each of the three names, or fewer, that are most like a text."""
        if len(written) > LONGEST:  # comparing two such texts takes the square of their length
            return []
        every = checked([*self._by_folded])
        near = difflib.get_close_matches(written.casefold(), every)
        return [self._by_folded[folded] for folded in near]

    def at(self, text: str, place: int) -> Iterator[str]:
        """The names that a text goes on with, the longest first, then those in another case.

        Each as it is written there.
        """
        here = text[place : place + self._longest]
        for name in self._exact.at_start_of(here):
            yield here[: len(name)]
        for folded in self._folded.at_start_of(here.casefold()):
            for length in sorted({len(name) for name in self._by_folded[folded]}, reverse=True):
                if here[:length].casefold() == folded:
                    yield here[:length]

    def before(self, text: str, separator: str) -> Iterator[tuple[int, str]]:
        """The places of a separator, each with the text before it, as long as that may be a name.

        The texts are without outer blanks, and may have quotes around them.
        """
        place = -1
        outer = len(text) - len(text.lstrip())
        for part in text.split(separator)[:-1]:
            end = place + 1 + len(part.rstrip())
            place += 1 + len(part)
            if end - outer > self._longest + len('""'):
                return
            yield place, text[outer:end]

    @cached_property
    def _longest(self) -> int:
        """Most characters of a name in any case."""
        return max(map(len, self._by_folded), default=0)

    @cached_property
    def _exact(self) -> _Beginnings:
        return _Beginnings(self.names)

    @cached_property
    def _folded(self) -> _Beginnings:
        return _Beginnings(self._by_folded)

    @cached_property
    def _by_folded(self) -> dict[str, list[str]]:
        folded: dict[str, list[str]] = {}
        for name in checked([*self.names]):
            folded.setdefault(name.casefold(), []).append(name)
        return folded


class _Beginnings:
    """Finds which of some names a text begins with.

    Every name that a text begins with is the last one in their order up to the text, or a
    beginning of that: each is linked with the longest other name that begins it.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._sorted = sorted(filter(None, names))
        self._shorter: dict[str, str] = {}
        waiting: list[str] = []
        for name in self._sorted:
            while waiting and not name.startswith(waiting[-1]):
                waiting.pop()
            self._shorter[name] = waiting[-1] if waiting else ""
            waiting.append(name)

    def at_start_of(self, text: str) -> Iterator[str]:
        """The names that the text begins with, the longest first."""
        place = bisect_right(self._sorted, text)
        name = self._sorted[place - 1] if place else ""
        while name:
            if text.startswith(name):
                yield name
            name = self._shorter[name]
