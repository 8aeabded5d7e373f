import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

import bfsql

graph_app = bfsql.create_server("sqlite", "Films", path="films.db").streamable_http_app()


@contextlib.asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    async with graph_app.router.lifespan_context(graph_app):  # opens the graph, and closes it
        yield


async def hello(_: Request) -> PlainTextResponse:
    return PlainTextResponse("Hello.")


app = Starlette(routes=[Route("/", hello), Mount("/films", graph_app)], lifespan=lifespan)
