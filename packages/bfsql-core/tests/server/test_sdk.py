"""What the server relies on of the MCP SDK beside its documentation.

If a release of the SDK changes it, the test says what has to be adapted in
`bfsql.server.subscriptions`.
"""

import asyncio
from weakref import WeakSet

from mcp import Client
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp_types import ListToolsResult, ToolListChangedNotification


async def test_a_request_of_a_session_names_the_connection_that_notifies_its_client():
    connections: WeakSet[Connection] = WeakSet()
    changes: asyncio.Queue[object] = asyncio.Queue()

    async def list_tools(ctx, params):
        connections.add(ctx.session._connection)
        return ListToolsResult(tools=[])

    async def note(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            changes.put_nowait(message)

    server = Server("sdk", on_list_tools=list_tools)
    async with Client(server, mode="legacy", message_handler=note) as client:
        await client.list_tools()
        await client.list_tools(cache_mode="refresh")
        [connection] = connections
        assert isinstance(connection, Connection)
        await connection.send_tool_list_changed()
        await asyncio.wait_for(changes.get(), 10)
