"""From a file to a networkx graph, by networkx's own readers."""

import json
from pathlib import Path
from typing import Any

import networkx as nx

from bfsql.errors import StoreError


def read_graph(path: Path) -> Any:
    """The graph in a file; raises StoreError where there is none."""
    readers = {".json": _node_link, ".graphml": nx.read_graphml, ".gexf": nx.read_gexf}
    if path.suffix not in readers:
        raise StoreError(f"{path} has to end in {', '.join(readers)}; write it so with networkx.")
    try:
        return readers[path.suffix](path)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}. Check --path.") from error
    except (ValueError, KeyError, TypeError, SyntaxError, nx.NetworkXError) as error:
        raise StoreError(f"{path} is no graph that networkx can read: {error!r}.") from error


def _node_link(path: Path) -> Any:
    data = json.loads(path.read_bytes())
    return nx.node_link_graph(data, edges="links" if "links" in data else "edges")
