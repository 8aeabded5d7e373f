"""The other end of the wire: a real client's session with a server over stdio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp import Client, StdioServerParameters
from mcp_types import TextContent


@dataclass(frozen=True, slots=True)
class Session:
    """A session that has begun."""

    client: Client

    async def descriptions(self) -> dict[str, str]:
        """What the server says each of its tools is for, by name."""
        listed = await self.client.list_tools()
        return {tool.name: tool.description or "" for tool in listed.tools}

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """The first text block of a tool's answer, or of its error."""
        result = await self.client.call_tool(tool, arguments)
        first = result.content[0]
        return first.text if isinstance(first, TextContent) else ""


@asynccontextmanager
async def stdio_session(command: Sequence[str]) -> AsyncIterator[Session]:
    """Start a server as a subprocess and talk to it until the block ends.

    Args:
        command: The server's program and its arguments.
    """
    program, *arguments = command
    async with Client(StdioServerParameters(command=program, args=arguments)) as client:
        yield Session(client)
