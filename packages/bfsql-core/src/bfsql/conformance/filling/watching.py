"""What reaches the store: query texts and round trips."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql.conformance.graphs import HOSTILE, hub
from bfsql.conformance.rule import Untried, expect, rule
from bfsql.conformance.trial import Trial
from bfsql.models import Edge, NodeRecord

MARK = "zq9xw"
"""Stands in searched texts, and so may stand in no query."""

Ask = Callable[[str], Awaitable[Any]]


@rule(
    "query-text",
    "no value changes the text of a query",
    source="rule 7 of the house: values never become query text",
    mode="filling",
)
async def query_text(trial: Trial) -> None:
    """The same question sends the same texts for a plain id and for a hostile one."""
    nodes = [NodeRecord(i, "Thing", {"name": "thing"}) for i in ("plain", *HOSTILE)]
    able = [r.id for r in trial.kept(nodes) if isinstance(r, NodeRecord)]
    async with trial.filled(nodes) as db:
        for name, ask in _asks(db).items():
            wanted = await _sent(trial, db, ask, "plain")
            unknown = await _sent(trial, db, ask, "no such id")
            for value in [*able, "no such id'; --"]:
                sent = await _sent(trial, db, ask, value)
                known = value in able
                same = sent == wanted if known else set(sent) <= {*wanted, *unknown}
                expect(
                    same,
                    f"{name} sends other queries for {value[:60]!r} than for 'plain': {sent} "
                    f"instead of {wanted}."[:600],
                )
        for value in able:
            for text in await _sent(trial, db, db.search_entities, f"{MARK} {value}"):
                expect(MARK not in text, f"What was searched for stands in a query: {text[:300]}")


@rule(
    "round-trips",
    "the round trips of a batch do not grow with its size",
    source="rule 2 of the house: one ring, one round trip",
    mode="filling",
)
async def round_trips(trial: Trial) -> None:
    """Counted for two and for a hundred keys."""
    async with trial.filled(trial.kept(hub(300))) as db:
        spokes = [f"spoke:{n:04}" for n in range(100)]
        edges = [("hub", "to", spoke) for spoke in spokes]
        for name, ask, keys in (
            ("get_nodes_batch", db.get_nodes_batch, spokes),
            ("edges_batch", db.edges_batch, spokes),
            ("metadata_for_nodes_batch", db.metadata_for_nodes_batch, spokes),
            ("metadata_for_edges_batch", db.metadata_for_edges_batch, edges),
        ):
            few = await _trips(trial, db, ask, keys[:2])
            many = await _trips(trial, db, ask, keys)
            expect(
                many <= few,
                f"{name} makes {few} round trips for 2 keys and {many} for {len(keys)}.",
            )


def _asks(db: GraphDbInterface) -> dict[str, Ask]:
    async def edge_metadata(value: str) -> Any:
        return await db.metadata_for_edges_batch([Edge(value, value, value)])

    return {
        "get_node": _forgiving(db.get_node),
        "edges_from": _forgiving(db.edges_from),
        "edges_to": _forgiving(db.edges_to),
        "metadata_for_node": _forgiving(db.metadata_for_node),
        "get_nodes_batch": lambda value: db.get_nodes_batch([value]),
        "edges_batch": lambda value: db.edges_batch([value]),
        "metadata_for_nodes_batch": lambda value: db.metadata_for_nodes_batch([value]),
        "metadata_for_edges_batch": edge_metadata,
    }


def _forgiving(ask: Ask) -> Ask:
    async def forgiven(value: str) -> None:
        try:
            await ask(value)
        except KeyError:
            return

    return forgiven


async def _sent(trial: Trial, db: GraphDbInterface, ask: Ask, value: str) -> list[str]:
    before = trial.queries(db) if trial.queries else None
    if before is None:
        raise Untried("No way is given to watch the texts of queries.")
    count = len(before)
    await ask(value)
    assert trial.queries is not None
    return list(trial.queries(db) or ())[count:]


async def _trips(
    trial: Trial, db: GraphDbInterface, ask: Callable[[Any], Awaitable[Any]], keys: Any
) -> int:
    before = trial.round_trips(db) if trial.round_trips else None
    if before is None:
        raise Untried("No way is given to count round trips.")
    await ask(keys)
    assert trial.round_trips is not None
    return (trial.round_trips(db) or 0) - before
