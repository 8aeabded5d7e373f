"""`[graphs.NAME]` on the command line: which graph a command takes, and what cannot be."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from mcp import Client, StdioServerParameters

from bfsql.cli import bfsql
from bfsql.cli.configuration import choose, configure
from bfsql.cli.configured import opened
from bfsql.memory_account import MemoryAccount
from bfsql.models import NodeRecord
from bfsql_sqlite import SqliteSettings, load_graph

TWO = '[graphs.films]\npath = "films.db"\ntitle = "Films"\n[graphs.lab]\npath = "lab.db"\n'


@pytest.fixture
async def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two graphs, of which each has one node, with the name of the graph."""
    for name in ("films", "lab"):
        records = [NodeRecord(name, "Thing", {"name": f"all {name}"})]
        await load_graph(SqliteSettings(path=tmp_path / f"{name}.db"), records)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.toml").write_text(TWO)
    return tmp_path


def run(*arguments: str, file: str = TWO) -> Result:
    """Run a command with a configuration file of this text."""
    Path("graphs.toml").write_text(file)
    return CliRunner().invoke(bfsql, [*arguments, "--config", "graphs.toml"])


WRONG = {
    '[graphs.a]\n[backend]\nname = "sqlite"': "has both [backend] and [graphs]",
    '[graphs."a/b"]\npath = "films.db"': "'a/b' in graphs.toml is no graph",
    "[graphs.Films]": "lower-case letters, digits and hyphens",
    "graphs = 5": "'graphs' in graphs.toml is no graph",
    "[graphs]": "write [graphs.NAME]",
    "[graphs]\nfilms = 1": "'films' in graphs.toml is no graph",
    "[graphs.a]\n[graphs.b]\n[graphs.a]": "this is not TOML",
    TWO: "There are several graphs. Choose one with --graph-name: films, lab.",
    "[graphs.a]\nlimits = 5": "backend has to be text, and limits a table",
    "[graphs.a]\nbackend = 5": "backend has to be text, and limits a table",
    '[graphs.a]\nname = "sqlite"': "Did you mean backend, which names the backend?",
    "[graphs.a.limits]\nmax_token = 5": "limits a table of max_tokens, deadline, max_nodes",
    "[graphs.a.limits]\nrecord = 'x'": "limits a table of max_tokens, deadline, max_nodes",
    "[graphs.a]\nmax_tokens = 5": "max_tokens in [graphs.a] of graphs.toml is unknown",
    '[graphs.a]\nbackend = "postgres"\ndsn_file = "nowhere"': "the file cannot be read",
}


