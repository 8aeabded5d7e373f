"""A sample of a store: some nodes of it, and some of their edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bfsql import call
from bfsql.abc import GraphDbInterface, adapted
from bfsql.conformance.graphs import village
from bfsql.conformance.rule import Untried
from bfsql.conformance.trial import Trial
from bfsql.models import NodeRecord, Triple

EDGES = 12
"""Edges of one node that a check looks at."""

WORDS = ("a", "e", "the", "disease", "protein", "person", "city", "name", "1", "new", "test")
"""What to search for where nobody says what the store is about."""

UNKNOWN = (
    "bfsql:no-such-entity",
    "no such entity'; --\\\"<>{}$`",
    "-1",
    "x" * 300,
)
"""Ids that no store has."""


@dataclass(frozen=True, slots=True)
class Edges:
    """The edges of a node in one direction."""

    triples: tuple[Triple, ...]
    """Sorted, each once."""
    whole: bool
    """Whether the backend said of none that it was left out."""


async def sample(trial: Trial, db: GraphDbInterface) -> list[str]:
    """Ids to look at, `trial.size` of them at the most.

    Raises:
        Untried: None could be found.
    """
    if trial.sample:
        return list(trial.sample)[: trial.size]
    if trial.open is None:
        return _spread([r.id for r in trial.kept(village()) if isinstance(r, NodeRecord)], trial)
    found = await _searched(trial, db)
    if not found:
        trial.odd("No search found a node: the store is empty, or is about other words.")
        raise Untried("No node was found to look at; name some, or words to search for.")
    trial.sample = list(found)  # the store stays the same, so one search does for every rule
    return list(found)


async def leaving(db: GraphDbInterface, entity_id: str) -> Edges:
    """The edges that leave a node."""
    with call.scope(seconds=call.remaining()) as scope:
        return _edges(await db.edges_from(entity_id), scope)


async def entering(db: GraphDbInterface, entity_id: str) -> Edges:
    """The edges that enter a node."""
    with call.scope(seconds=call.remaining()) as scope:
        return _edges(await db.edges_to(entity_id), scope)


async def ring(db: GraphDbInterface, ids: Sequence[str]) -> Edges:
    """The edges that touch any of these nodes."""
    with call.scope(seconds=call.remaining()) as scope:
        return _edges(await db.edges_batch(ids), scope)


async def some_edges(trial: Trial, db: GraphDbInterface) -> list[Triple]:
    """Edges of the sample, a few of each node.

    Raises:
        Untried: The sample has none.
    """
    found: dict[Triple, None] = {}
    for entity_id in await sample(trial, db):
        found.update(dict.fromkeys((await leaving(db, entity_id)).triples[:5]))
    if not found:
        raise Untried("No node of the sample has an edge that leaves it.")
    return list(found)[: trial.size]


async def _searched(trial: Trial, db: GraphDbInterface) -> dict[str, None]:
    found: dict[str, None] = {}
    words = trial.words or (*WORDS, *list(await db.entity_types())[:10])
    for word in words:
        found.update((stub.id, None) for stub in await adapted(db).search_entities(word))
        if len(found) >= trial.size:
            break
    for entity_id in list(found):
        if len(found) >= trial.size:
            break
        for subject, _, obj in (await ring(db, [entity_id])).triples[:EDGES]:
            found.update({subject: None, obj: None})
    nodes = {node.id for node in await db.get_nodes_batch(list(found))}
    return dict.fromkeys([i for i in found if i in nodes][: trial.size])


def _spread(ids: list[str], trial: Trial) -> list[str]:
    """Ids from everywhere in the list, not its beginning alone."""
    distinct = list(dict.fromkeys(ids))
    step = max(1, len(distinct) // trial.size)
    return distinct[::step][: trial.size]


def _edges(given: Iterable[Triple], scope: call.Scope) -> Edges:
    triples = {(subject, predicate, obj) for subject, predicate, obj in given}
    return Edges(tuple(sorted(triples)), not scope.omissions)
