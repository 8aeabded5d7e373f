"""The files of docs/how-to/operate.md name only options, keys and paths that exist."""

import json
import re
import shlex
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from bfsql.cli import bfsql
from bfsql.settings import ServeSettings

ROOT = Path(__file__).parent.parent
SNIPPETS = ROOT / "docs" / "how-to" / "snippets"
PAGES = ["SECURITY.md", "docs/how-to/operate.md", "docs/explanation/threat-model.md"]
OPTION = re.compile(r"--[a-z][a-z-]+")


def options_of(*command: str) -> set[str]:
    """The options in the help of a command."""
    return set(OPTION.findall(CliRunner().invoke(bfsql, [*command, "--help-all"]).stdout))


def names(arguments: list[str]) -> set[str]:
    return {argument.partition("=")[0] for argument in arguments if argument.startswith("--")}


@pytest.fixture(scope="module")
def serve() -> set[str]:
    of_backends = (options_of("serve", "--backend", name) for name in ("postgres", "gremlin"))
    return options_of("serve").union(*of_backends)


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((SNIPPETS / name).read_text("utf-8")))


def test_the_unit_starts_a_server_and_gives_it_time_to_stop(serve: set[str]) -> None:
    unit = RawConfigParser()
    unit.optionxform = str  # type: ignore[assignment]
    unit.read(SNIPPETS / "bfsql.service")
    program, *arguments = shlex.split(unit["Service"]["ExecStart"])
    assert (Path(program).name, arguments[0]) == ("bfsql", "serve")
    assert names(arguments) <= serve
    assert (SNIPPETS / Path(arguments[-1]).name).exists()
    assert int(unit["Service"]["TimeoutStopSec"]) > ServeSettings().grace
    assert "-HUP" in unit["Service"]["ExecReload"]


def test_the_containers_have_options_that_there_are(serve: set[str]) -> None:
    image = (ROOT / "Dockerfile").read_text("utf-8")
    entry = re.search(r"^ENTRYPOINT (.+)$", image, re.MULTILINE)
    composed = [
        one for name in ("compose", "compose-replicas") for one in documents(f"{name}.yaml")
    ]
    [pod] = [
        d["spec"]["template"]["spec"]
        for d in documents("kubernetes.yaml")
        if d["kind"] == "Deployment"
    ]
    [container] = pod["containers"]
    assert entry is not None
    assert names(json.loads(entry[1])) <= serve
    for compose in composed:
        assert names(compose["services"]["graph"]["command"]) <= serve
    assert names(container["args"]) <= serve
    assert pod["terminationGracePeriodSeconds"] > ServeSettings().grace
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert f"--admin-port={ports['admin']}" in container["args"]
    for probe, path in {"startup": "/readyz", "readiness": "/readyz", "liveness": "/livez"}.items():
        assert container[f"{probe}Probe"]["httpGet"] == {"path": path, "port": "admin"}


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_name_options_and_settings_that_there_are(page: str, serve: set[str]) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text("utf-8"), flags=re.DOTALL)
    others = {"--apply", "--tag", "--repository", "--require-hashes"}  # of other programs
    assert set(OPTION.findall(text)) - others <= serve
    named = set(re.findall(r"`([a-z]+_[a-z_]+)`", text))
    named -= {name for name in named if name.startswith(("bfsql_", "process_"))}
    hooks = {"redact_metadata", "refuse_call", "describe_schema", "stop_grace_period"}
    assert named - hooks <= set(ServeSettings.model_fields)


def test_the_metrics_of_the_page_are_those_of_the_server() -> None:
    folder = ROOT / "packages/bfsql-core/src/bfsql/serving"
    code = "".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    page = (ROOT / "docs/how-to/operate.md").read_text("utf-8")
    for name in set(re.findall(r"`(bfsql_[a-z_]+)`", page)):
        assert f'"{name.removesuffix("_total")}"' in code, name


def test_the_files_for_many_people_have_options_that_there_are(serve: set[str]) -> None:
    files = [
        f"for-200-people/{name}.yaml" for name in ("kubernetes", "ingress-sessions", "ingress")
    ]
    kinds = {one["kind"]: one["spec"] for file in files for one in documents(file)}
    template = kinds["Deployment"]["template"]
    [container] = template["spec"]["containers"]
    assert names(container["args"]) <= serve
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert kinds[kind]["selector"]["matchLabels"] == template["metadata"]["labels"]
    assert kinds["HorizontalPodAutoscaler"]["minReplicas"] == 2
