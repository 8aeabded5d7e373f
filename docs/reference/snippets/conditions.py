import asyncio

from bfsql import MemoryBackend, open_graph
from bfsql.models import EdgeRecord, NodeRecord

RECORDS = [
    NodeRecord("t:1", "Trial", {"name": "Alpha", "status": "completed"}),
    NodeRecord("t:2", "Trial", {"name": "Beta", "status": "terminated"}),
    NodeRecord("t:3", "Trial", {"name": "Gamma", "status": "completed"}),
    NodeRecord("c:1", "Compound", {"name": "Ibuprofen"}),
    NodeRecord("c:2", "Compound", {"name": "Metformin"}),
    NodeRecord("c:3", "Compound", {"name": "Placebo"}),
    NodeRecord("d:1", "Disease", {"name": "Fever"}),
    EdgeRecord("t:1", "tests", "c:1"),
    EdgeRecord("t:2", "tests", "c:1"),
    EdgeRecord("t:3", "tests", "c:2"),
    EdgeRecord("c:1", "treats", "d:1"),
    EdgeRecord("c:2", "treats", "d:1"),
]

CALLS = [
    {"seeds": ["Compound[no <-tests- Trial]"]},
    {"seeds": ["Compound:*"], "where": ["<-tests- Trial >= 2"]},
    {"seeds": ["Fever"], "path": ["<-treats-"], "where": ["no <-tests- Trial[status=terminated]"]},
    {"seeds": ["Trial:*"], "path": ["-tests->", "<-tests-"], "where": ["2 != 0"]},
    {"seeds": ["Compound:*"], "where": ["no <-tests- Trial[status=stopped]"]},
]


async def main() -> None:
    async with open_graph(MemoryBackend(RECORDS)) as graph:
        for call in CALLS:
            answer = await graph.bfs_query(**call, show="ends" if "path" in call else None)
            names = [node["metadata"]["name"] for node in answer.content["nodes"]]
            print(*call.get("where", call["seeds"]), names)
        print(answer.notes[0])


asyncio.run(main())
