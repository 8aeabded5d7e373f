import asyncio

import networkx as nx

import bfsql


async def main() -> None:
    async with bfsql.open_graph("sqlite", path="films.db") as graph:
        answer = await graph.bfs_query("Nora Ephron", max_hops=2)
    walked = answer.to_networkx()
    print(nx.shortest_path(walked.to_undirected(), "nora-ephron", "meg-ryan"))
    print(answer.to_pandas()["entity_type"].value_counts().to_dict())
    print(answer.to_pandas("edges")["predicate"].value_counts().to_dict())


asyncio.run(main())
