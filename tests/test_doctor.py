"""`bfsql doctor`: if one thing is wrong, it is reported first, with its cure."""

import json
import os
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bfsql.cli import bfsql
from bfsql.cli.clients import CLIENTS
from bfsql_test_support.distributions import install
from bfsql_test_support.servers.port import free_port

pytestmark = pytest.mark.slow

Findings = list[dict[str, str]]
Doctor = Callable[..., Result]


@pytest.fixture
def doctor(tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch) -> Doctor:
    """`bfsql doctor` in an empty folder, for a user without clients."""
    monkeypatch.setattr(sys, "executable", str(programs / "python"))  # whose `bfsql` it starts
    home = tmp_path / "home"
    home.mkdir()
    own = [name for name in os.environ if name.startswith("BFSQL_")]  # set for the tests
    for variable in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLINE_DIR", *own):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(bfsql, ["doctor", *map(str, args)], prog_name="bfsql")


def first(result: Result) -> dict[str, str]:
    findings: Findings = json.loads(result.stdout)
    return findings[0]


def loaded(folder: Path, *options: str, **files: str) -> str:
    """Load CSV tables, given by name, and return the path of the graph."""
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    sources = [str(folder / f"{name}.csv") for name in files]
    path = str(folder / "made.db")
    done = CliRunner().invoke(bfsql, ["load", *sources, "--path", path, *options])
    assert done.exit_code == 0, done.output
    return path


def test_a_graph_that_is_in_order(doctor: Doctor, films_db: Path) -> None:
    result = doctor(films_db)
    assert result.exit_code == 0, result.output
    assert "0 wrong, 0 to review" in result.stdout
    for said in (
        "407 nodes, 1,012 edges",
        "a client over stdio received the six tools",
        "none is missing",
    ):
        assert said in result.stdout


def no_graph(_: Path) -> list[str]:
    return ["nowhere.db"]


def no_graph_file(folder: Path) -> list[str]:
    (folder / "odd.db").write_text("This is no graph.")
    return ["odd.db"]


def nameless(folder: Path) -> list[str]:
    edges = "subject,predicate,object\na,p,b\n"
    return [loaded(folder, n="id,type,size\na,T,1\nb,T,2\n", e=edges)]


def misdated(folder: Path) -> list[str]:
    edges = "subject,predicate,object,year\na,p,b,2020\n"
    graph = loaded(folder, n="id,type,name\na,T,A\nb,T,B\n", e=edges)
    return [graph, "--valid-from", "year,p.year,year.of"]


def unlabelled(folder: Path) -> list[str]:
    book = "@prefix ex: <https://example.org/> . ex:b a ex:Book ; ex:heading 'B' ; ex:on ex:c ."
    (folder / "books.ttl").write_text(book)
    return ["books.ttl"]


def no_server(_: Path) -> list[str]:
    dsn = f"postgres://nobody:hidden-word@127.0.0.1:{free_port()}/none"
    Path("dsn.txt").write_text(dsn)
    return ["--backend", "postgres", "--dsn-file", "dsn.txt"]


def broken_rdf(folder: Path) -> list[str]:
    (folder / "books.ttl").write_text("<a> <b> .")
    return ["books.ttl"]


def no_triples(folder: Path) -> list[str]:
    (folder / "none.ttl").write_text("# nothing yet\n")
    return ["none.ttl"]


@pytest.mark.parametrize(
    ("setup", "state", "subject", "words"),
    [
        (no_graph, "wrong", "store", "bfsql load SOURCE --path nowhere.db"),
        (no_graph_file, "wrong", "store", "odd.db"),
        (nameless, "warning", "names", "--name-column"),
        (
            unlabelled,
            "warning",
            "names",
            "bfsql serve FILE --label-property PROPERTY. Properties with text: ex:heading.",
        ),
        (misdated, "warning", "dates", "the property year.of, which is to say when facts hold."),
        (no_server, "wrong", "store", "127.0.0.1"),
        (broken_rdf, "wrong", "store", "books.ttl"),
        (no_triples, "wrong", "graph", "bfsql load --help"),
    ],
)
def test_what_is_wrong_with_a_store_or_graph_is_named_first(
    doctor: Doctor, tmp_path: Path, setup: Any, state: str, subject: str, *, words: str
) -> None:
    result = doctor(*setup(tmp_path), "--json")
    found = first(result)
    assert (found["state"], found["subject"]) == (state, subject)
    assert words in found["text"] + found["cure"]
    assert result.exit_code == (1 if state == "wrong" else 0)
    assert "hidden-word" not in result.output


