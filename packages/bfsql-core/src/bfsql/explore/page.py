"""The page and the web API behind it as one ASGI application.

The page holds no data, so it is served without a token; the API that it calls asks for one. Its
files are in `page/`. They are looked up in a list that is made at the start, so that no path
leads out of that folder.
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bfsql import rest
from bfsql.answers.clean import clean_text
from bfsql.explore.replay import route as recorded_route
from bfsql.graph import Graph
from bfsql.http import server_of
from bfsql.rest.response import Problem, Reply, refusal
from bfsql.rest.routes import ROUTES
from bfsql.serving.access import require_known_names
from bfsql.serving.live import LiveGraph
from bfsql.serving.requests import with_headers
from bfsql.serving.tokens import TokenVerifier

if TYPE_CHECKING:
    from bfsql.settings import ServeSettings

GREETING = "BFS-QL answers at {url} (a page to explore the graph, and its web API; see /docs)"
"""What the operator reads when the server listens."""

FILES = Path(__file__).with_name("page")
"""The folder of the page's files."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The Content-Security-Policy: scripts and styles from files alone, and no text becomes markup."""

_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
}

_MEDIA_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".md": "text/plain",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
"""By the ending of a file; others are not served."""

_ROOT, _ASSETS = "/", "/assets/"
_SOURCE_URL = b'name="source-url" content="'


def application(
    graph: Graph | LiveGraph,
    settings: ServeSettings,
    verifier: TokenVerifier | None = None,
    *,
    replay: Path | None = None,
) -> ASGIApp:
    """The page at `/`, its files under `/assets/`, and the web API at all other paths.

    Args:
        graph: As `bfsql.rest.application` takes it.
        settings: Bounds, tokens, names and origins of both.
        verifier: Decides about bearer tokens in place of the settings.
        replay: File of recorded calls, for `GET /recorded`; None for no such route.

    Raises:
        ConfigurationError: The tokens or names of the settings cannot be used, or the recorded
            calls cannot be read.
    """
    name = graph.name if isinstance(graph, LiveGraph) else ""
    routes = ROUTES if replay is None else (*ROUTES, recorded_route(replay, name))
    api = rest.application(graph, settings, verifier, routes)
    files = Page(settings.source_url, settings.oauth_issuer)
    page = with_headers(require_known_names(files, settings, refusal))

    async def both(scope: Scope, receive: Receive, send: Send) -> None:
        path = _path(scope) if scope["type"] == "http" else ""
        of_page = path == _ROOT or path.startswith(_ASSETS)
        await (page if of_page else api)(scope, receive, send)

    return both


class Page:
    """The page's files as an ASGI application.

    Args:
        source_url: Address of a passage's source, with its fields in braces.
        issuers: URLs of OAuth issuers, which the page may connect to.
    """

    def __init__(self, source_url: str | None = None, issuers: tuple[str, ...] = ()) -> None:
        self._source_url = escape(source_url or "").encode()
        servers = " ".join(["'self'", *map(server_of, issuers)])
        policy = POLICY.replace("connect-src 'self'", f"connect-src {servers}")
        self._headers = {**_HEADERS, "Content-Security-Policy": policy}
        files = {path.relative_to(FILES).as_posix(): path for path in FILES.rglob("*")}
        served = {name: path for name, path in files.items() if path.suffix in _MEDIA_TYPES}
        self._files = {_ASSETS + name: path for name, path in served.items()}
        self._files[_ROOT] = FILES / "index.html"
        # The page saves it with an answer inside; at this address, the policy stops its script.
        self._files[_ASSETS + "card.html"] = FILES.parent / "card" / "graph.html"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for one of the files."""
        await self._response(Request(scope, receive))(scope, receive, send)

    def _response(self, request: Request) -> Response:
        path = _path(request.scope)
        if path not in self._files:
            return refusal(
                HTTPStatus.NOT_FOUND,
                f"The page has no file {clean_text(path)[:200]}. The page itself is at /.",
            )
        if request.method not in {"GET", "HEAD"}:
            return Problem(
                HTTPStatus.METHOD_NOT_ALLOWED,
                f"{request.method[:200]} is not allowed for this path, which accepts GET and HEAD.",
                {"Allow": "GET, HEAD"},
            ).response()
        file = self._files[path]
        compressed = "gzip" in request.headers.get("accept-encoding", "")
        content = _content(file, file.stat().st_mtime_ns, compressed, self._source_url)
        headers = self._headers | ({"Content-Encoding": "gzip"} if compressed else {})
        # Always asked for again, so that a newer version of the server is a newer page.
        return Reply(content, _MEDIA_TYPES[file.suffix], headers).response(request, "no-cache")


def _path(scope: Scope) -> str:
    """The path of a request, decoded, without the prefix of where the application is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


@lru_cache(maxsize=256)
def _content(file: Path, changed: int, compressed: bool, source: bytes) -> bytes:  # noqa: ARG001, FBT001
    """A file's bytes, with the template of sources; it is read again when it has changed."""
    content = file.read_bytes().replace(_SOURCE_URL, _SOURCE_URL + source)
    return gzip.compress(content, mtime=0) if compressed else content
