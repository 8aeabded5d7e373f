"""Neo4j Community as a folder of jars, from Maven Central or from a folder named by the user."""

import os
from pathlib import Path

from bfsql_test_support.downloads import fetched
from bfsql_test_support.servers.maven import Artifact, fetch
from bfsql_test_support.servers.unavailable import Unavailable

VERSION = "5.26.30"
"""The last release line that runs on Java 17."""
OTHERWISE = "BFSQL_NEO4J_HOME names its jars"


def jars() -> Path:
    """The folder of Neo4j's jars: BFSQL_NEO4J_HOME (or its `lib`), or fetched once by Maven."""
    if named := os.environ.get("BFSQL_NEO4J_HOME"):
        for folder in (Path(named), Path(named) / "lib"):
            if any(folder.glob("neo4j-[0-9]*.jar")):
                return folder
        raise Unavailable(f"BFSQL_NEO4J_HOME is {named}, but there is no neo4j-VERSION.jar in it")
    neo4j = Artifact("org.neo4j", "neo4j", VERSION)
    return fetched(f"neo4j-{VERSION}", lambda made: fetch(made, neo4j, otherwise=OTHERWISE))


def main_class(folder: Path) -> str:
    """The class that starts the server, which differs between calendar versions and version 5."""
    five = any(folder.glob("neo4j-5.*.jar"))
    return f"org.neo4j.server.{'CommunityEntryPoint' if five else 'Neo4jCommunity'}"