@pytest.mark.parametrize("given", ["lab.db", "lab", "lab.toml"])
def test_how_tables_were_read_is_a_table(doctor: Doctor, tmp_path: Path, given: str) -> None:
    lab = Path(__file__).parents[1] / "docs" / "tutorial" / "snippets" / "lab"
    shutil.copytree(lab, tmp_path / "lab")
    load = ["load", "lab", "--path", "lab.db", "--write", "lab.toml"]
    assert CliRunner().invoke(bfsql, load).exit_code == 0
    lines = [line.split() for line in doctor(given).stdout.splitlines()]
    assert ["site", "->", "sites"] in [line[:3] for line in lines]
    assert ["people", "3", "nodes", "person,", "key", "id,"] in [line[:6] for line in lines]


def test_a_file_that_serves_http_as_a_role(doctor: Doctor, films_db: Path, tmp_path: Path) -> None:
    file = tmp_path / "served.toml"
    text = f'transport = "http"\nrest = true\n[backend]\npath = "{films_db}"\n'
    role = '[roles.reader]\ntokens = ["ann"]\nhide_types = ["Person"]\ntools = ["bfs_query"]\n'
    file.write_text(text + role)
    findings: Findings = json.loads(doctor("--config", file, "--as", "reader", "--json").stdout)
    assert [one["state"] for one in findings if one["subject"] == "MCP session"] == ["ok"]


