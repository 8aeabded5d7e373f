"""Reads the shape of a graph.

Numbers of labels and of relationship types cost nothing: the server keeps them.
Which labels occur together, and whether two nodes bear one id, only a look at
every node can tell; it is taken up to `COUNTED` nodes. Beyond that, a label is a
type when a node bears it and none that comes before it, for which the server
looks until it finds one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bfsql.errors import StoreError
from bfsql.models.merge import UNTYPED
from bfsql_neo4j.connection import place
from bfsql_neo4j.indexes import EVIDENCE_INDEX, Index
from bfsql_neo4j.queries import survey as texts
from bfsql_neo4j.queries.graph import id_value, is_node
from bfsql_neo4j.reading import Reader
from bfsql_neo4j.settings import Neo4jSettings
from bfsql_neo4j.shape import Dialect, Identity, Shape, folded, ranked, type_of

COUNTED = 1_000_000
"""Nodes up to which every one is looked at."""
MOST_ALIASED = 10_000
"""Nodes that may share their id with another."""
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Surveyor:
    """Looks at a graph."""

    reader: Reader
    settings: Neo4jSettings
    dialect: Dialect

    async def look(self, before: Shape | None = None) -> Shape:
        """The shape of the graph now.

        Args:
            before: An earlier look, whose rank of labels holds.

        Raises:
            StoreError: Too many nodes share their id with another.
        """
        settings = self.settings
        counts = await self._counts(texts.labels, texts.nodes_of)
        types = await self._counts(texts.types, texts.relationships_of)
        kept = {label: n for label, n in counts.items() if label not in settings.exclude_labels}
        followed = tuple(sorted(set(types) - set(settings.exclude_types)))
        own = settings.label_id_properties
        labels = ranked(kept, settings, before.labels if before else ())
        shape = Shape(
            identity=Identity(
                {label: names for label, names in own.items() if label in labels},
                settings.common_id_properties,
            ),
            labels=labels,
            excluded=tuple(sorted(set(counts) - set(kept))),
            relationships=followed,
            followed=followed if len(followed) < len(types) else None,
            predicates=folded(followed, preserve_case=settings.preserve_case),
        )
        return await self._with_nodes(
            with_indexes(shape, await self.indexes()), sum(counts.values())
        )

    async def indexes(self) -> list[tuple[Index, dict[str, Any]]] | None:
        """Indexes, each with its options; None where the server does not tell."""
        if not self.dialect.procedures:
            return None
        return [
            (
                Index(name, kind, state, tuple(labels or ()), tuple(names or ()), owned, done),
                options,
            )
            for name, kind, state, labels, names, owned, done, options in await self.reader.one(
                texts.INDEXES, evidence=EVIDENCE_INDEX
            )
        ]

    async def _counts(
        self, named: Callable[[bool], str], counted: Callable[[Sequence[str]], str]
    ) -> dict[str, int]:
        """Names that something bears, with how often; others may be left over in the store."""
        names = await self.reader.one(named(self.dialect.procedures))
        if not names:
            return {}
        by_place = dict(map(tuple, await self.reader.rows(counted(names))))
        return {name: by_place[at] for at, name in enumerate(names) if by_place[at]}

    async def _with_nodes(self, shape: Shape, labels_borne: int) -> Shape:
        nodes = await self.reader.one(texts.NODES)
        if nodes > COUNTED:
            types: dict[str, int | None] = dict.fromkeys(await self._winners(shape))
            unlabelled = max(0, nodes - labels_borne)  # at the least
            if unlabelled:
                types[UNTYPED] = None
            return replace(shape, types=types, unlabelled=unlabelled, without_id=None)
        excluded = set(shape.excluded)
        rank = shape.rank
        counts: Counter[str] = Counter()
        bare = 0
        for labels, number in await self.reader.one(texts.LABEL_SETS):
            if excluded.isdisjoint(labels):
                counts[type_of(labels, rank)[0]] += number
                bare += 0 if labels else number
        return await self._with_ids(replace(shape, types=dict(counts), unlabelled=bare))

    async def _winners(self, shape: Shape) -> list[str]:
        """Labels that are the type of a node."""
        labels = list(shape.labels)
        if not labels:
            return []
        found = await self.reader.one(texts.winners(labels), names=labels)
        return [label for label, wins in zip(labels, found, strict=True) if wins]

    async def _with_ids(self, shape: Shape) -> Shape:
        """How many nodes have no id, and which share theirs."""
        about = (is_node(shape, "n"), id_value(shape, "n"), self.dialect.text)
        found = await self.reader.one(texts.id_counts(*about))
        without = sum(number for text, number in found if text is None)
        shape = replace(shape, without_id=without - shape.unlabelled)
        shared = {text: number for text, number in found if text is not None}
        if not shared:
            return shape
        if sum(shared.values()) - len(shared) > MOST_ALIASED:
            raise StoreError(_too_many(self.settings, shared))
        bearers = await self.reader.one(
            texts.bearers(*about, self.dialect.element), ids=list(shared)
        )
        # The first by element id bears the id, the others get the marked form.
        others = [element for _, elements in bearers for element in _in_order(elements)[1:]]
        return replace(shape, aliased=tuple(others), doubled=tuple(sorted(shared)[:_SHOWN]))


def with_indexes(shape: Shape, indexes: list[tuple[Index, dict[str, Any]]] | None) -> Shape:
    """The shape, with which labels can be sought by which id property.

    Args:
        shape: Its labels and its identity.
        indexes: What the server has; None trusts that all is there.
    """
    online = {
        (index.labels, index.properties)
        for index, _ in indexes or ()
        if index.type == "RANGE" and index.state == "ONLINE"
    }
    seeks: dict[str, list[str]] = {}
    scans: dict[str, list[str]] = {}
    for label in shape.labels:
        for name in shape.identity.properties([label]):
            fast = indexes is None or ((label,), (name,)) in online
            (seeks if fast else scans).setdefault(name, []).append(label)
    return replace(
        shape,
        seeks={name: tuple(labels) for name, labels in seeks.items()},
        scans={name: tuple(labels) for name, labels in scans.items()},
    )


def _in_order(elements: Sequence[str]) -> list[str]:
    """Element ids by the number at their end, which grows; then as they are."""
    return sorted(elements, key=lambda element: (len(element), element))


def _too_many(settings: Neo4jSettings, shared: dict[str, int]) -> str:
    example = max(shared, key=lambda text: (shared[text], text))
    return (
        f"{place(settings)} has {sum(shared.values())} nodes that share their id with another "
        f"({shared[example]} are {example!r}), so {', '.join(settings.id_property)} tells nodes "
        "not apart. Name a property that does by --id-property, for one label as Label=property."
    )
