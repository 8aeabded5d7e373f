"""Java, and programs for it that Maven fetches."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from bfsql_test_support.commands import run
from bfsql_test_support.servers.unavailable import Unavailable

FETCHING = 600
"""Longest time in seconds for fetching; 20 to 60 are usual."""
JAVA_OPTIONS = [
    *("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
    # Verifying the classes of a released program takes a quarter of its start.
    *("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
]
"""Options for a quick start and little memory, with nothing written outside the server's folder."""

POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tests</groupId>
  <artifactId>server</artifactId>
  <version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
DEPENDENCY = """\
    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{name}</artifactId>
      <version>{version}</version>
      <type>{kind}</type>
    </dependency>"""


@dataclass(frozen=True)
class Artifact:
    """The coordinates of a file in Maven."""

    group: str
    name: str
    version: str
    kind: str = "jar"

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"{self.name}-{self.version}.{self.kind}"


def java(needed_by: str, variable: str = "BFSQL_JAVA") -> str:
    """The Java to run: the one named by an environment variable, or the machine's."""
    found = shutil.which(os.environ.get(variable, "java"))
    if found is None:
        raise Unavailable(f"there is no Java here, which {needed_by} needs; {variable} names one")
    return found


def fetch(
    folder: Path, *artifacts: Artifact, alone: bool = False, otherwise: str = "install it"
) -> None:
    """Copy artifacts and their run-time dependencies into a folder.

    Args:
        alone: Omit the dependencies, which the artifacts include.
        otherwise: Advice if there is no Maven.
    """
    names = " and ".join(artifact.name for artifact in artifacts)
    maven = shutil.which("mvn")
    if maven is None:
        raise Unavailable(f"there is no Maven here to fetch {names}; {otherwise}")
    pom = folder / "pom.xml"
    wanted = "\n".join(DEPENDENCY.format(**vars(artifact)) for artifact in artifacts)
    pom.write_text(POM.format(dependencies=wanted))
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
    goal += [f"-DexcludeTransitive={str(alone).lower()}", f"-DoutputDirectory={folder}"]
    said = run(maven, "-B", "-ntp", "-q", "-f", pom, *goal, timeout=FETCHING)
    if said.returncode:
        raise Unavailable(f"Maven could not fetch {names}: {(said.stdout + said.stderr)[-500:]}")
