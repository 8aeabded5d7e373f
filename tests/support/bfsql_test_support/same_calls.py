"""Print the answers to a fixed series of calls; the output has to be the same in every process.

python -m bfsql_test_support.same_calls [folder of a kgraph bundle]
"""

import asyncio
import random
import sys
from pathlib import Path

from bfsql import MemoryBackend, open_graph
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord


def made_up(number: int = 60) -> list[GraphRecord]:
    """A graph from a fixed seed, with values that a careless program would keep in sets."""
    draw = random.Random(7)
    ids = [f"n:{i}" for i in range(number)]
    nodes = [
        NodeRecord(
            i,
            draw.choice(("Drug", "Gene", "Disease")),
            {"name": draw.choice("abc"), "synonyms": draw.sample("uvwxyz", 3), "mixed": set("qrs")},
        )
        for i in (*ids, *draw.choices(ids, k=10))
    ]
    edges = [
        EdgeRecord(
            draw.choice(ids),
            draw.choice(("TREATS", "causes")),
            draw.choice([*ids, "gone:1"]),
            {"confidence": draw.random(), "source_documents": draw.sample("klmnop", 2)},
        )
        for _ in range(3 * number)
    ]
    return [*nodes, *edges, *edges[:20]]


async def main(bundle: str | None) -> None:
    """Make the calls and print the answers."""
    records = made_up()
    seeds = ["n:3", "n:1"]
    if bundle is not None:
        from bfsql.sources import read_all

        records = list(read_all([Path(bundle)]))
        seeds = ["RxNorm:3251", "MeSH:D003480"]
    async with open_graph(MemoryBackend(records)) as graph:
        for answer in (
            await graph.describe_schema(),
            await graph.search_entities("a"),
            await graph.bfs_query(seeds, 2),
            await graph.bfs_query(seeds, 3, topology_only=True, limit=10, offset=5),
            await graph.bfs_query(seeds, 2, max_tokens=2000),
            await graph.intersect_subgraphs(seeds, 2),
            await graph.describe_entity(seeds[0]),
            await graph.describe_entities(seeds),
        ):
            sys.stdout.buffer.write("\n".join(answer.blocks).encode() + b"\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:] or [None]))
