import asyncio

import httpx2

import bfsql
from bfsql.rest import application
from bfsql.settings import ServeSettings


async def main() -> None:
    async with bfsql.open_graph("sqlite", path="films.db") as graph:
        app = application(graph, ServeSettings(max_age=600))  # any ASGI server can run it
        there = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=there, base_url="http://127.0.0.1") as web:
            print((await web.get("/schema")).headers["cache-control"])


asyncio.run(main())
