"""Stores that go and come back, and stores that may only be read."""

from __future__ import annotations

import asyncio
from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql.conformance.filling.side_by_side import both, ids_of, same
from bfsql.conformance.graphs import village
from bfsql.conformance.rule import Broken, Untried, expect, rule
from bfsql.conformance.trial import Trial
from bfsql.errors import StoreError
from bfsql.graph import open_graph

PATIENCE = 20.0
"""Seconds within which a call to a store that is gone has to end."""
TRIES = 3
"""Calls of which one has to be answered when the store is back."""


@rule(
    "store-returns",
    "the backend answers again after its store was gone",
    source="the backend contract: StoreUnavailable, the same call may work later",
    mode="filling",
)
async def store_returns(trial: Trial) -> None:
    """Gone, it is a StoreError in good time; back, the same answers come, from the cache too."""
    async with trial.filled(trial.kept(village())) as db:
        away = trial.gone(db) if trial.gone else None
        if away is None:
            raise Untried("No way is given to take the store away.")
        before = await _told(db)
        async with open_graph(db) as graph:
            async with away:
                await _refused(db)
                await _refused(graph.db)
            for _ in range(TRIES):
                try:
                    after = await _told(db)
                    through = await _told(graph.db)
                    break
                except StoreError:
                    continue
            else:
                raise Broken(f"The store is back, and {TRIES} calls in a row still fail.")
        expect(after == before, f"The store is back, and answers are {after}, not {before}.")
        expect(through == before, f"Behind the cache, answers are {through}, not {before}.")


async def _told(db: GraphDbInterface) -> Any:
    edges = sorted({(s, p, o) for s, p, o in await db.edges_batch(["s:1", "e:1"])})
    return [(await db.get_node("s:1")).entity_type, edges]


async def _refused(db: GraphDbInterface) -> None:
    try:
        async with asyncio.timeout(PATIENCE):
            answer = await db.get_node("s:1")
    except StoreError:
        return
    except TimeoutError as late:
        raise Broken(f"With the store gone, get_node hangs for {PATIENCE:g} s.") from late
    except Exception as other:
        raise Broken(
            f"With the store gone, get_node raised {type(other).__name__}: {other}; "
            "StoreUnavailable is due."
        ) from other
    raise Broken(f"With the store gone, get_node gave {answer}: is it kept by the backend?")


@rule(
    "read-rights",
    "reading needs the right to read alone",
    source="rule 6 of the house: reading never writes, a backend needs read rights alone",
    mode="filling",
)
async def read_rights(trial: Trial) -> None:
    """Opened without the right to write, the backend gives the answers of the reference."""
    if trial.read_only is None:
        raise Untried("No way is given to a store that may only be read.")
    records = trial.kept(village())
    reader = Trial(fill=trial.read_only, keeps=trial.keeps)
    async with both(reader, records) as (mine, wanted):
        ids = ids_of(records)
        for entity_id in ids:
            await same(mine, wanted, "bfs_query", {"seeds": [entity_id], "max_hops": 2})
            await same(mine, wanted, "describe_entity", {"id": entity_id})
            await mine.search_entities(entity_id)
        await same(mine, wanted, "describe_entities", {"ids": ids})
        await same(mine, wanted, "describe_schema", {})
