"""A TCP proxy that passes each connection to the next of several ports that accepts it."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from bfsql_test_support.servers.port import HOST


@asynccontextmanager
async def balanced(ports: Sequence[int]) -> AsyncIterator[str]:
    """Serve in this event loop, and give the URL; connections end with the block."""
    order = deque(ports)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        ends = [writer]
        try:
            for _ in ports:
                order.rotate(-1)
                with suppress(OSError):
                    back, behind = await asyncio.open_connection(HOST, order[0])
                    ends.append(behind)
                    await asyncio.gather(_copied(reader, behind), _copied(back, writer))
                    break
        except asyncio.CancelledError:
            pass  # which asyncio's server would report as an error
        finally:
            for end in ends:
                end.close()
            tasks.discard(task)

    server = await asyncio.start_server(serve, HOST, 0)
    try:
        yield f"http://{HOST}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        running = list(tasks)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
    writer.close()
