"""Gremlin Servers to load into and to inspect."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bfsql_gremlin import GremlinBackend, GremlinSettings
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


@pytest.fixture(scope="session")
def steps() -> Callable[[GremlinBackend], list[str]]:
    """Gives the list to which the steps of the traversals that a backend sends are appended."""

    def watched(backend: GremlinBackend) -> list[str]:
        texts: list[str] = []
        client = backend._client
        stream = client.stream

        def streamed(traversal: Any, **rest: Any) -> Any:
            texts.append(shape(traversal.bytecode))
            return stream(traversal, **rest)

        client.stream = streamed  # type: ignore[method-assign]
        return texts

    return watched


def shape(bytecode: Any) -> str:
    """The steps of a traversal without arguments, except for traversals in them."""
    return ".".join(
        f"{name}({', '.join(shape(v) for v in values if hasattr(v, 'step_instructions'))})"
        for name, *values in bytecode.step_instructions
    )
