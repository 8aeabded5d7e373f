import asyncio

from bfsql import MemoryBackend, open_graph
from bfsql.models import EdgeRecord, NodeRecord

PAPERS = {"paper:1": 2019, "paper:2": 2021, "paper:3": 2021, "paper:4": 2024}
AUTHORS = {"ada": ["paper:1", "paper:2", "paper:3"], "bob": ["paper:3", "paper:4"]}
RECORDS = [
    *(NodeRecord(paper, "Paper", {"year": year}) for paper, year in PAPERS.items()),
    *(NodeRecord(author, "Person") for author in AUTHORS),
    *(
        EdgeRecord(author, "authored", paper, {"share": "0.1"})
        for author, papers in AUTHORS.items()
        for paper in papers
    ),
]


async def main() -> None:
    async with open_graph(MemoryBackend(RECORDS)) as graph:
        answer = await graph.bfs_query(
            seeds=list(PAPERS), path=["<-authored- Person"], facets=["0.year"], limit=0
        )
        print(answer.content["facets"])
        answer = await graph.bfs_query(
            seeds=list(PAPERS),
            path=["<-authored- Person"],
            show="ends",
            measure=["count 0", "max 0.year", "sum 1.authored.share"],
            sort_by="-measure",
            topology_only=True,
        )
        for node in answer.content["nodes"]:
            print(node)


asyncio.run(main())
