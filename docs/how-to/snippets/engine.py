import asyncio

from bfsql.engine import bfs_query
from bfsql.memory import MemoryBackend
from bfsql.models import BfsQuery, EdgeRecord, NodeRecord

tea = MemoryBackend(
    [
        NodeRecord("tea", "Drink", {"name": "Tea"}),
        NodeRecord("water", "Ingredient", {"name": "Water"}),
        EdgeRecord("tea", "MADE_OF", "water", {"confidence": 1.0}),
    ]
)
result = asyncio.run(bfs_query(tea, BfsQuery(seeds=["water"], max_hops=1, node_types=["Drink"])))
for node in result.nodes:
    print(node)
for edge in result.edges:
    print(edge)
