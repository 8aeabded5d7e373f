"""The SDK's low-level server, with the six tools of one graph as its handlers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, nullcontext
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.runner import serve_dual_era_loop
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bfsql import call
from bfsql.cache import MAX_RECORDS
from bfsql.call import Caller
from bfsql.errors import BfsqlError, ToolError
from bfsql.graph import Backend, Graph, open_graph
from bfsql.plugins.distributions import __version__
from bfsql.server import apps
from bfsql.server.messages import MAX_NAME
from bfsql.server.passage import result_of, scope_of, with_passages
from bfsql.server.resources import add_resources, sentence_of
from bfsql.server.sessions import Sessions
from bfsql.server.standard_streams import reserved_stdin, reserved_stdout
from bfsql.server.stdio_transport import Lines
from bfsql.server.subscriptions import ListChanges
from bfsql.serving.access import (
    IDENTITY,
    ROLE,
    require_known_names,
    require_token,
    verified_token,
    verifier_of,
)
from bfsql.serving.live import LiveGraph, open_live
from bfsql.serving.requests import request_id_of, request_of, with_headers
from bfsql.serving.tokens import TokenVerifier
from bfsql.settings import ServeSettings
from bfsql.settings.server import HTTP_CACHE_TTL
from bfsql.tools import Limits, ToolDefinition, translate_errors
from bfsql.tools.descriptions import FRAME

if TYPE_CHECKING:  # private modules of the SDK
    from mcp.shared._stream_protocols import ReadStream, WriteStream

NAME = "bfs-ql"
"""The server's name in the handshake, if its graph has none."""

GREETING = "BFS-QL answers at {url}/mcp"
"""What the operator reads when the server listens over HTTP."""

WELCOME = """\
This is a BFS-QL server, which lets language models explore a knowledge graph over MCP.
Its endpoint is /mcp at this address (streamable HTTP). To connect a client, on its machine:
    bfsql install CLIENT --url ADDRESS/mcp
or add the URL to the client's settings, as a server of the type "http".
"""
"""What a browser shows at the server's address."""

log = logging.getLogger("bfsql")

_Context: TypeAlias = ServerRequestContext[LiveGraph, Any]


def create_server(
    backend_or_factory: Backend,
    graph_description: str | None = None,
    instructions: str | None = None,
    *,
    limits: Limits | None = None,
    structured_content: bool = True,
    cache_records: int = MAX_RECORDS,
    cache_ttl: float | None = HTTP_CACHE_TTL,
    hooks: Iterable[object] | None = None,
    **settings: Any,
) -> BfsqlServer:
    """Serve a graph: `mcp.Client(server)`, `server.run_stdio()`, `server.streamable_http_app()`.

    The backend is opened when serving begins, in the event loop that uses it, and closed when
    serving ends (an instance that the caller opened stays open).

        server = create_server(PostgresBackend.create, "Drugs and genes", dsn=dsn)
        uvicorn.run(server.streamable_http_app())

    Args:
        backend_or_factory: Name of an installed backend, an instance, a class, or an async callable
            that returns an instance.
        graph_description: What the graph is about, for `describe_schema`.
        instructions: The operator's own text, added to the server's instructions.
        limits: Limits of every call; None for the defaults.
        structured_content: Whether answers also have structured content.
        cache_records: Most cached nodes, edges and metadata records.
        cache_ttl: Seconds that a cached entry stays valid; None for as long as the server runs.
        hooks: The only hook plugins to use; None for the installed ones.
        settings: The backend's settings, as keyword arguments.

    Raises:
        BfsqlError: When serving begins, whatever opening the graph raises.
    """

    def opened() -> AbstractAsyncContextManager[Graph]:
        return open_graph(
            backend_or_factory,
            graph_description=graph_description,
            limits=limits,
            cache_records=cache_records,
            cache_ttl=cache_ttl,
            hooks=hooks,
            **settings,
        )

    texts = ServeSettings(instructions=instructions, structured_content=structured_content)
    return BfsqlServer(lambda: open_live(opened, texts))


