"""Gremlin Servers to load into and to inspect."""

import pytest

from bfsql_gremlin.connection import Client


@pytest.fixture(scope="session")
def script():
    """Runs Groovy on a server, bypassing the tested traversals; returns the results."""

    async def run(settings, text, **bindings):
        client = Client(settings)
        try:
            return await client.script(text, **bindings)
        finally:
            await client.close()

    return run
