"""The reference pages name everything that exists, and nothing else."""

import inspect
import re
from pathlib import Path

import click
import pytest
from pydantic import BaseModel

from bfsql import MemoryBackend, abc, errors, open_graph
from bfsql.cli import bfsql
from bfsql.cli.command import COMMANDS, KIT_COMMANDS
from bfsql.embedding import EmbeddingSettings
from bfsql.errors import BfsqlError, ToolError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.plugins import BackendPlugin, hookspecs
from bfsql.settings import BackendSettings, ServeSettings, options
from bfsql.sources import FORMATS
from bfsql.tools.parameters import PARAMETERS, Parameter
from bfsql_federation import FederationSettings
from bfsql_gremlin import GremlinSettings
from bfsql_jsonld import JsonLdSettings
from bfsql_neo4j import Neo4jSettings
from bfsql_postgres import PostgresSettings
from bfsql_sparql import SparqlSettings
from bfsql_sqlite import SqliteSettings
from bfsql_sqlite.connection import LAYOUT
from bfsql_test_support.stores_matrix import written
from bfsql_testing.conformance import rules

DOCS = Path(__file__).parent.parent / "docs"
ROW = re.compile(r"^\| `([^`]+)`[^|\n]*\|([^|\n]*)\|([^|\n]*)\|", re.MULTILINE)


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """The text below a heading, up to the next heading of the same or a higher level."""
    level = heading.split(" ", 1)[0]
    _, found, rest = f"\n{text}".partition(f"\n{heading}\n")
    assert found, f"there is no heading {heading!r}"
    return re.split(rf"^#{{1,{len(level)}}} ", rest, flags=re.MULTILINE)[0]


def headings(text: str, level: str) -> list[str]:
    return re.findall(rf"^{level} (.+)$", text, re.MULTILINE)


def bare(cell: str) -> str:
    return cell.strip().strip("`")


def test_each_point_and_page_that_the_source_cites_exists() -> None:
    points = {int(n) for n in re.findall(r"^(\d+)\. ", page("reference/protocol.md"), re.MULTILINE)}
    listed = section(page("explanation/layers.md"), "## Rules of the architecture")
    laws = {int(number) for number in re.findall(r"^(\d+)\. ", listed, re.MULTILINE)}
    assert points == {*range(1, len(points) + 1)}
    for file in DOCS.parent.glob("packages/*/src/**/*.py"):
        text = " ".join(file.read_text(encoding="utf-8").split())
        cited = re.findall(r"protocol(?:\.md`)? (\d+(?:(?:,| and| to)? \d+)*)", text)
        assert {int(n) for one in cited for n in re.findall(r"\d+", one)} <= points, file
        rules_cited = re.findall(r"[Rr]ule (\d+) of the architecture", text)
        assert {*map(int, rules_cited)} <= laws, file
        pages = re.findall(r"\(`([a-z-]+\.md)`", text)
        assert all((DOCS / "reference" / name).exists() for name in pages), (file, pages)
        assert not re.search(r"(?i)\b(?:chapter \d|appendix a\b)", text), file


def test_the_tools_are_all_there_in_the_order_of_the_protocol() -> None:
    assert headings(page("reference/tools.md"), "##") == [*PARAMETERS, "Notes", "Answers in lines"]


async def test_the_calls_about_a_graph_are_those_of_such_a_graph() -> None:
    records = [
        NodeRecord("d", "Disease"),
        NodeRecord("c", "Compound"),
        *(NodeRecord(f"t{i}", "Trial", {"phase": i}) for i in range(3)),
        *(EdgeRecord(f"t{i}", "studies", "d") for i in range(3)),
        EdgeRecord("t0", "tests", "c"),
    ]
    async with open_graph(MemoryBackend(records)) as graph:
        notes = (await graph.describe_schema()).content["tool_usage_notes"]
    calls = re.findall(r"^- .+: \{.+\}$", notes, re.MULTILINE)[-3:]
    assert "\n".join(f"    {call}" for call in calls) in page("reference/tools.md")


@pytest.mark.parametrize("tool", PARAMETERS)
def test_a_tool_is_described_with_every_argument_and_its_default(tool: str) -> None:
    rows = ROW.findall(section(page("reference/tools.md"), f"## {tool}"))
    known = {p.name: p for p in PARAMETERS[tool] if p.is_listed}
    described = {name: (kind, bare(default)) for name, kind, default in rows if name in known}
    assert list(described) == list(known)
    for name, (kind, default) in described.items():
        assert ("required" in kind) == known[name].required
        assert agrees(known[name], kind, default), f"{name}: {kind}, {default}"


def agrees(parameter: Parameter, kind: str, default: str) -> bool:
    """Whether bounds and default are those on the page."""
    bounds = (parameter.minimum if parameter.kind == "whole" else None, parameter.maximum)
    told = {int(number) for number in re.findall(r"\d+", kind)}
    if parameter.default is None:
        return told >= {bound for bound in bounds if bound is not None}
    return default == str(parameter.default).lower()