@pytest.mark.parametrize("file", WRONG)
def test_a_wrong_file_is_one_sentence(folder: Path, file: str) -> None:
    wrong = run("describe-schema", file=file)
    assert (wrong.exit_code, WRONG[file] in wrong.stderr) == (2, True), wrong.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("serve",), "Choose it with --graph-name (films, lab), or serve all"),
        (("serve", "films.db", "lab.db"), "Choose it with --graph-name (films, lab), or serve"),
        (("serve", "films.db", "more/films.db"), "Two files have one name"),
        (
            ("search-entities", "--graph-name", "lb", "x"),
            "There is no graph 'lb'. Did you mean lab?",
        ),
        (("search-entities", "--graph-name", "lab", "--dsn", "y", "x"), "No such option"),
        (("search-entities", "--graph-name", "lab", "--as", "ann", "x"), "No roles are configured"),
        (("install", "cursor", "--print", "--name", "both"), "--name is for one graph"),
    ],
)
def test_what_is_not_possible_is_said(
    folder: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    (folder / "more").mkdir()
    shutil.copy("films.db", "more/films.db")
    wrong = run(*arguments)
    assert (wrong.exit_code, sentence in wrong.stderr) == (2, True), wrong.stderr


def test_a_command_takes_the_graph_that_it_is_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BFSQL_SQLITE_PATH", "films.db")
    monkeypatch.setenv("BFSQL_BACKEND", "postgres")
    lab = ("search-entities", "--graph-name", "lab", "all")
    assert json.loads(run(*lab).stdout)[0]["id"] == "lab"
    monkeypatch.setenv("BFSQL_GRAPHS_LAB_PATH", "films.db")
    assert json.loads(run(*lab).stdout)[0]["id"] == "films"
    monkeypatch.delenv("BFSQL_BACKEND")
    given = run("search-entities", "lab.db", "all")  # a file that is given is that graph
    assert json.loads(given.stdout)[0]["id"] == "lab"
    only = run("search-entities", "all", file='[graphs.one]\npath = "films.db"')
    assert json.loads(only.stdout)[0]["id"] == "films"


def test_a_graph_has_limits_and_texts_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BFSQL_GRAPHS_LAB_DEADLINE", "7")
    file = f"max_tokens = 5000\n{TWO}[graphs.lab.limits]\nmax_tokens = 600\nmax_nodes = 9\n"
    found = {name: run("config", "--graph-name", name, file=file) for name in ("films", "lab")}
    for line in ("max_tokens = 600", "max_nodes = 9", "deadline = 7", "# title is not set"):
        assert line in found["lab"].stdout
    for line in ("max_tokens = 5000", "# max_nodes is not set", 'title = "Films"'):
        assert line in found["films"].stdout


def test_the_graphs_are_listed_with_their_states(folder: Path) -> None:
    assert run("graphs").stdout == "films\tok\nlab\tok\n"
    listed = run("graphs", file=f'{TWO}[graphs.gone]\npath = "gone.db"\n[graphs.odd]\nx = 1\n')
    assert listed.exit_code == 1
    states = dict(line.split("\t") for line in listed.stdout.splitlines())
    assert (states["films"], states["lab"]) == ("ok", "ok")
    assert "There is no graph at" in states["gone"]
    assert "x in [graphs.odd] of graphs.toml is unknown" in states["odd"]


def test_install_writes_an_entry_for_each_graph(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    assert run("install", "cursor").exit_code == 0
    servers = json.loads((folder / ".cursor" / "mcp.json").read_text())["mcpServers"]
    assert list(servers) == ["films", "lab"]
    file = str(folder / "graphs.toml")
    assert servers["lab"]["args"][:5] == ["serve", "--graph-name", "lab", "--config", file]
    assert run("install", "cursor", "--url", "http://127.0.0.1:1/mcp/far").exit_code == 0
    assert "far" in json.loads((folder / ".cursor" / "mcp.json").read_text())["mcpServers"]


def test_a_found_file_cannot_send_the_content_of_another(folder: Path) -> None:
    """Attack: a file in the working directory names a private file as a password to be sent."""
    (folder / "bfsql.toml").write_text(
        '[graphs.a]\nbackend = "neo4j"\nuri = "bolt://evil"\npassword_file = "private"\n'
    )
    refused = CliRunner().invoke(bfsql, ["describe-schema"])
    assert refused.exit_code == 2
    assert "may choose a graph and describe it, but not set password_file" in refused.stderr


def test_a_part_of_an_account_holds_within_the_whole() -> None:
    whole = MemoryAccount(100)
    one, two = MemoryAccount(70, whole), MemoryAccount(70, whole)
    assert [one.add(60), one.add(20), two.add(50), two.add(40)] == [True, False, False, True]
    assert (whole.held, one.held, two.held) == (100, 60, 40)
    assert one.add(-60)
    assert (whole.held, two.add(30), two.add(31)) == (40, True, False)


async def test_a_client_on_stdio_reads_the_name_of_the_graph(folder: Path, programs: Path) -> None:
    args = ["serve", "--config", str(folder / "two.toml"), "--graph-name", "films"]
    async with Client(StdioServerParameters(command=str(programs / "bfsql"), args=args)) as client:
        assert (client.server_info.name, client.server_info.title) == ("films", "Films")


@pytest.mark.parametrize("name", [None, "films"])
async def test_a_role_has_the_graph_of_its_own_settings(folder: Path, name: str | None) -> None:
    own = f'[roles.ann]\n[roles.ann.settings{".films" if name else ""}]\npath = "lab.db"'
    (folder / "ann.toml").write_text((TWO if name else '[backend]\npath = "films.db"\n') + own)
    variables = {f"BFSQL_{'GRAPHS_FILMS' if name else 'SQLITE'}_PATH": "films.db"}
    one = configure(choose(config="ann.toml", name=name, environment=variables)).with_server(
        rest=True
    )
    [ann] = one.server.settings.roles
    async with opened(one, served=True) as every, opened(one.with_server(role="ann")) as alone:
        for graph, thing in ((every, "films"), (every.for_role(ann), "lab"), (alone, "lab")):
            assert [one.id for one in await graph.db.search_entities("all")] == [thing]
