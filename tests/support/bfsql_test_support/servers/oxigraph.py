"""An Oxigraph server of the test session, in memory."""

import shutil
import sys
import sysconfig
from pathlib import Path

from bfsql_test_support.servers.port import HOST, free_port
from bfsql_test_support.servers.process import ServerProcess
from bfsql_test_support.servers.sparql import SparqlServer
from bfsql_test_support.servers.unavailable import Unavailable

TIME_LIMIT = 30
"""Default limit of seconds for a query."""


class OxigraphServer(SparqlServer):
    """Oxigraph's own server, from PyPI's `oxigraph`; its data is in memory.

    Args:
        time_limit: Whole seconds that a query may take.
    """

    name = "oxigraph"
    query_path = "/query"
    update_path = "/update"
    store_path = "/store"

    def __init__(self, folder: Path, *, time_limit: int = TIME_LIMIT) -> None:
        self.port = free_port()
        options = ["--bind", f"{HOST}:{self.port}", "--timeout-s", str(time_limit)]
        self.process = ServerProcess(
            [_program(), "serve", *options], log=folder / "oxigraph.log", ready=self.is_ready
        )


def _program() -> str:
    """The program of this environment, whose scripts may not be on the path, or any other."""
    beside = (sysconfig.get_path("scripts"), str(Path(sys.executable).parent))
    found = next(filter(None, (shutil.which("oxigraph", path=path) for path in beside)), None)
    found = found or shutil.which("oxigraph")
    if found is None:
        raise Unavailable("there is no oxigraph here; pip install oxigraph brings it")
    return found
