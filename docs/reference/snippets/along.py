import asyncio

from bfsql import MemoryBackend, open_graph
from bfsql.models import EdgeRecord, NodeRecord

PEOPLE = ["ada", "bob", "cleo", "dan"]
PAPERS = {"p:1": ["ada", "bob"], "p:2": ["bob", "cleo"], "p:3": ["cleo", "dan"]}
RECORDS = [
    *(NodeRecord(person, "Person") for person in PEOPLE),
    *(NodeRecord(paper, "Paper") for paper in PAPERS),
    *(EdgeRecord(person, "authored", paper) for paper, by in PAPERS.items() for person in by),
    EdgeRecord("ada", "knows", "dan"),
]


async def main() -> None:
    async with open_graph(MemoryBackend(RECORDS)) as graph:
        chain = await graph.bfs_query(seeds=["ada"], to=["dan"], along=["-authored-"])
        print(*chain.notes, [node["id"] for node in chain.content["nodes"]])
        whole = await graph.bfs_query(seeds=["ada"], along=["-authored-> Paper", "<-authored-"])
        print(*whole.notes, whole.content["along"])


asyncio.run(main())
