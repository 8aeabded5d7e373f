import asyncio
import socket
import sys
from pathlib import Path

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

sys.path.insert(0, str(Path(__file__).parent))
from own_tokens import serve


async def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/mcp"
    serving = asyncio.create_task(serve(port))
    async with httpx2.AsyncClient() as stranger:
        while True:
            try:
                assert (await stranger.post(url, json={})).is_client_error  # 401
                break
            except httpx2.ConnectError:
                await asyncio.sleep(0.1)
    async with (
        httpx2.AsyncClient(headers={"Authorization": "Bearer sesame"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        answer = await client.call_tool("search_entities", {"query": "nora ephron"})
        assert not answer.is_error, answer
    serving.cancel()


asyncio.run(main())