def test_a_misspelt_variable(
    doctor: Doctor, films_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BFSQL_MAX_TOKEN", "100")
    found = first(doctor(films_db, "--json"))
    assert (found["state"], found["subject"]) == ("warning", "BFSQL_MAX_TOKEN")
    assert "spelling" in found["cure"]


def test_a_plugin_that_cannot_be_imported(
    doctor: Doctor, films_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site", "bfsql-broken", broken="no_such_module:plugin")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    found = first(doctor(films_db, "--json"))
    assert (found["state"], found["subject"]) == ("warning", "broken")
    assert "pip install" in found["text"]


def test_a_setting_that_cannot_be_used_is_a_sentence(doctor: Doctor, films_db: Path) -> None:
    result = doctor(films_db, "--deadline", "soon")
    assert result.exit_code == 2
    assert result.stderr.startswith("Option --deadline is 'soon'")


ODD = """
from bfsql import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.plugins import BackendPlugin, Proposal, ProposedSetting
from bfsql.settings import BackendSettings
from pydantic import SecretStr

class Settings(BackendSettings):
    place: str = "here"
    password: SecretStr | None = None
    ids: list[str] = []
    nodes: list[str] = []
    sharp: bool = False

async def open_(settings):
    return MemoryBackend(
        [
            NodeRecord("a", "T", {"name": "A"}),
            NodeRecord("b", "T", {"name": "B"}),
            NodeRecord("c", "Size", {"height": 1}),
            NodeRecord("d", "Place", {"height": 2}),
            EdgeRecord("a", "p", "b"),
        ]
    )

async def propose(settings):
    chosen = [
        ProposedSetting("ids", ["A B=x", "C,D=y"], "unique constraints"),
        ProposedSetting("sharp", True, "an index"),
    ]
    chosen = [one for one in chosen if one.field not in settings.model_fields_set]
    sentences = ("Nodes of E have no id.", "Nodes of Size have no name.")
    return Proposal(tuple(chosen), sentences, nameless=("Size",))

plugin = BackendPlugin("odd", Settings, open_, propose=propose)
"""


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend `odd` that chooses settings."""
    site = tmp_path / "site"
    install(site, "bfsql-odd", odd="odd_store:plugin")
    (site / "odd_store.py").write_text(ODD)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("BFSQL_ODD_PASSWORD", "hidden-word")


@pytest.mark.usefixtures("odd")
def test_what_a_backend_chose_is_a_line_that_can_be_run(doctor: Doctor) -> None:
    result = doctor("--backend", "odd", "--place", "over there", "--json")
    assert result.exit_code == 0, result.output
    found = {finding["subject"]: finding for finding in json.loads(result.stdout)}
    assert found["left out"]["text"] == "Nodes of Size have no name."
    assert found["names"]["text"].startswith("nodes of Place have no name")
    assert found["names"]["cure"].startswith("Name the column that holds them in --nodes")
    assert found["ids"]["text"] == "A B=x, C,D=y (chosen: unique constraints)"
    line = found["bfsql serve"]["cure"]
    assert found["bfsql install CLIENT"]["cure"] == line.replace("serve", "install CLIENT", 1)
    program, command, *options = shlex.split(line)
    assert (program, command) == ("bfsql", "serve")
    again = json.loads(doctor(*options, "--json").stdout)
    assert {"ids", "sharp", "place"} <= {finding["subject"] for finding in again}
    assert not any("chosen" in finding["text"] for finding in again)
    assert "hidden-word" not in result.output


@pytest.mark.usefixtures("odd")
def test_what_a_backend_chose_is_written_to_the_file(doctor: Doctor) -> None:
    result = doctor("--backend", "odd", "--place", "over there", "--write")
    assert result.exit_code == 0, result.output
    file = Path("bfsql.toml").read_text(encoding="utf-8")
    assert tomllib.loads(file)["backend"] == {
        "name": "odd",
        "place": "over there",
        "ids": ["A B=x", "C,D=y"],
        "sharp": True,
    }
    assert "hidden-word" not in file
    named = ("--config", "bfsql.toml")
    shown = CliRunner().invoke(bfsql, ["config", *named]).output
    assert 'ids = ["A B=x", "C,D=y"]  # ids in [backend] of bfsql.toml' in shown
    again = doctor("--write", *named)
    assert again.exit_code == 2
    assert "bfsql.toml exists and was not changed" in again.output
    assert Path("bfsql.toml").read_text(encoding="utf-8") == file


def test_nothing_is_written_if_something_is_wrong(doctor: Doctor) -> None:
    assert doctor("nowhere.db", "--write").exit_code == 1
    assert not Path("bfsql.toml").exists()


def entry(client: str, command: str, *args: str) -> None:
    path = CLIENTS[client].path(Path.home(), {})
    path.parent.mkdir(parents=True, exist_ok=True)
    servers = {"films": {"command": command, "args": ["-m", "bfsql", "serve", *args]}}
    path.write_text(json.dumps({"mcpServers": servers}))


def test_a_client_whose_environment_was_moved(
    doctor: Doctor, films_db: Path, tmp_path: Path
) -> None:
    entry("cursor", str(tmp_path / "moved" / "bin" / "python"), "--path", str(films_db))
    found = first(doctor(films_db, "--json"))
    assert (found["state"], found["subject"]) == ("wrong", "Cursor, films")
    assert "moved or removed" in found["text"]
    assert "bfsql install cursor --name films" in found["cure"]


def test_a_client_whose_graph_is_gone(doctor: Doctor, films_db: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone.db"
    shutil.copy(films_db, gone)
    entry("claude-desktop", sys.executable, "--path", str(gone))
    assert "Claude Desktop, films: it starts and answers" in doctor(films_db).stdout
    gone.unlink()
    found = first(doctor(films_db, "--json"))
    assert (found["state"], found["subject"]) == ("wrong", "Claude Desktop, films")
    assert "There is no graph at" in found["text"]


def test_a_client_file_that_cannot_be_read(doctor: Doctor, films_db: Path) -> None:
    path = CLIENTS["cursor"].path(Path.home(), {})
    path.parent.mkdir()
    path.write_text('{"mcpServers": }')
    found = first(doctor(films_db, "--json"))
    assert (found["state"], found["subject"]) == ("warning", "Cursor")
    assert "line 1" in found["text"]
