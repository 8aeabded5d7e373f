"""Which nodes exist, and of what types they are (`protocol.md` 8 and 9)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from bfsql_sparql.batches import Batches, Question
from bfsql_sparql.kinds import Kinds
from bfsql_sparql.mapping import Mapping
from bfsql_sparql.queries import nodes as texts
from bfsql_sparql.results import rows
from bfsql_sparql.rings import NOWHERE
from bfsql_sparql.settings import SparqlSettings
from bfsql_sparql.terms import Row
from bfsql_sparql.vocabulary import CLASSES, UNTYPED


class Types:
    """Reads types, and with them who exists.

    Args:
        batches: How large queries are.
        mapping: How triples are read.
        settings: `page_size` is used.
        kinds: The order of the types.
        marked: Whether nodes may be marked with the type that counts.
    """

    def __init__(
        self,
        batches: Batches,
        mapping: Mapping,
        settings: SparqlSettings,
        kinds: Kinds,
        *,
        marked: bool,
    ) -> None:
        self._batches = batches
        self._mapping = mapping
        self._limit = settings.page_size + 1
        self._kinds = kinds
        self._marked = marked

    async def of(self, nodes: Sequence[str]) -> dict[str, str]:
        """The one type of each node that exists, as IRIs.

        Args:
            nodes: IRIs, without duplicates.
        """
        told = await self._told(nodes)
        found = {node: types[0] for node, types in told.items() if self.counts(types[0])}
        untyped = [node for node in nodes if node not in told]
        if untyped:
            found |= dict.fromkeys(await self.existing(untyped), UNTYPED)
        return found

    def counts(self, type_: str) -> bool:
        """Whether nodes of this type are part of the graph."""
        return self._mapping.ontology or type_ not in CLASSES

    async def existing(self, nodes: Sequence[str]) -> list[str]:
        """Those of the nodes that exist; only what has no type need be asked for.

        Args:
            nodes: IRIs, without duplicates.
        """
        question = Question(
            text=lambda some: texts.existing(some, self._mapping, self._limit),
            decode=rows,
            count=len,
            harmless=NOWHERE,
            whole=_has_each,
        )
        found = {row[0] for part in await self._batches.read(nodes, question) for row in part.rows}
        return [node for node in nodes if node in found]

    async def _told(self, nodes: Sequence[str]) -> dict[str, list[str]]:
        """All types of each node that has any, the one that counts first."""
        question = Question(
            text=lambda some: texts.types(
                some, self._mapping, marked=self._marked, limit=self._limit
            ),
            decode=rows,
            count=len,
            harmless=NOWHERE,
        )
        marks: dict[str, list[str]] = {}
        told: dict[str, list[str]] = {}
        for part in await self._batches.read(nodes, question):
            for node, mark, *types in part.rows:
                if isinstance(mark, str):
                    marks.setdefault(str(node), []).append(mark)
                for one in types:
                    if isinstance(one, str):
                        told.setdefault(str(node), []).append(one)
        return {
            node: self.ranked(marks.get(node, ()), told.get(node, ()))
            for node in nodes
            if node in told or node in marks
        }

    def ranked(self, marks: Collection[str], types: Iterable[str]) -> list[str]:
        """All types of a node, the one that counts first; `owl:Thing` where there is none.

        Args:
            marks: The type that the loader marked, if any.
            types: All types.
        """
        types = tuple(types)
        if len(types) == 1 and not marks:  # most nodes
            return list(types)
        first = sorted(marks)
        return list(dict.fromkeys([*first, *self._kinds.ranked(types)])) or [UNTYPED]


def _has_each(nodes: Sequence[str], found: list[Row]) -> bool:
    """Whether each node has its row."""
    return len({row[0] for row in found}) == len(nodes)
