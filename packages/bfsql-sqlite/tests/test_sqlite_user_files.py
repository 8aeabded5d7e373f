"""Files as users have them, good and broken: the output and exit code of `bfsql load`."""

import gzip
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bfsql.cli import bfsql
from bfsql_test_support.case_table import case_table
from bfsql_test_support.suites.user_files import Store, UserFilesSuite

pytestmark = pytest.mark.slow


EDGE_LIST = "source,target\na,b\nb,c\n"
NODES = "id,type,name\na,Person,Ann\nb,Person,Bob\n"
TTL = "@prefix e: <http://e.org/> .\n"
NODE_LINK = '{"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b"}]}'


class Case:
    """A command with its input files, expected output and exit code.

    Args:
        name: The name of the test.
        files: The files by name.
        *says: Patterns, each of which must match the output.
        options: What follows the names of the files on the command line.
        command: The whole command line, if it is another one; without `--replace --path graph.db`.
        code: 1: lines or the whole load were refused; 2: nothing can be read.
    """

    def __init__(self, name, files, *says, options="", command=None, code=0):
        self.name, self.files, self.says, self.code = name, files, says, code
        self.command = " ".join([*files, options]) if command is None else command


def whole(nodes, edges):
    """The report's statement about a graph of this size."""
    of = [f"{n} {thing}{'s' * (n != 1)}" for n, thing in ((nodes, "node"), (edges, "edge"))]
    return f"graph.db now holds {', '.join(of)}"


CASES = [
    Case(
        "nodes and edges",
        {"n.csv": NODES, "e.csv": EDGE_LIST},
        "Created 1 node .*for instance c",
        whole(3, 2),
    ),
    Case("tabs in a file named csv", {"e.csv": EDGE_LIST.replace(",", "\t")}, whole(3, 2)),
    Case("an empty file", {"n.csv": ""}, "empty", code=2),
    Case(
        "the same, strict",
        {"n.csv": NODES + ",Person,x\n"},
        "n.csv, line 4",
        "nothing was loaded",
        options="--strict",
        code=2,
    ),
    Case(
        "no row that can be used",
        {"n.csv": "id,type\n,x\n"},
        "no line of the source can be used",
        code=2,
    ),
    Case("gzip", {"n.csv.gz": gzip.compress(NODES.encode())}, whole(2, 0)),
    Case("JSON named csv", {"n.csv": NODE_LINK}, "n.csv", code=2),
    Case("an address", {}, "download it first", command="https://example.org/g.csv", code=2),
    Case("networkx node-link", {"g.json": NODE_LINK}, whole(2, 1)),
    Case("Turtle", {"g.ttl": TTL + "e:a e:p e:b .\n"}, whole(2, 1)),
    Case(
        "N-Triples with a mistake",
        {"g.nt": "<http://e/a> <http://e/p> <http://e/b> .\nno triple\n"},
        "g.nt, line 2",
        whole(2, 1),
        code=1,
    ),
    Case(
        "RDF/XML named owl, cut",
        {"g.owl": "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>"},
        "g.owl",
        code=2,
    ),
    Case(
        "100,000 columns",
        {"n.csv": "id," + ",".join(f"c{i}" for i in range(100_000)) + "\na" + "," * 100_000 + "\n"},
        "and .* more",
        whole(1, 0),
    ),
    Case(
        "JSON lines of nodes and of edges, mixed",
        {"n.jsonl": '{"id": "a", "type": "T"}\n{"source": "a", "target": "b"}\n'},
        "read as nodes and edges; objects with two ends are edges",
        whole(2, 1),
    ),
]


class TestUserFiles(UserFilesSuite):
    @pytest.fixture
    def store(self, tmp_path):
        return Store(("--path", str(tmp_path / "graph.db")))

    def test_the_error_about_a_graph_that_is_there_names_both_options(self, load, old):
        assert "Use --replace to replace it, or --append to add to it." in load("more.csv").stderr

    def test_what_is_appended_is_merged_with_what_is_there(self, load, held, old):
        done = load("more.csv", "--append")
        assert done.exit_code == 0, done.stderr
        both = held()
        assert both.triples == {*old.triples, ("c", "KNOWS", "d")}
        assert load("nodes.csv", "edges.csv", "more.csv", "--replace").exit_code == 0
        assert held() == both

    def test_what_is_removed_is_gone_with_its_edges(self, load, held, old):
        Path("gone.csv").write_text("id\nc\nx\n", encoding="utf-8")
        done = load("--remove", "gone.csv")
        assert done.exit_code == 0, done.stderr
        assert "Removed: 1 node, 1 edge." in done.stdout
        assert "Not found, so not removed: 1, for instance " in done.stdout
        assert held().types.keys() == {"a", "b"}


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """The file of a graph with the node `old`."""
    folder = tmp_path_factory.mktemp("old")
    (folder / "old.csv").write_text("id,type\nold,Thing\n", encoding="utf-8")
    done = bfsql_here("load", str(folder / "old.csv"), "--path", str(folder / "graph.db"))
    assert done.exit_code == 0
    return (folder / "graph.db").read_bytes()


def bfsql_here(*args):
    return CliRunner().invoke(bfsql, args, prog_name="bfsql")


@pytest.fixture
def folder(tmp_path, monkeypatch, old):
    """The working directory; graph.db holds the node `old`."""
    (tmp_path / "graph.db").write_bytes(old)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@case_table("case", {case.name: case for case in CASES})
def test_a_file_as_a_user_has_it(case, tmp_path, monkeypatch, old):
    (tmp_path / "graph.db").write_bytes(old)
    monkeypatch.chdir(tmp_path)
    for name, content in case.files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    mode = [] if re.search("--(append|remove|nothing-said)", case.command) else ["--replace"]
    args = shlex.split(case.command.replace("--nothing-said", ""))
    done = bfsql_here("load", *args, *mode, "--path", "graph.db")
    printed = done.stdout + done.stderr
    assert done.exit_code == case.code, printed
    assert [said for said in case.says if not re.search(said, printed)] == [], printed
    if "now holds" not in done.stdout:  # a refused load changes nothing
        assert (tmp_path / "graph.db").read_bytes() == old
    if case.code and not done.stdout:
        assert done.stderr.count("\n") == 1


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="The superuser may read everything."
)
def test_a_file_that_may_not_be_read(folder):
    (folder / "e.csv").write_text(EDGE_LIST, encoding="utf-8")
    (folder / "e.csv").chmod(0)
    done = bfsql_here("load", "e.csv", "--replace", "--path", "graph.db")
    assert (done.exit_code, done.stderr) == (2, "e.csv: cannot be read: Permission denied\n")
