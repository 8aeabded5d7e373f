"""What a backend has to leave out, it says."""

from __future__ import annotations

import asyncio

from bfsql import call
from bfsql.conformance.graphs import hub
from bfsql.conformance.rule import Untried, expect, rule
from bfsql.conformance.trial import Trial
from bfsql.graph import Graph, open_graph

DEGREE = 200
"""Edges of the node of which the backend has to leave some out."""


@rule(
    "omissions-said",
    "what is left out is said cold, warm and in a shared flight",
    source="protocol 11: what a backend had to leave out reaches every reader",
    mode="filling",
)
async def omissions_said(trial: Trial) -> None:
    """By the backend itself, and in the notes of every answer."""
    if trial.omitting is None:
        raise Untried("No way is given to a store of which something has to be left out.")
    async with trial.omitting(trial.kept(hub(DEGREE))) as db:
        with call.scope() as scope:
            given = len({(s, p, o) for s, p, o in await db.edges_batch(["hub"])})
        expect(given < DEGREE, f"All {DEGREE} edges came; nothing was left out.")
        expect(
            {omission.id for omission in scope.omissions} == {"hub"},
            f"{DEGREE - given} edges of 'hub' were left out, and call.omitted said "
            f"{scope.omissions}.",
        )
        missing = sum(omission.at_least or 0 for omission in scope.omissions)
        expect(missing <= DEGREE, f"{missing} edges are said to be missing of {DEGREE}.")
        async with open_graph(db) as graph:
            cold, warm = await _notes(graph), await _notes(graph)
        expect(cold, "bfs_query has no note of what was left out.")
        expect(warm == cold, f"Asked again, the notes are {warm} and not {cold}.")
        async with open_graph(db) as graph:
            shared = await asyncio.gather(*(_notes(graph) for _ in range(4)))
        expect(
            all(notes == cold for notes in shared),
            f"Callers that share one flight read {shared}, one alone reads {cold}.",
        )


async def _notes(graph: Graph) -> tuple[str, ...]:
    answer = await graph.bfs_query(["hub"], 1)
    return tuple(note for note in answer.notes if "hub" in note)
