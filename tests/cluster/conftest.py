"""The cluster, which starts once; everyday runs have one JanusGraph server in it.

It ends with the tests of this folder: its nodes exchange messages as long as they run.
"""

from collections.abc import Iterator

import pytest

from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.missing import missing
from bfsql_test_support.servers.cluster import Cluster
from bfsql_test_support.servers.folder import folder
from bfsql_test_support.servers.unavailable import Unavailable


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """Three Cassandra nodes and the JanusGraph servers, without a graph."""
    with folder(in_memory=True) as place:
        try:
            running = Cluster(place, servers=2 if THOROUGH else 1)
        except Unavailable as none:
            missing("cluster", str(none))
        try:
            running.start()
            yield running
        finally:
            running.kill()
