"""How well a candidate fits what was searched for: the order that chapter 12 asks for."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from bfsql.models.records import EntityStub


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that may be meant."""

    stub: EntityStub
    others: Sequence[str]
    """Its further names."""


class Ranking:
    """The order of candidates for one text: ids, then exact names, beginnings, and parts.

    Args:
        query: What was typed.
        ids: Ids that it may be a part of, in a namespace that the backend knows.
    """

    def __init__(self, query: str, ids: Sequence[str]) -> None:
        self._exact = {query, query.strip()}
        self._ids = frozenset(ids)
        self._wanted = folded(query)

    def best(self, candidates: Sequence[Candidate], limit: int) -> list[EntityStub]:
        """The first of them; ties by the length of the name, then by id."""
        return [one.stub for one in sorted(candidates, key=self._rank)[:limit]]

    def _rank(self, candidate: Candidate) -> tuple[int, int, str]:
        id_, name = candidate.stub.id, folded(candidate.stub.name or "")
        others = [folded(other) for other in candidate.others]
        wanted = self._wanted
        tests = (
            id_ in self._exact,
            id_ in self._ids,
            name == wanted,
            wanted in others,
            name.startswith(wanted),
            any(wanted in known for known in (name, *others)),
            wanted in folded(id_),
            True,
        )
        return tests.index(True), len(name), id_


def folded(text: str) -> str:
    """Text without accents, case and outer space, for comparison."""
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold().strip()
