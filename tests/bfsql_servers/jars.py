"""Neo4j Community as a folder of jars, from Maven Central or from where the user says."""

import os
import shutil
import subprocess
from pathlib import Path

from bfsql_servers.cache import fetched
from bfsql_servers.unavailable import Unavailable

VERSION = "5.26.30"
"""The last line that runs on Java 17."""
FETCHING = 600
"""Seconds that fetching may take; 20 to 60 are usual."""

POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tests</groupId>
  <artifactId>neo4j-server</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.neo4j</groupId>
      <artifactId>neo4j</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


def java() -> str:
    """The Java to run, BFSQL_NEO4J_JAVA or the machine's.

    Raises:
        Unavailable: There is none.
    """
    found = shutil.which(os.environ.get("BFSQL_NEO4J_JAVA", "java"))
    if found is None:
        raise Unavailable("there is no Java here, which Neo4j needs; BFSQL_NEO4J_JAVA names one")
    return found


def jars() -> Path:
    """The folder of Neo4j's jars: BFSQL_NEO4J_HOME (or its `lib`), or fetched once by Maven.

    Raises:
        Unavailable: There are none in that folder, or Maven is missing or could not fetch them.
    """
    if named := os.environ.get("BFSQL_NEO4J_HOME"):
        for folder in (Path(named), Path(named) / "lib"):
            if any(folder.glob("neo4j-[0-9]*.jar")):
                return folder
        raise Unavailable(f"BFSQL_NEO4J_HOME is {named}, but there is no neo4j-VERSION.jar in it")
    return fetched(f"neo4j-{VERSION}", _fetch)


def main_class(folder: Path) -> str:
    """The class that starts the server; calendar versions have another one than 5."""
    five = any(folder.glob("neo4j-5.*.jar"))
    return f"org.neo4j.server.{'CommunityEntryPoint' if five else 'Neo4jCommunity'}"


def _fetch(folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise Unavailable("there is no Maven here to fetch Neo4j; BFSQL_NEO4J_HOME names its jars")
    pom = folder / "pom.xml"
    pom.write_text(POM)
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
    said = subprocess.run(
        [maven, "-B", "-ntp", "-q", "-f", str(pom), *goal, f"-DoutputDirectory={folder}"],
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=FETCHING,
    )
    if said.returncode:
        raise Unavailable(f"Maven could not fetch Neo4j: {(said.stdout + said.stderr)[-500:]}")
