"""`serve_graph(G)`: from a notebook to a model, without a file."""

import socket
import threading
from typing import Any

import bfsql
from bfsql_networkx.backend import NetworkxBackend
from bfsql_networkx.settings import Attributes


class Serving:
    """A server in a thread of its own; `url` is what MCP clients take, `stop()` ends it."""

    def __init__(self, server: Any, listening: socket.socket) -> None:
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        self._server = server
        self._thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Answer what is under way, then end."""
        self._server.should_exit = True
        self._thread.join()


def serve_graph(graph: Any, *, port: int = 0, about: str | None = None, **means: str) -> Serving:
    """Serve a networkx graph, as it is now, to MCP clients on this machine; does not block.

    Args:
        graph: Any networkx graph.
        port: Port of 127.0.0.1; 0 for a free one.
        about: What the graph is about, for the model.
        **means: `type`, `name`, `predicate`: the attributes that mean it.
    """
    import uvicorn

    backend = NetworkxBackend(graph, Attributes.model_validate(means))
    app = bfsql.create_server(backend, about).streamable_http_app()
    config = uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=5)
    return Serving(uvicorn.Server(config), socket.create_server(("127.0.0.1", port)))
