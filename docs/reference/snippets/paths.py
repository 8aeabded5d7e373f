import asyncio

from bfsql import MemoryBackend, open_graph
from bfsql.models import EdgeRecord, NodeRecord

NODES = [
    ("lab:1", "Lab"), ("lab:2", "Lab"),
    ("ada", "Person"), ("bob", "Person"), ("cleo", "Person"),
    ("paper:1", "Paper"), ("paper:2", "Paper"), ("flu", "Topic"),
]  # fmt: skip
EDGES = [
    ("ada", "member_of", "lab:1"), ("bob", "member_of", "lab:1"), ("cleo", "member_of", "lab:2"),
    ("ada", "authored", "paper:1"), ("bob", "authored", "paper:1"),
    ("ada", "authored", "paper:2"), ("cleo", "authored", "paper:2"),
    ("paper:1", "about", "flu"), ("paper:2", "about", "flu"),
]  # fmt: skip
RECORDS = [NodeRecord(*node) for node in NODES] + [EdgeRecord(*edge) for edge in EDGES]


async def main() -> None:
    async with open_graph(MemoryBackend(RECORDS)) as graph:
        answer = await graph.bfs_query(
            seeds=["flu"],
            path=["<-about- Paper", "<-authored- Person", "-member_of-> Lab"],
            show="ends",
            measure="count 1",
            sort_by="-measure",
            topology_only=True,
        )
        for node in answer.content["nodes"]:
            print(node)
        answer = await graph.bfs_query(seeds=["flu"], path=["<-about- Person"])
        print(*answer.notes, sep="\n")


asyncio.run(main())
