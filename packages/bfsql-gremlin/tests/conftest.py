"""Gremlin Servers to load into and to inspect."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bfsql_gremlin import GremlinSettings
from bfsql_gremlin.connection import Client

Script = Callable[..., Awaitable[list[Any]]]


@pytest.fixture(scope="session")
def script() -> Script:
    """Runs Groovy on a server, bypassing the tested traversals; returns the results."""

    async def run(settings: GremlinSettings, text: str, **bindings: Any) -> list[Any]:
        client = Client(settings)
        try:
            return await client.script(text, **bindings)
        finally:
            await client.close()

    return run
