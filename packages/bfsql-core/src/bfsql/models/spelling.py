"""The known names of a graph's types or predicates, in the spellings of calls."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cached_property


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

    def nearest(self, written: str) -> list[list[str]]:
        """The spellings of each of the three names, or fewer, that are most like a text."""
        near = difflib.get_close_matches(written.casefold(), self._by_folded)
        return [self._by_folded[folded] for folded in near]

    @cached_property
    def longest_first(self) -> list[str]:
        """The names that are not empty, the longest first."""
        return sorted(filter(None, self.names), key=lambda name: (-len(name), name))

    @cached_property
    def _by_folded(self) -> dict[str, list[str]]:
        folded: dict[str, list[str]] = {}
        for name in self.names:
            folded.setdefault(name.casefold(), []).append(name)
        return folded
