"""The SDK's low-level server, with the six tools of one graph as its handlers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.models import InitializationOptions
from mcp.server.runner import serve_dual_era_loop
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

from bfsql.errors import ToolError
from bfsql.graph import Graph
from bfsql.plugins.version import __version__
from bfsql.server.calling import calling
from bfsql.server.messages import answered, listed, refused

NAME = "bfs-ql"
"""How the server calls itself to clients."""

GraphFactory: TypeAlias = Callable[[], AbstractAsyncContextManager[Graph]]
"""Opens a graph in the running event loop, and closes it at the end."""

_Context: TypeAlias = ServerRequestContext[Graph, Any]


class BfsqlServer(Server[Graph]):
    """One graph over MCP: stdio, streamable HTTP or in memory, both protocol eras.

    The graph is opened once, when serving begins, and closed when it ends. Until
    then there are no instructions: they tell of the graph that is open.

    Args:
        open_graph: Opens the graph; called once for every time the server runs.
        instructions: The operator's own text, added to the session's workflow.
        structured_content: Whether answers come as structured content too, which
            doubles their bytes, and output schemas are published.
    """

    def __init__(
        self,
        open_graph: GraphFactory,
        *,
        instructions: str | None = None,
        structured_content: bool = True,
    ) -> None:
        super().__init__(
            NAME,
            version=__version__,
            title="BFS-QL",
            lifespan=lambda _: self._opened(),
            get_tool_input_schema=lambda _: None,  # no argument of ours travels as a header
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        self._open_graph = open_graph
        self._operator_text = instructions
        self._structured = structured_content

    async def run(
        self,
        read_stream: ReadStream[SessionMessage | Exception],
        write_stream: WriteStream[SessionMessage],
        initialization_options: InitializationOptions | None = None,
        raise_exceptions: bool = False,  # noqa: FBT001, FBT002 - the SDK's signature
    ) -> None:
        """Serve one connection until the client leaves.

        The SDK fixes the handshake's instructions before the lifespan begins;
        here they are read when the graph is open.

        Args:
            read_stream: Messages from the client.
            write_stream: Messages to the client.
            initialization_options: What to say in the handshake, instructions
                aside; None for what the server says of itself.
            raise_exceptions: Whether a fault ends the connection, for tests.
        """
        async with self.lifespan(self) as graph:
            options = initialization_options or self.create_initialization_options()
            await serve_dual_era_loop(
                self,
                read_stream,
                write_stream,
                lifespan_state=graph,
                init_options=options.model_copy(update={"instructions": self.instructions}),
                raise_exceptions=raise_exceptions,
            )

    async def run_stdio(self, stdout: anyio.AsyncFile[str] | None = None) -> None:
        """Serve the process's standard input and output until the client leaves.

        Args:
            stdout: Where JSON-RPC goes; None for standard output.
        """
        async with stdio_server(stdout=stdout) as (read_stream, write_stream):
            await self.run(read_stream, write_stream)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Graph]:
        async with self._open_graph() as graph:
            self.instructions = graph.instructions(self._operator_text)
            yield graph

    async def _list_tools(
        self,
        ctx: _Context,
        params: PaginatedRequestParams | None,  # noqa: ARG002 - six tools are one page
    ) -> ListToolsResult:
        definitions = ctx.lifespan_context.definitions()
        return ListToolsResult(tools=[listed(d, structured=self._structured) for d in definitions])

    async def _call_tool(self, ctx: _Context, params: CallToolRequestParams) -> CallToolResult:
        try:
            answer = await ctx.lifespan_context.call(
                params.name, params.arguments, caller=calling(ctx)
            )
        except ToolError as error:
            return refused(error)
        return answered(answer, structured=self._structured)