class BfsqlServer(Server[LiveGraph]):
    """One graph over MCP: stdio, streamable HTTP or in memory, both protocol eras.

    The graph is opened once, when serving begins, and closed when it ends. Until
    then there are no instructions: they describe the graph that is open.

    Args:
        open_live: Opens the graph; called once for every time the server runs. Of its settings,
            the server reads `instructions` and `structured_content`.
        name: The server's name in the handshake, by which clients tell several graphs apart.
        title: Its name for people.
    """

    def __init__(
        self,
        open_live: Callable[[], AbstractAsyncContextManager[LiveGraph]],
        name: str = NAME,
        title: str = "BFS-QL",
    ) -> None:
        self._changes = ListChanges()
        super().__init__(
            name,
            version=__version__,
            title=title,
            lifespan=lambda _: self._opened(),
            get_tool_input_schema=lambda _: None,  # none of the arguments is sent as a header
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=self._changes.listen,
        )
        add_resources(self, self._turn)
        apps.add_card(self)
        self._open_live = open_live
        self._keeps_sessions = True

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """The SDK's options, which announce that the list of tools may change."""
        wanted = notification_options or NotificationOptions(tools_changed=self._keeps_sessions)
        return super().create_initialization_options(wanted, experimental_capabilities, extensions)

    async def run(
        self,
        read_stream: ReadStream[SessionMessage | Exception],
        write_stream: WriteStream[SessionMessage],
        initialization_options: InitializationOptions | None = None,
        raise_exceptions: bool = False,  # noqa: FBT001, FBT002 - the SDK's signature
    ) -> None:
        """Serve one connection until the client leaves.

        The SDK fixes the handshake's instructions and abilities before the lifespan begins;
        here they are read when the graph is open.

        Args:
            read_stream: Messages from the client.
            write_stream: Messages to the client.
            initialization_options: Content of the handshake except for instructions and abilities;
                None for the server's own.
            raise_exceptions: Whether an exception ends the connection, for tests.
        """
        async with self.lifespan(self) as live:
            own = self.create_initialization_options()
            known = {"instructions": own.instructions, "capabilities": own.capabilities}
            await serve_dual_era_loop(
                self,
                read_stream,
                write_stream,
                lifespan_state=live,
                init_options=(initialization_options or own).model_copy(update=known),
                raise_exceptions=raise_exceptions,
            )

    async def run_stdio(self, lines: Lines | None = None) -> None:
        """Serve the process's standard input and output until the client leaves.

        Args:
            lines: The client's messages; None for standard input and output, which are then
                reserved for messages.
        """
        with ExitStack() as reserved:
            if lines is None:
                stdin = reserved.enter_context(reserved_stdin())
                lines = Lines(stdin, reserved.enter_context(reserved_stdout()))
            async with lines as (read_stream, write_stream):
                await self.run(read_stream, write_stream)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[LiveGraph]:
        announcing: set[asyncio.Task[None]] = set()

        def introduce(graph: Graph) -> None:
            self.instructions = graph.instructions(live.settings.instructions)
            graph.graph_schema.count()
            if self._changes.anyone_listed:
                task = asyncio.get_running_loop().create_task(self._announce(live))
                announcing.add(task)
                task.add_done_callback(announcing.discard)

        async with self._open_live() as live:
            self._keeps_sessions = not live.settings.stateless
            live.on_open(introduce)
            live.calls.on_stop(self._changes.close)
            if live.settings.apps:
                self.extensions[apps.EXTENSION] = {}
            try:
                yield live
            finally:
                for task in announcing:
                    task.cancel()
                await asyncio.gather(*announcing, return_exceptions=True)

    async def _announce(self, live: LiveGraph) -> None:
        """Notify the clients if the new graph changes the descriptions of the tools."""
        try:
            await self._changes.announce(await self._tools(live))
        except BfsqlError as error:
            log.warning("The tools of the new graph cannot be listed. %s", error)

    async def _list_tools(
        self,
        ctx: _Context,
        params: PaginatedRequestParams | None,  # six tools are one page
    ) -> ListToolsResult:
        tools = await self._tools(ctx.lifespan_context, _caller(ctx), _identity(ctx))
        self._changes.note(ctx, tools)
        return ListToolsResult(tools=apps.with_card(tools) if apps.is_shown(ctx) else tools)

    async def _tools(
        self, live: LiveGraph, caller: Caller | None = None, identity: str = ""
    ) -> list[Tool]:
        async with live.graph(caller, identity) as graph:
            definitions = await graph.listed()
            structured = _sends_content(live, graph)
        return [_tool(d, structured=structured) for d in definitions]

    async def _call_tool(self, ctx: _Context, params: CallToolRequestParams) -> CallToolResult:
        try:
            asked = params.name, params.arguments
            async with self._turn(ctx, *asked) as (graph, caller, name):
                answer = await graph.call(*asked, caller=caller, request_id=name)
                structured = _sends_content(ctx.lifespan_context, graph)
        except ToolError as error:
            return _refused(error)
        drawn = apps.drawn_document(params.name, answer) if apps.is_shown(ctx) else None
        return result_of(ctx, answer, structured=structured, drawn=drawn)

    @asynccontextmanager
    async def _turn(
        self, ctx: _Context, what: str, arguments: Any
    ) -> AsyncIterator[tuple[Graph, Caller | None, str | None]]:
        """The graph, caller and id of a request at its turn; errors inside become `ToolError`s."""
        live, caller = ctx.lifespan_context, _caller(ctx)
        request, name = request_of(scope_of(ctx)), request_id_of(scope_of(ctx))
        admitted = False
        try:
            with translate_errors(live.current.limits, what):
                async with live.call(request, caller, _identity(ctx)) as graph:
                    admitted = True
                    yield graph, caller, name
        except ToolError as error:
            if not admitted:
                with call.scope(caller=caller, request_id=name) as scope:
                    live.current.observers.refused(error, what, arguments, scope)
            raise


