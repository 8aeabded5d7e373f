import asyncio

from bfsql import MemoryBackend, open_graph
from bfsql.models import EdgeRecord, NodeRecord

RECORDS = [
    NodeRecord("t:1", "Trial", {"name": "Alpha", "phase": 3, "status": "completed"}),
    NodeRecord("t:2", "Trial", {"name": "Beta", "phase": 3, "status": "terminated"}),
    NodeRecord("t:3", "Trial", {"name": "Gamma", "phase": 2, "status": "terminated"}),
    NodeRecord("c:1", "Compound", {"name": "Ibuprofen"}),
    NodeRecord("c:2", "Compound", {"name": "Metformin"}),
    NodeRecord("c:3", "Compound", {"name": "Placebo"}),
    EdgeRecord("t:1", "tests", "c:1"),
    EdgeRecord("t:2", "tests", "c:1"),
    EdgeRecord("t:3", "tests", "c:2"),
]

CALLS = [
    {"seeds": ["Trial[phase=3]"]},
    {"seeds": ["Trial|Compound[name~a]"]},
    {"seeds": ["*[no phase]", "Alpha"], "limit": 2},
    {"seeds": ["Trial[phase=3][status=terminated]"], "path": ["-tests-> Compound"]},
    {"seeds": ["Trial:*"], "path": ["-tests-> Compound[name=Metformin]"], "show": 0},
]


async def main() -> None:
    async with open_graph(MemoryBackend(RECORDS)) as graph:
        for call in CALLS:
            answer = await graph.bfs_query(**call, fields=["name"])
            shown = [n["metadata"]["name"] for n in answer.content["nodes"]]
            print(call["seeds"], answer.content["seed_count"], shown)


asyncio.run(main())
