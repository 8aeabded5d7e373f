import asyncio
import socket
import sys
from pathlib import Path

import uvicorn
from mcp import Client

sys.path.insert(0, str(Path(__file__).parent))
from mount import app


async def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        async with Client(f"http://127.0.0.1:{listening.getsockname()[1]}/films/mcp") as client:
            answer = await client.call_tool("search_entities", {"query": "nora ephron"})
            print(answer.content[0].text)
        server.should_exit = True
        await serving


asyncio.run(main())
