"""Apache Cassandra: one node of a cluster, on a loopback address of its own."""

from pathlib import Path

from bfsql_test_support.downloads import fetched
from bfsql_test_support.servers.maven import JAVA_OPTIONS, Artifact, fetch, java
from bfsql_test_support.servers.port import answers, free_port
from bfsql_test_support.servers.process import Server, ServerProcess

VERSION = "5.0.2"

CONFIGURATION = """\
cluster_name: tests
num_tokens: 4
allocate_tokens_for_local_replication_factor: 3
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "127.0.0.1:{storage}"
listen_address: {host}
rpc_address: {host}
storage_port: {storage}
native_transport_port: {native}
commitlog_sync: periodic
commitlog_sync_period: 10000ms
commitlog_segment_size: 8MiB
commitlog_disk_access_mode: legacy
data_file_directories: [{folder}/data]
commitlog_directory: {folder}/commitlog
saved_caches_directory: {folder}/saved_caches
hints_directory: {folder}/hints
cdc_raw_directory: {folder}/cdc
memtable_allocation_type: heap_buffers
memtable_heap_space: 64MiB
key_cache_size: 4MiB
file_cache_size: 32MiB
networking_cache_size: 16MiB
concurrent_reads: 8
concurrent_writes: 8
auto_snapshot: false
phi_convict_threshold: 6
"""
LOGGING = """\
<configuration>
  <appender name="console" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{HH:mm:ss.SSS} %-5level %logger{0} %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="console"/></root>
</configuration>
"""
EXPORTS = (
    "java.base/jdk.internal.misc", "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry", "java.rmi/sun.rmi.server", "java.sql/java.sql",
    "java.base/java.lang.ref", "jdk.unsupported/sun.misc", "jdk.compiler/com.sun.tools.javac.file",
    "jdk.attach/sun.tools.attach",
)  # fmt: skip
OPENS = (
    "java.base/java.lang.module", "java.base/jdk.internal.loader", "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect", "java.base/jdk.internal.math",
    "java.base/jdk.internal.module", "java.base/jdk.internal.util.jar",
    "jdk.management/com.sun.management.internal", "java.base/sun.nio.ch", "java.base/java.io",
    "java.base/java.lang.reflect", "jdk.compiler/com.sun.tools.javac", "java.base/java.lang",
    "java.base/java.util",
)  # fmt: skip
OPTIONS = (
    *JAVA_OPTIONS,
    *("-Xms128m", "-XX:MaxDirectMemorySize=128m", "-Xss512k", "-Djdk.attach.allowAttachSelf=true"),
    *("-Dio.netty.tryReflectionSetAccessible=true", "-Dio.netty.allocator.maxOrder=11"),
    *("-Dcassandra-foreground=yes", "-Dcassandra.superuser_setup_delay_ms=0"),
    # A node waits for the others to be heard from, which is quick on one machine.
    *("-Dcassandra.ring_delay_ms=2000", "-Dcassandra.gossip_settle_min_wait_ms=500"),
    *("-Dcassandra.gossip_settle_interval_ms=300", "-Dcassandra.consistent.rangemovement=false"),
    # Its clock for timeouts would wake each node 500 times a second.
    "-Dcassandra.approximate_time_precision_ms=50",
)


class CassandraNode(Server):
    """A node; its data is kept in its folder when it stops.

    Args:
        number: From 1: it listens on 127.0.0.NUMBER; node 1 is the seed of the others.
        storage: The port for other nodes, the same on all.
        port: The port for clients, the same on all.
    """

    def __init__(self, folder: Path, number: int, storage: int, port: int) -> None:
        self.host, self.port = f"127.0.0.{number}", port
        (folder / "tmp").mkdir(parents=True)
        configuration, logging = folder / "cassandra.yaml", folder / "logback.xml"
        values = {"host": self.host, "storage": storage, "native": port, "folder": folder}
        configuration.write_text(CONFIGURATION.format(**values))
        logging.write_text(LOGGING)
        properties = {
            "java.io.tmpdir": folder / "tmp",
            "jna.tmpdir": folder / "tmp",
            "logback.configurationFile": f"file://{logging}",
            "cassandra.config": f"file://{configuration}",
            "cassandra.storagedir": folder,
            "cassandra.logdir": folder,
            "cassandra.jmx.local.port": free_port(),
        }
        self.process = ServerProcess(
            [
                java("Cassandra"),
                *OPTIONS,
                *(f"--add-exports={one}=ALL-UNNAMED" for one in EXPORTS),
                *(f"--add-opens={one}=ALL-UNNAMED" for one in OPENS),
                *(f"-D{name}={value}" for name, value in properties.items()),
                *("-cp", f"{jars()}/*", "org.apache.cassandra.service.CassandraDaemon"),
            ],
            log=folder / "console.log",
            ready=lambda: answers(self.port, self.host),
            patience=180,
        )


def jars() -> Path:
    """The folder of Cassandra's jars, fetched once by Maven."""
    cassandra = Artifact("org.apache.cassandra", "cassandra-all", VERSION)
    return fetched(f"cassandra-{VERSION}", lambda made: fetch(made, cassandra))
