"""What the entry point `networkx` names; networkx is imported when a graph is opened."""

from bfsql.abc import GraphDbInterface
from bfsql.plugins import BackendPlugin
from bfsql_networkx.settings import NetworkxSettings


async def _open(settings: NetworkxSettings) -> GraphDbInterface:
    from bfsql_networkx.backend import NetworkxBackend
    from bfsql_networkx.files import read_graph

    return NetworkxBackend(read_graph(settings.path.expanduser()), settings)


plugin = BackendPlugin("a networkx graph in a file", NetworkxSettings, _open, contract=1)
