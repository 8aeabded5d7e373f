import asyncio

from bfsql import Limits, MemoryBackend, open_graph
from bfsql.models import EdgeRecord, NodeRecord

RECORDS = [
    NodeRecord("flu", "Topic", {"name": "Influenza"}),
    NodeRecord("paper:1", "Paper", {"name": "A trial", "year": 2019}),
    NodeRecord("paper:2", "Paper", {"name": "A cohort", "year": 2023}),
    NodeRecord("ada", "Person", {"name": "Ada"}),
    NodeRecord("bob", "Person", {"name": "Bob"}),
    EdgeRecord("paper:1", "about", "flu"),
    EdgeRecord("paper:2", "about", "flu"),
    EdgeRecord("ada", "authored", "paper:1"),
    EdgeRecord("ada", "reviewed", "paper:2"),
    EdgeRecord("bob", "authored", "paper:2"),
]
CALL = {
    "seeds": ["flu"],
    "path": ["<-about- Paper", "<-authored|reviewed- Person"],
    "show": "walks",
    "sort_by": "-1.year",
}


async def main() -> None:
    async with open_graph(MemoryBackend(RECORDS)) as graph:
        answer = await graph.call("bfs_query", CALL)
        print(answer.content["walk_count"], *answer.content["walks"], sep="\n")
    async with open_graph(MemoryBackend(RECORDS), limits=Limits(answer_format="lines")) as graph:
        answer = await graph.call("bfs_query", CALL)
        print(answer.text)


asyncio.run(main())