def test_every_error_has_a_section_and_every_section_an_error() -> None:
    raised = {
        name
        for name, found in vars(errors).items()
        if inspect.isclass(found) and issubclass(found, BfsqlError) and found is not BfsqlError
        if not name.startswith("_")
    }
    assert sorted(headings(page("reference/errors.md"), "###")) == sorted(raised)


def test_every_kind_of_tool_error_has_a_section() -> None:
    kinds = re.findall(r"`(\w+)`", (ToolError.__doc__ or "").partition("kind:")[2])
    assert headings(page("reference/errors.md"), "####") == kinds


@pytest.mark.parametrize(
    ("heading", "model"),
    [
        ("## The server", ServeSettings),
        ("## The embedded backend, `sqlite`", SqliteSettings),
        ("## Postgres", PostgresSettings),
        ("## Neo4j", Neo4jSettings),
        ("## Gremlin", GremlinSettings),
        ("## Several graphs as one", FederationSettings),
        ("## SPARQL", SparqlSettings),
        ("## JSON-LD and other web APIs", JsonLdSettings),
        ("## Search by meaning", EmbeddingSettings),
        ("## Facts that end", BackendSettings),
    ],
)
def test_every_setting_is_there_with_its_default(heading: str, model: type[BaseModel]) -> None:
    rows = ROW.findall(section(page("reference/configuration.md"), heading))
    told = [(name, bare(default)) for name, default, _ in rows]
    of_all, with_vectors = BackendSettings.model_fields, EmbeddingSettings.model_fields
    shared = {BackendSettings: {}, EmbeddingSettings: of_all}.get(model, with_vectors)
    own = [option for option in options(model) if option.field not in shared]
    assert told == [(option.key, option.default or "") for option in own]


def test_every_command_is_there_with_its_own_options() -> None:
    for name in (*COMMANDS, *KIT_COMMANDS):
        tool = name.replace("-", "_") in PARAMETERS
        text = section(page("reference/command-line.md"), f"{'###' if tool else '##'} bfsql {name}")
        command = bfsql.get_command(click.Context(bfsql), name)
        assert command is not None
        ours = {
            flag
            for param in command.params
            if not getattr(param, "hidden", False)
            for flag in param.opts
            if flag.startswith("--")
        }
        first = {f"--{p.name}" for p in PARAMETERS.get(name.replace("-", "_"), ())[:1]}
        shared = {"--backend", "--config", "--graph-name", "--verbose", "--help-all"}
        shared |= {"--all", "--json", "--as", "--answer-format"} | first if tool else set()
        assert [flag for flag in sorted(ours - shared) if flag not in text] == [], name


def test_every_method_and_field_of_the_backend_contract_is_there() -> None:
    text = page("reference/backend-contract.md")
    methods = [
        name
        for name, found in vars(abc.GraphDbInterface).items()
        if inspect.isfunction(found) and not name.startswith("_")
    ]
    assert [name for name in methods if f"| `{name}(" not in text] == []
    assert [name for name in BackendPlugin.__slots__ if f"| `{name}` |" not in text] == []
    assert f"the number {abc.CONTRACT} " in text


def test_every_hook_has_a_section_with_its_arguments_and_every_section_a_hook() -> None:
    text = page("reference/hooks.md")
    specified = {
        name: ", ".join(inspect.signature(found).parameters)
        for name, found in vars(hookspecs).items()
        if hasattr(found, "bfsql_spec")
    }
    assert headings(text, "##") == ["Rules", *specified]
    for name, arguments in specified.items():
        assert section(text, f"## {name}").strip().startswith(f"`{name}({arguments})`")


def test_every_format_of_graph_files_is_there_with_its_endings() -> None:
    rows = dict(
        re.findall(r"^\| `(\w[\w-]*)` \| ([^|]*) \|", page("reference/loading.md"), re.MULTILINE)
    )
    told = {name: tuple(re.findall(r"`([^`]+)`", endings)) for name, endings in rows.items()}
    assert told == {name: known.suffixes for name, known in FORMATS.items()}


def test_every_rule_of_the_kit_is_there_word_for_word() -> None:
    text = page("reference/conformance-kit.md")
    for rule in rules("filling", "reading"):
        assert f"| `{rule.id}` | {rule.behaviour} | {rule.source} |" in text


def test_the_page_of_stores_has_what_their_suites_declare() -> None:
    text = page("reference/stores.md")
    assert written(text) == text, "python -m bfsql_test_support.stores_matrix writes it anew"


def test_versioning_has_the_numbers_of_the_contract_and_of_the_embedded_file() -> None:
    text = (DOCS.parent / "VERSIONING.md").read_text(encoding="utf-8")
    assert f"(`PRAGMA user_version`), now {LAYOUT}." in text
    assert f"`bfsql.abc.CONTRACT`, now {abc.CONTRACT}:" in text
