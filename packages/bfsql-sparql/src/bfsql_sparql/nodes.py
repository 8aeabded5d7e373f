"""Which nodes exist, and of what types they are (`protocol.md` 8 and 9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
        question = Question(
            text=lambda some: texts.types(
                some, self._mapping, marked=self._marked, limit=self._limit
            ),
            decode=rows,
            count=len,
            harmless=NOWHERE,
            whole=_has_each,
        )
        told: dict[str, tuple[set[str], set[str]]] = {}
        for part in await self._batches.read(nodes, question):
            for subject, mark, *types in part.rows:
                marks, own = told.setdefault(str(subject), (set(), set()))
                if isinstance(mark, str):
                    marks.add(mark)
                own.update(one for one in types if isinstance(one, str))
        asked = frozenset(nodes)
        ranked = {node: self.ranked(*of) for node, of in told.items() if node in asked}
        return {
            node: types[0]
            for node, types in ranked.items()
            if self._mapping.ontology or types[0] not in CLASSES
        }

    def ranked(self, marks: Iterable[str], types: Iterable[str]) -> list[str]:
        """All types of a node, the one that counts first; `owl:Thing` where there is none.

        Args:
            marks: The type that the loader marked, if any.
            types: All types.
        """
        first = sorted(marks)
        return list(dict.fromkeys([*first, *self._kinds.ranked(types)])) or [UNTYPED]


def _has_each(nodes: Sequence[str], found: list[Row]) -> bool:
    """Whether each node has a row; a cut would have taken the last ones."""
    return len({row[0] for row in found}) == len(nodes)
