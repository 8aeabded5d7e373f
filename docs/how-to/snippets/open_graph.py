import asyncio

import bfsql


async def main() -> None:
    limits = bfsql.Limits(max_tokens=5_000, deadline=10)
    async with bfsql.open_graph("sqlite", path="films.db", limits=limits) as graph:
        found = await graph.search_entities("nora")
        [nora] = found.content["result"]
        answer = await graph.bfs_query(seeds=[nora["id"]], max_hops=1)
        for node in answer.content["nodes"]:
            print(node["entity_type"], node["metadata"]["name"])


asyncio.run(main())
