"""A server that is stopped while it answers, and clients that leave."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from bfsql_servers.served import Served, serving
from bfsql_servers.slow_store import Journal

pytestmark = pytest.mark.slow

ERAS = ("auto", "legacy")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


async def test_a_stop_during_a_call_loses_no_answer_over_mcp(journal: Journal) -> None:
    """Attack: SIGTERM during a call ended it as an empty 200 for clients of the 2025 protocol."""
    with serving(*journal.options(2), env=journal.env) as served:
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(Client(f"{served.url}/mcp", mode=era))
                for era in ERAS
            ]
            late = await stack.enter_async_context(Client(f"{served.url}/mcp", mode="legacy"))
            calls = [asyncio.create_task(walk(one, f"n{n}")) for n, one in enumerate(clients)]
            await journal.until(lambda seen: seen.count("began") == len(calls))
            served.process.terminate()
            await log_says_nothing_of_a_traceback(served)
            answers = await asyncio.gather(*calls)
            refused = await walk(late, "n9")
        code = await asyncio.to_thread(served.process.wait, 60)
    assert [answer.structured_content["node_count"] for answer in answers] == [3, 3]
    assert refused.is_error
    assert "is being stopped" in refused.content[0].text
    assert code == 0
    assert "Traceback" not in "\n".join(served.log)


async def walk(client: Client, seed: str) -> Any:
    return await client.call_tool("bfs_query", {"seeds": [seed], "max_hops": 1})


async def log_says_nothing_of_a_traceback(served: Served) -> None:
    await asyncio.sleep(0.3)
    assert "Traceback" not in "\n".join(served.log)
