"""A cluster on one machine: three Cassandra nodes, and JanusGraph servers in front of them."""

import sys
from pathlib import Path

from bfsql_test_support.servers.cassandra import CassandraNode
from bfsql_test_support.servers.gremlin import GremlinServer
from bfsql_test_support.servers.port import free_port
from bfsql_test_support.servers.process import ServerFailed
from bfsql_test_support.servers.unavailable import Unavailable

PROPERTIES = """\
gremlin.graph=org.janusgraph.core.JanusGraphFactory
storage.backend=cql
storage.hostname=127.0.0.1,127.0.0.2,127.0.0.3
storage.port={port}
storage.cql.keyspace=graph
storage.cql.local-datacenter=datacenter1
storage.cql.replication-strategy-class=SimpleStrategy
storage.cql.replication-factor=3
storage.cql.read-consistency-level=QUORUM
storage.cql.write-consistency-level=QUORUM
storage.cql.request-timeout=5000
storage.cql.init-wait-time=1000
graph.unique-instance-id=server{number}
graph.replace-instance-if-exists=true
query.batch.enabled=true
"""


class Cluster:
    """Each edge is on three nodes, of which two have to agree; each server has the whole graph."""

    def __init__(self, folder: Path, servers: int = 2) -> None:
        if sys.platform != "linux":
            raise Unavailable("a cluster on one machine needs Linux's loopback addresses")
        storage, port = free_port(), free_port()
        self.nodes = [
            CassandraNode(folder / f"cassandra{number}", number, storage, port)
            for number in (1, 2, 3)
        ]
        self.servers = []
        for number in range(1, servers + 1):
            place = folder / f"janusgraph{number}"
            place.mkdir()
            self.servers.append(GremlinServer.janusgraph(place))
            properties = PROPERTIES.format(port=port, number=number)
            (place / "graph.properties").write_text(properties)

    def start(self) -> None:
        """Start all processes, one after the other; the first server makes the tables."""
        for node in self.nodes:
            node.start()
        for server in self.servers:
            try:
                server.start()
            except ServerFailed:
                # A table is made by one node, and on a busy machine another may not have it yet.
                server.log.unlink()
                server.start()

    def kill(self) -> None:
        """Kill all processes."""
        for one in (*self.servers, *self.nodes):
            one.kill()
