"""A backend and the reference over the same records, asked the same."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql.conformance.rule import Broken
from bfsql.conformance.trial import Trial
from bfsql.errors import ToolError
from bfsql.graph import Graph, open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord
from bfsql.tools import Limits

SHOWN = 160
"""Characters of an answer that a reason repeats, from the first difference on."""

Said = tuple[Any, ...]
"""The blocks of an answer, or the kind and the argument of a refusal."""


class PlainReference(MemoryBackend):
    """The reference for a backend without evidence of its own: the contract's default."""

    provenance_for_node = GraphDbInterface.provenance_for_node


def reference(db: GraphDbInterface, records: Sequence[GraphRecord]) -> MemoryBackend:
    """The reference over the same records, with evidence where the backend has its own."""
    default = type(db).provenance_for_node is GraphDbInterface.provenance_for_node
    return (PlainReference if default else MemoryBackend)(records)


@asynccontextmanager
async def both(trial: Trial, records: Sequence[GraphRecord]) -> AsyncIterator[tuple[Graph, Graph]]:
    """The backend and the reference, each behind tools and cache."""
    async with (
        trial.filled(records) as db,
        open_graph(db) as mine,
        open_graph(reference(db, trial.kept(records))) as wanted,
    ):
        yield mine, wanted


def uncached(db: GraphDbInterface) -> Graph:
    """The six tools straight over a backend."""
    return Graph(db, "", Limits(), None)


async def said(graph: Graph, tool: str, arguments: dict[str, Any]) -> Said:
    """What a client gets: the bytes of an answer, or what a program reads of a refusal."""
    try:
        answer = await graph.call(tool, arguments)
    except ToolError as refused:
        return ("refused", refused.kind, refused.argument)
    if tool == "describe_schema":
        told = json.loads(answer.text)
        return tuple((k, told[k]) for k in ("entity_types", "predicates", "comprehensive"))
    return answer.blocks


async def same(mine: Graph, wanted: Graph, tool: str, arguments: dict[str, Any]) -> None:
    """Ask both.

    Raises:
        Broken: They differ.
    """
    want = await said(wanted, tool, arguments)
    have = await said(mine, tool, arguments)
    if have != want:
        raise Broken(difference(f"{tool}({_short(arguments)})", have, want))


def difference(asked: str, have: object, want: object) -> str:
    """What was asked, and both answers from the first difference on."""
    one, other = str(have), str(want)
    first = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    start = max(0, first - SHOWN // 2)
    return (
        f"{asked} gave ...{one[start : start + SHOWN]}..., the reference gives "
        f"...{other[start : start + SHOWN]}..."
    )


def ids_of(records: Iterable[GraphRecord], most: int = 12) -> list[str]:
    """Ids of nodes, from everywhere in the graph."""
    ids = list(dict.fromkeys(r.id for r in records if isinstance(r, NodeRecord)))
    step = max(1, -(-len(ids) // most))
    return ids[::step]


def words_of(records: Iterable[GraphRecord]) -> tuple[list[str], list[str]]:
    """Types and predicates, sorted."""
    types, predicates = set(), set()
    for record in records:
        if isinstance(record, NodeRecord):
            types.add(record.entity_type)
        elif isinstance(record, EdgeRecord):
            predicates.add(record.predicate)
    return sorted(types - {""}), sorted(predicates)


def walks(records: Sequence[GraphRecord]) -> Iterator[dict[str, Any]]:
    """Arguments of `bfs_query` for a graph: depths, filters, pages, budgets."""
    ids = ids_of(records)
    types, predicates = words_of(records)
    for number, entity_id in enumerate(ids):
        yield {"seeds": [entity_id], "max_hops": 1 + number % 3}
    if not ids:
        return
    few = [ids[0], ids[-1]]
    yield {"seeds": few, "max_hops": 5}
    yield {"seeds": few, "max_hops": 2, "topology_only": True, "max_tokens": 0}
    yield {"seeds": few, "max_hops": 2, "limit": 3, "offset": 1}
    yield {"seeds": few, "max_hops": 2, "limit": 3, "offset": 10_000}
    yield {"seeds": few, "max_hops": 2, "max_tokens": 700}
    yield {"seeds": few, "max_hops": 3, "min_mentions": 2}
    if types and predicates:
        yield {"seeds": few, "max_hops": 2, "node_types": types[:1]}
        yield {"seeds": few, "max_hops": 2, "predicates": predicates[-1:]}
        yield {"seeds": few, "max_hops": 3, "exclude_node_types": types[-1:]}
        yield {"seeds": few, "max_hops": 1, "node_types": ["no such type"]}


def meetings(records: Sequence[GraphRecord]) -> Iterator[dict[str, Any]]:
    """Arguments of `intersect_subgraphs`: neighbours in the list, and strangers."""
    ids = ids_of(records)
    types, _ = words_of(records)
    for number, (one, other) in enumerate(zip(ids, [*ids[1:], ids[0]] if ids else [], strict=True)):
        yield {"seeds": [one, other], "k": 1 + number % 3}
    if len(ids) > 2:  # noqa: PLR2004 - three seeds
        yield {"seeds": ids[:3], "k": 2, "topology_only": True}
        yield {"seeds": ids[:2], "k": 2, "exclude_node_types": types[-1:]}


def _short(arguments: dict[str, Any]) -> str:
    text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
