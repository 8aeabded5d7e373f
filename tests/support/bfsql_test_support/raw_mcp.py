"""Messages of MCP's 2025 protocol as a client sends them that uses no SDK."""

from __future__ import annotations

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
