"""Attacks by a `bfsql.toml` and other files that lie in the working directory."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bfsql.cli import bfsql
from bfsql.settings import BackendSettings, ServeSettings, options
from bfsql_gremlin import GremlinSettings
from bfsql_jsonld import JsonLdSettings
from bfsql_neo4j import Neo4jSettings
from bfsql_postgres import PostgresSettings
from bfsql_sparql import SparqlSettings
from bfsql_sqlite import SqliteSettings
from bfsql_test_support import commands

MODELS: dict[str, type[ServeSettings | BackendSettings]] = {
    "the server": ServeSettings,
    "sqlite": SqliteSettings,
    "postgres": PostgresSettings,
    "neo4j": Neo4jSettings,
    "gremlin": GremlinSettings,
    "sparql": SparqlSettings,
    "jsonld": JsonLdSettings,
}
REFERENCE = Path(__file__).parents[2] / "docs/reference/configuration.md"

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Writes a file into an empty working directory and runs a command there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run_there(text: str, *args: str, env: dict[str, str] | None = None) -> Result:
        Path("bfsql.toml").write_text(text, encoding="utf-8")
        return CliRunner().invoke(bfsql, args, prog_name="bfsql", env=env)

    return run_there


@pytest.mark.parametrize("name", MODELS)
def test_every_setting_is_declared_or_on_the_page_of_those_that_need_trust(name: str) -> None:
    [row] = re.findall(rf"^\| {name} \| (.*) \|$", REFERENCE.read_text("utf-8"), re.MULTILINE)
    told = re.findall(r"`(\w+)`", row.partition(";")[0])
    known, of_found = options(MODELS[name]), MODELS[name].found_file
    shared = BackendSettings.found_file.settings.split() if name != "the server" else []
    names = [*of_found.settings.split(), *shared]
    assert sorted(names) == sorted({*names} & {option.field for option in known})
    assert [option.key for option in known if option.field not in names] == told
    if name != "the server":
        assert [o.key for o in known if o.secret and o.field not in of_found.credentials] == []


COMMANDS = {
    "describe-schema": (),
    "search-entities": ("Tom",),
    "bfs-query": ("Tom",),
    "serve": (),
    "doctor": (),
    "check": (),
    "explore": ("--no-browser",),
    "load": ("nodes.csv",),
    "install": ("cursor", "--print"),
    "index": (),
    "config": (),
}
SETTINGS = {
    "instructions": 'instructions = "Obey."',
    "host": 'host = "0.0.0.0"\ntransport = "http"',
    "insecure": "insecure = true",
    "admin_host": 'admin_host = "0.0.0.0"\nadmin_port = 1',
    "cors_origins": 'cors_origins = ["*"]',
    "record": 'record = "word"',
    "embedding": '[backend]\nembedding = "runpy:run_path"',
    "embedding with a graph": (
        '[backend]\ndsn = "postgresql://example.org/db"\nembedding = "https://example.org"'
    ),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_found_file_ends_every_command_that_it_would_subvert(run: Run, command: str) -> None:
    Path("word").write_text("raise SystemExit(7)", encoding="utf-8")
    for name, text in SETTINGS.items():
        named = text.replace("[backend]", '[backend]\nname = "postgres"')
        ended = run(named, command, *COMMANDS[command])
        assert (ended.exit_code, ended.stdout) == (2, ""), name
        assert name.partition(" ")[0] in ended.stderr
        [line] = ended.stderr.splitlines()
        assert "found in the working directory, not named" in line, name
        assert "`--config bfsql.toml` or set the environment variable BFSQL_CONFIG" in line, name
        assert Path("word").read_text(encoding="utf-8") == "raise SystemExit(7)"


@pytest.mark.parametrize(
    ("backend", "table", "environment", "setting"),
    [
        ("neo4j", 'uri = "bolt://example.org"', {"NEO4J_PASSWORD": "xyzzy"}, "uri"),
        (
            "neo4j",
            'ca_file = "evil.pem"',
            {"NEO4J_PASSWORD": "xyzzy", "NEO4J_URI": "bolt+s://db.example.org"},
            "ca_file",
        ),
        ("postgres", 'dsn = "postgresql://example.org/db"', {"PGPASSWORD": "xyzzy"}, "dsn"),
        ("postgres", 'dsn = "postgresql://example.org/db?%73ervice=mine"', {}, "dsn"),
        ("postgres", 'dsn = "postgresql://example.org/db?pass\\tfile=/a"', {}, "dsn"),
        ("sparql", 'endpoint = "http://example.org"', {"SPARQL_TOKEN": "xyzzy"}, "endpoint"),
        ("sparql", 'preset = "wikidata"', {"SPARQL_PASSWORD": "xyzzy"}, "preset"),
        (
            "sparql",
            'authentication = "basic"',
            {"SPARQL_ENDPOINT_URL": "http://db.example.org", "SPARQL_PASSWORD": "xyzzy"},
            "authentication",
        ),
        ("gremlin", 'uri = "ws://example.org"', {"GREMLIN_PASSWORD": "xyzzy"}, "uri"),
        ("gremlin", 'uri = "wss://example.org"', {"GREMLIN_AWS_REGION": "eu-west-1"}, "uri"),
        ("gremlin", 'aws_region = "eu-west-1"', {}, "aws_region"),
        ("jsonld", 'base_url = "http://example.org"', {"JSONLD_API_KEY": "xyzzy"}, "base_url"),
        (
            "jsonld",
            'base_url = "http://example.org"',
            {"BFSQL_JSONLD_HEADERS": "Cookie=xyzzy"},
            "base_url",
        ),
        ("jsonld", 'headers = {Metadata-Flavor = "Google"}', {}, "headers"),
    ],
)
def test_a_credential_is_not_sent_to_an_address_of_a_found_file(
    run: Run, backend: str, table: str, environment: dict[str, str], setting: str
) -> None:
    ended = run(f'[backend]\nname = "{backend}"\n{table}', "describe-schema", env=environment)
    assert ended.exit_code == 2
    assert f"but not set {setting}" in ended.stderr
    assert "xyzzy" not in ended.stderr


@pytest.mark.parametrize(
    ("backend", "table", "environment"),
    [
        ("neo4j", 'uri = "bolt://example.org"', {"OPENAI_API_KEY": "xyzzy"}),
        ("neo4j", 'password = "x"', {"NEO4J_URI": "bolt://db.example.org"}),
        ("neo4j", 'uri = "bolt://example.org"\npassword = "x"', {}),
        ("neo4j", 'uri = "bolt://a"', {"NEO4J_URI": "bolt://b", "NEO4J_PASSWORD": "x"}),
        ("postgres", 'dsn = "postgresql://me:x@example.org/db?sslmode=require"', {}),
        ("postgres", 'schema = "s"', {"DATABASE_URL": "postgresql://me:x@example.org/db"}),
        (
            "sparql",
            'preset = "fuseki"',
            {"SPARQL_ENDPOINT_URL": "http://db.example.org", "SPARQL_PASSWORD": "x"},
        ),
    ],
)
def test_a_graph_is_chosen_and_described_by_a_found_file(
    run: Run, monkeypatch: pytest.MonkeyPatch, backend: str, table: str, environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    text = f'graph_description = "A."\nmax_tokens = 900\n[backend]\nname = "{backend}"\n{table}'
    ended = run(text, "config", env=environment)
    assert ended.exit_code == 0
    assert f'name = "{backend}"  # name in [backend] of bfsql.toml (found file)' in ended.stdout
    named = run(text, "config", env={**environment, "BFSQL_CONFIG": "bfsql.toml"})
    assert "bfsql.toml (named file)" in named.stdout


@pytest.mark.parametrize(
    ("table", "command"),
    [
        ('path = "elsewhere.db"', ("load", "nodes.csv")),
        ('name = "neo4j"', ("load", "nodes.csv")),
        ('name = "neo4j"\nuri = "bolt://example.org"', ("index", "--apply")),
    ],
)
def test_a_found_file_chooses_nothing_that_is_written_to(
    run: Run, table: str, command: tuple[str, ...]
) -> None:
    Path("nodes.csv").write_text("id,type\na,T\n", encoding="utf-8")
    ended = run(f"[backend]\n{table}", *command)
    assert ended.exit_code == 2
    assert "(what is written to)" in ended.stderr
    assert not Path("elsewhere.db").exists()
    if "path" in table:
        assert run(f"[backend]\n{table}", *command, "--path", "graph.db").exit_code == 0
        assert run(f"[backend]\n{table}", *command, "--config", "bfsql.toml").exit_code == 0


def test_plug_ins_and_modules_of_the_folder_are_not_found(tmp_path: Path) -> None:
    metadata = tmp_path / "evil-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
    points = "[bfsql.hooks]\nevil = evil\n[bfsql.backends]\nevil = evil:plugin\n"
    (metadata / "entry_points.txt").write_text(points)
    (tmp_path / "evil.py").write_text("print('ran')")
    (tmp_path / "click.py").write_text("print('ran')")
    for command in (("backends",), ("--help",), ("doctor", "--backend", "evil")):
        ended = commands.run(sys.executable, "-m", "bfsql", *command, cwd=tmp_path)
        assert "ran" not in ended.stdout.split()
        assert "evil" not in ended.stdout
