"""A web server in a thread, and an API with routes that the test defines."""

import json
from typing import Any

import pytest

from bfsql_jsonld import JsonLdBackend
from bfsql_test_support.servers.bad_endpoint import BadEndpoint
from bfsql_test_support.servers.web import WebServer


class Pages:
    """An ASGI application: pages by raw path and query, and the requests received."""

    def __init__(self):
        self.pages: dict[str, Any] = {}
        self.asked: list[tuple[str, dict[str, str], bytes]] = []

    def __setitem__(self, target, page):
        """Set a page: a document, or a tuple of status, headers and body (text or JSON)."""
        self.pages[target] = page

    @property
    def targets(self):
        return [target for target, _, _ in self.asked]

    async def __call__(self, scope, receive, send):
        target = scope["raw_path"].decode()
        if scope["query_string"]:
            target += f"?{scope['query_string'].decode()}"
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.asked.append((target, headers, body))
        page = self.pages.get(target, (404, {}, {"title": "Not Found"}))
        if callable(page):
            page = page(headers, body)
        status, more_headers, content = page if isinstance(page, tuple) else (200, {}, page)
        sent = content if isinstance(content, bytes) else json.dumps(content).encode()
        told = {"content-type": "application/json", **more_headers}
        pairs = [(name.encode(), value.encode()) for name, value in told.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": sent})


@pytest.fixture
def web():
    with WebServer() as server:
        yield server


@pytest.fixture
def pages(web):
    """The pages that the server serves."""
    served = Pages()
    web.serve(served)
    return served


@pytest.fixture
def endpoint():
    with BadEndpoint() as server:
        yield server


@pytest.fixture
async def opened(request):
    """Opens backends over the server of the test, and closes them afterwards."""
    backends: list[JsonLdBackend] = []

    async def at(base_url=None, **settings):
        url = base_url or request.getfixturevalue("web").url
        backends.append(await JsonLdBackend.create(url, **settings))
        return backends[-1]

    yield at
    for backend in backends:
        await backend.close()