def _sends_content(live: LiveGraph, graph: Graph) -> bool:
    """Whether answers also have structured content; the lines format has none."""
    return live.settings.structured_content and graph.limits.answer_format == "json"


def _tool(definition: ToolDefinition, *, structured: bool) -> Tool:
    """A tool as clients list it: read-only, idempotent, closed world.

    Without structured content no output schema is published, since clients would require it.
    """
    return Tool(
        name=definition.name,
        title=definition.title,
        description=definition.description,
        input_schema=definition.input_schema,
        output_schema=definition.output_schema if structured else None,
        annotations=ToolAnnotations(
            title=definition.title,
            read_only_hint=True,
            idempotent_hint=True,
            destructive_hint=False,
            open_world_hint=False,
        ),
    )


def _refused(error: ToolError) -> CallToolResult:
    """An error that the model reads (`protocol.md` 12)."""
    told = TextContent(type="text", text=sentence_of(error))
    return CallToolResult(content=[told], is_error=True, _meta=FRAME)


def _identity(ctx: _Context) -> str:
    """The caller's `Role.identity`."""
    return str(scope_of(ctx).get(IDENTITY, ""))


def _caller(ctx: _Context) -> Caller | None:
    """Over HTTP: the client's name for itself, its address and session, and its token's subject.

    None over stdio, where the only client is the one that started the process.
    """
    scope, params = scope_of(ctx), ctx.session.client_params
    client = params.client_info.name[:MAX_NAME] if params else None
    call.CLIENT.set(client)  # for recordings, which name it on stdio too
    if ctx.request is None or not scope:
        return None
    user = scope.get("user")
    token = user.access_token if isinstance(user, AuthenticatedUser) else None
    return Caller(
        client=client,
        subject=(token.subject or token.client_id or None) if token else None,
        session=ctx.request.headers.get(MCP_SESSION_ID_HEADER),
        address=ctx.request.client.host if ctx.request.client else None,
        role=scope.get(ROLE),
    )


def server_of(live: LiveGraph) -> BfsqlServer:
    """A server over a graph that the caller has opened and will close."""
    return BfsqlServer(lambda: nullcontext(live), live.name or NAME, live.title or "BFS-QL")


def application(
    graph: Graph | LiveGraph, settings: ServeSettings, verifier: TokenVerifier | None = None
) -> ASGIApp:
    """Serve streamable HTTP at `/mcp`: one open graph for any number of clients.

        async with bfsql.open_graph("sqlite", path="graph.db") as graph:
            app = application(graph, ServeSettings(transport="http"))

    Args:
        graph: Open, and closed by the caller when the application is no longer used. A `LiveGraph`
            is reopened when its store changes.
        settings: Limits, tokens and names; the address is not used.
        verifier: Verifies bearer tokens instead of the settings; a verifier of the SDK can be used.

    Raises:
        ConfigurationError: The tokens or names of the settings cannot be used.
    """
    live = LiveGraph(graph, settings) if isinstance(graph, Graph) else graph
    sdk = server_of(live).streamable_http_app(
        stateless_http=settings.stateless,
        max_request_body_size=settings.max_request_bytes,
        session_idle_timeout=settings.session_timeout,
        max_sessions=settings.max_sessions,
        # The SDK would check Host and Origin only after its redirects, and only up to the colon.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    live.sessions = sessions = Sessions(sdk, settings)
    live.lifespan = lambda: sdk.router.lifespan_context(sdk)
    app = _with_welcome(with_passages(sessions))
    verifier = verifier or verifier_of(settings)
    if verifier is not None:
        app = require_token(
            _with_user(app),
            verifier,
            _plain_text,
            settings,
            roles=lambda: live.settings.roles,
            path="/mcp",
        )
    return with_headers(require_known_names(app, settings, _plain_text))


def _with_user(app: ASGIApp) -> ASGIApp:
    """The SDK's application with the caller of each request: a session answers only its caller."""

    async def with_caller(scope: Scope, receive: Receive, send: Send) -> None:
        token = verified_token(scope)
        if token is not None:
            access = AccessToken(
                token="",  # which is not stored
                client_id=token.client_id,
                scopes=[*token.scopes],
                subject=token.subject,
                claims=None if token.claims is None else {**token.claims},
            )
            scope = {**scope, "user": AuthenticatedUser(access)}
        await app(scope, receive, send)

    return with_caller


def _with_welcome(app: ASGIApp) -> ASGIApp:
    """The application, which says at `/` what it is to those who open its address in a browser."""

    async def welcoming(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and path in ("", "/"):
            await _plain_text(HTTPStatus.OK, WELCOME)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return welcoming


def _plain_text(status: HTTPStatus, sentence: str) -> Response:
    return PlainTextResponse(sentence, status_code=status)
