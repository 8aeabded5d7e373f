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
CAFE = "id,type,name\na,Bar,Café Größe\nb,Bar,Tea room\n"
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
    Case("an edge list alone", {"e.csv": EDGE_LIST}, "Created 3 nodes", whole(3, 2)),
    Case(
        "an edge list alone, nodes not wanted",
        {"e.csv": EDGE_LIST},
        "all 2 edges dangle",
        "leave out --no-create-nodes",
        options="--no-create-nodes",
        code=1,
    ),
    Case(
        "an edge list with a type of node",
        {"e.csv": EDGE_LIST},
        r"a \(Person\)",
        options="--node-type Person --dry-run",
    ),
    Case(
        "nodes and edges",
        {"n.csv": NODES, "e.csv": EDGE_LIST},
        "Created 1 node .*for instance c",
        whole(3, 2),
    ),
    Case(
        "edges before nodes",
        {"n.csv": NODES, "e.csv": EDGE_LIST},
        whole(3, 2),
        command="e.csv n.csv",
    ),
    Case(
        "an edge list without a header",
        {"e.csv": "a,b\nb,c\n"},
        "it has no header: subject, object are names given here",
        whole(3, 2),
    ),
    Case("tabs in a file named csv", {"e.csv": EDGE_LIST.replace(",", "\t")}, whole(3, 2)),
    Case(
        "semicolons, as Excel writes them in Europe",
        {"e.csv": EDGE_LIST.replace(",", ";")},
        whole(3, 2),
    ),
    Case(
        "a header in capitals",
        {"n.csv": "ID,NAME,TYPE\na,Ann,Person\n"},
        r'a \(Person\) \{"name":"Ann"\}',
        options="--dry-run",
    ),
    Case(
        "a header in other words",
        {"n.csv": "key,kind\na,T\n"},
        "there is no column 'nokey'",
        "the columns are: key, kind",
        options="--id-column nokey",
        code=2,
    ),
    Case(
        "columns that are named",
        {"n.csv": "k,t\na,T\n"},
        r"a \(T\)",
        options="--id-column k --type-column t --dry-run",
    ),
    Case("a column twice", {"n.csv": "id,name,name\na,x,y\n"}, "'name' occurs twice", code=2),
    Case("a header alone", {"n.csv": "id,type\n"}, "the graph would have no node", code=1),
    Case("an empty file", {"n.csv": ""}, "empty", code=2),
    Case(
        "a row without an id",
        {"n.csv": NODES + ",Person,x\n"},
        "n.csv, line 4: id is missing",
        "all other lines are in the graph",
        whole(2, 0),
        code=1,
    ),
    Case(
        "the same, allowed",
        {"n.csv": NODES + ",Person,x\n"},
        "n.csv, line 4",
        whole(2, 0),
        options="--allow-refused",
    ),
    Case(
        "the same, strict",
        {"n.csv": NODES + ",Person,x\n"},
        "n.csv, line 4",
        "nothing was loaded",
        options="--strict",
        code=2,
    ),
    Case(
        "a row with too many cells",
        {"n.csv": NODES + "c,Person,x,y\n"},
        "line 4: has 4 cells",
        whole(2, 0),
        code=1,
    ),
    Case(
        "no row that can be used",
        {"n.csv": "id,type\n,x\n"},
        "no line of the source can be used",
        code=2,
    ),
    Case(
        "Latin-1",
        {"n.csv": CAFE.encode("latin-1")},
        "n.csv, line 2: this is not UTF-8",
        "cp1252 .*Café Größe",
        "--encoding",
        code=2,
    ),
    Case(
        "Latin-1 that is named",
        {"n.csv": CAFE.encode("latin-1")},
        whole(2, 0),
        options="--encoding latin-1",
    ),
    Case(
        "an encoding that there is not",
        {"n.csv": CAFE},
        "there is no encoding 'latin-99'",
        options="--encoding latin-99",
        code=2,
    ),
    Case(
        "a byte order mark",
        {"n.csv": b"\xef\xbb\xbf" + NODES.encode()},
        r"a \(Person\)",
        options="--dry-run",
    ),
    Case("UTF-16, as Excel writes it", {"n.csv": CAFE.encode("utf-16")}, "utf-16", whole(2, 0)),
    Case(
        "UTF-16 without a mark",
        {"n.csv": NODES.encode("utf-16-le")},
        "--encoding utf-16-le",
        code=2,
    ),
    Case(
        "line ends of Windows",
        {"n.csv": NODES.replace("\n", "\r\n")},
        r'b \(Person\) \{"name":"Bob"\}',
        options="--dry-run",
    ),
    Case(
        "line ends of old Macs",
        {"n.csv": NODES.replace("\n", "\r")},
        r'b \(Person\) \{"name":"Bob"\}',
        options="--dry-run",
    ),
    Case("gzip", {"n.csv.gz": gzip.compress(NODES.encode())}, whole(2, 0)),
    Case(
        "damaged gzip", {"n.csv.gz": gzip.compress(NODES.encode() * 500)[:-20]}, "damaged", code=2
    ),
    Case("a long cell", {"n.csv": f"id,type,text\na,T,{'x' * 1_000_000}\n"}, whole(1, 0)),
    Case(
        "somebody called Null",
        {"n.csv": "id,type,name\na,T,Null\nb,T,NaN\n"},
        r'a \(T\) \{"name":"Null"\}',
        r'b \(T\) \{"name":"NaN"\}',
        options="--null-text '' --dry-run",
    ),
    Case(
        "two files that disagree about a type",
        {"m.csv": "id,type\na,Person\n", "n.csv": "id,type\na,Robot\n"},
        "Duplicates merged: 1 node",
        r'a \(Person\) \{"other_types":\["Robot"\]\}',
        options="--dry-run",
    ),
    Case("JSON named csv", {"n.csv": NODE_LINK}, "n.csv", code=2),
    Case("a missing file", {}, "gone.csv: there is no such file", command="gone.csv", code=2),
    Case("a folder", {"d/n.csv": NODES}, "d/n.csv", whole(2, 0), command="d"),
    Case("a name with brackets", {"a[1].csv": NODES}, r"a\[1\]\.csv", whole(2, 0)),
    Case("an address", {}, "download it first", command="https://example.org/g.csv", code=2),
    Case(
        "JSON lines that stop halfway",
        {"n.jsonl": '{"id": "a"}\n{"id": "b", "na'},
        "n.jsonl, line 2: is not JSON",
        whole(1, 0),
        code=1,
    ),
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
        "KGX",
        {
            "n.tsv": "id\tcategory\tname\nMONDO:1\tbiolink:Disease\tflu\n",
            "e.tsv": "id\tsubject\tpredicate\tobject\nx\tMONDO:1\tbiolink:related_to\tHP:1\n",
        },
        r"MONDO:1 \(biolink:Disease\)",
        "MONDO:1 -biolink:related_to-> HP:1",
        options="--dry-run",
    ),
    Case(
        "nothing that is there to be removed",
        {"gone.csv": "id\nx\n"},
        "Not found, so not removed: 1, for instance .*x",
        whole(1, 0),
        command="--remove gone.csv",
    ),
    Case(
        "a node to be removed",
        {"gone.csv": "id\nold\n", "e.csv": EDGE_LIST},
        "Removed: 1 node, 0 edges",
        whole(3, 2),
        command="e.csv --remove gone.csv",
    ),
    Case(
        "a second file without a word",
        {"n.csv": NODES},
        "already contains a graph of 1 node",
        "--replace",
        "--append",
        options="--nothing-said",
        code=1,
    ),
    Case("a second file", {"n.csv": NODES}, whole(3, 0), options="--append"),
    Case(
        "blanks in the header",
        {"n.csv": "id, name, type\na, Ann, Person\n"},
        r'a \(Person\) \{"name":"Ann"\}',
        options="--dry-run",
    ),
    Case(
        "a header that is repeated",
        {"n.csv": NODES + NODES},
        "line 4 repeats the header",
        "Duplicates merged: 2 nodes",
        whole(2, 0),
    ),
    Case(
        "an unclosed quote",
        {"n.csv": NODES + 'c,Person,"Cleo\nd,Person,Dan\ne,Person,Eve\n'},
        "n.csv, line 4.*quote",
        code=1,
    ),
    Case(
        "100,000 columns",
        {"n.csv": "id," + ",".join(f"c{i}" for i in range(100_000)) + "\na" + "," * 100_000 + "\n"},
        "and .* more",
        whole(1, 0),
    ),
    Case(
        "names that are NaN",
        {"n.csv": "id,type,name\na,T,NaN\nb,T,None\nc,T,\n"},
        r"a \(T\) \{\}",
        r"b \(T\) \{\}",
        options="--dry-run",
    ),
    Case(
        "JSON lines of nodes and of edges, mixed",
        {"n.jsonl": '{"id": "a", "type": "T"}\n{"source": "a", "target": "b"}\n'},
        "read as nodes and edges; objects with two ends are edges",
        whole(2, 1),
    ),
    Case(
        "neo4j-admin",
        {
            "n.csv": "personId:ID,name,year:int,:LABEL\nk,Keanu,1964,Actor;Person\n",
            "e.csv": ":START_ID,role,:END_ID,:TYPE\nk,Neo,m,ACTED_IN\n",
        },
        r"k \(Actor\) .*1964",
        "k -ACTED_IN-> m",
        options="--dry-run",
    ),
    Case(
        "Gephi's two tables",
        {
            "n.csv": "Id,Label\n1,Ann\n2,Bob\n",
            "e.csv": "Source,Target,Type,Id,Label,Weight\n1,2,Undirected,0,,1.0\n",
        },
        "1 -related_to-> 2",
        r'1 \(Node\) \{"name":"Ann"\}',
        options="--dry-run",
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
