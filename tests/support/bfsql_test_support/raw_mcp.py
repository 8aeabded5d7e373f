"""Messages of MCP as a client sends them that uses no SDK; those of 2025 but for `tool_call`."""

import json
from typing import Any

HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "0"},
}
"""The parameters of `initialize`."""


def message(number: Any, method: str, params: Any = None) -> dict[str, Any]:
    """A request with this id."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


INITIALIZE = message(0, "initialize", HELLO)
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
"""The notification that begins a session."""

_VERSION = "2026-07-28"


def tool_call(tool: str, arguments: Any, client: str) -> tuple[str, dict[str, str]]:
    """Body and headers of an HTTP request that calls a tool by the protocol of 2026.

    Args:
        client: The client's name for itself.
    """
    meta = {
        "io.modelcontextprotocol/protocolVersion": _VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": _VERSION,
        "MCP-Method": "tools/call",
        "MCP-Name": tool,
    }
    return json.dumps(message(1, "tools/call", params)), headers
