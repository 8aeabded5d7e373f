import asyncio

from mcp import Client

from bfsql import create_server

server = create_server(
    "sqlite",
    graph_description="Films, and who worked on them.",
    instructions="Name the films in your answers.",
    path="films.db",
)


async def main() -> None:
    async with Client(server) as client:
        answer = await client.call_tool("search_entities", {"query": "apollo"})
        print(answer.structured_content)


asyncio.run(main())
