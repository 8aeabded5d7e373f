"""`bfsql load`: its summary, and that a failed load damages nothing."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import fields, replace
from functools import partial

import pytest

import bfsql
from bfsql.cli.account import account
from bfsql.cli.load import load as load_command
from bfsql.errors import ConfigurationError, SourceError
from bfsql.graph import NO_DESCRIPTION
from bfsql.loading import EVERY, RefusalFilter, load
from bfsql.loading.intake import MAX_REFUSALS
from bfsql.models import EdgeRecord, GraphRecord, LoadReport, NodeRecord, Refusal
from bfsql.sources import SourceOptions
from bfsql_test_support.backends import toy
from bfsql_test_support.commands import run

CANNOT_APPEND = (
    "): a load into it makes a graph or replaces one. Change the graph with the store's own tools, "
    "load into another database or schema, or use a graph file: bfsql load SOURCE --append "
    "--backend sqlite --path graph.db"
)


def test_files_become_a_graph_and_refused_lines_are_reported(run, folder):
    done = run("load", "nodes.csv", "edges.csv", "--path", "films.json")
    assert done.exit_code == 1
    assert re.search("^nodes.csv .*: 4 nodes; 1 line refused.$", done.stdout, re.MULTILINE)
    assert re.search("^edges.csv .*: 4 edges.$", done.stdout, re.MULTILINE)
    assert "Lines refused: 1 (all other lines are in the graph; " in done.stdout
    assert "\n  nodes.csv, line 6: " in done.stdout
    assert done.stdout.endswith("\nfilms.json now holds 4 nodes, 4 edges.\n")
    assert len(json.loads((folder / "films.json").read_text())) == 8


def test_strict_stops_and_leaves_the_old_store(run, folder):
    (folder / "toy.json").write_text("[]")
    wrong = run("load", "nodes.csv", "--strict", "--replace")
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("nodes.csv, line 6: ")
    assert wrong.stderr.count("\n") == 1
    assert (folder / "toy.json").read_text() == "[]"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nowhere.csv"], "nowhere.csv: there is no such file"),
        (["nodes.csv", "--format", "xls"], "there is no format 'xls'"),
        (["nodes.csv", "--id-column", "key"], "key"),
        (["nodes.csv", "--prefix", "ex"], "Option --prefix is 'ex': it has to be NAME=NAMESPACE"),
        (["nodes.csv", "--backend", "frozen"], "cannot be filled from graph files"),
        (["nodes.csv", "--path", "missing/g.json"], "missing/g.json: No such file or directory"),
        (["nodes.csv", "--replace", "--append"], "--replace and --append exclude each other"),
        (["nodes.csv", "--replace", "--remove", "edges.csv"], "--replace keeps nothing of it"),
        (["nodes.csv", "--no-backup"], "--no-backup applies only to --replace, which keeps"),
        (["--replace", "bolt://me:pass@localhost", "nodes.csv"], "bolt://... is an address."),
        (["nodes.csv", "--remove", "nodes.csv"], "both as a SOURCE and with --remove"),
        (
            ["nodes.csv", "--backend", "of_old"],
            "can only replace the content of the store. Use --replace if",
        ),
        (["nodes.csv", "--backend", "of_old", "--append"], CANNOT_APPEND),
        (["nodes.csv", "--backend", "replacing", "--append"], CANNOT_APPEND),
        (["--remove", "nodes.csv", "--backend", "replacing"], CANNOT_APPEND),
        (["nodes.csv", "--backend", "replacing", "--append", "--dry-run"], CANNOT_APPEND),
    ],
)
def test_what_cannot_be_loaded_is_one_sentence(args, words, run):
    wrong = run("load", *args)
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert words in wrong.stderr
    assert wrong.stderr.count("\n") == 1


def test_columns_can_be_named(run, folder):
    (folder / "t.csv").write_text("key,kind\na,Thing\n", encoding="utf-8")
    done = run("load", "t.csv", "--id-column", "key", "--type-column", "kind")
    assert "toy.json now holds 1 node, 0 edges" in done.stdout


def test_a_graph_that_is_there_is_not_replaced_by_accident(run, folder):
    (folder / "toy.json").write_text("[]")
    wrong = run("load", "edges.csv")
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert "toy.json already contains a graph. Use --replace " in wrong.stderr
    assert (folder / "toy.json").read_text() == "[]"
    assert run("load", "edges.csv", "--replace").exit_code == 0
    assert len(json.loads((folder / "toy.json").read_text())) == 4


def test_a_loader_that_declares_nothing_adds_and_removes(run, folder):
    assert run("load", "nodes.csv", "edges.csv", "--allow-refused").exit_code == 0
    (folder / "more.csv").write_text("id,type\nf:3,Film\n", encoding="utf-8")
    (folder / "gone.csv").write_text("id,type\nf:1,Film\n", encoding="utf-8")
    done = run("load", "more.csv", "--append", "--remove", "gone.csv")
    assert (done.exit_code, done.stderr) == (0, "")
    rows = json.loads((folder / "toy.json").read_text())
    assert [row["id"] for row in rows if "id" in row] == ["f:2", "p:1", "p:2", "f:3"]


def test_refused_lines_can_be_allowed(run):
    done = run("load", "nodes.csv", "--allow-refused")
    assert done.exit_code == 0
    assert "Lines refused: 1:\n  nodes.csv, line 6: " in done.stdout


def test_a_loader_that_takes_no_options_replaces_what_is_there(run, folder):
    (folder / "toy.json").write_text("[]")
    assert run("load", "edges.csv", "--backend", "of_old", "--replace").exit_code == 0
    assert len(json.loads((folder / "toy.json").read_text())) == 4


def test_a_dry_run_shows_the_graph_and_writes_nothing(run, folder):
    tried = run("load", "edges.csv", "--dry-run")
    assert tried.exit_code == 0
    assert "Created 4 nodes for ids that occur only in edges, for instance " in tried.stdout
    assert '\n  f:1 (Node) {"name":"f:1"}\n' in tried.stdout
    assert "\n  p:1 -ACTED_IN-> f:1 {}\n" in tried.stdout
    assert "Nothing was written. The files contain 4 nodes, 4 edges" in tried.stdout
    assert not (folder / "toy.json").exists()
    assert run("load", "nodes.csv", "--dry-run").exit_code == 1
    assert run("load", "nodes.csv", "--dry-run", "--allow-refused").exit_code == 0


def test_every_edge_has_its_multiplicity_on_request_and_many_duplicates_propose_it(run, folder):
    (folder / "e.csv").write_text("subject,predicate,object\na,p,b\na,p,b\na,p,c\n")
    for options, edge in ([], "a -p-> c {}"), (["--count-duplicates"], 'c {"multiplicity":1}'):
        tried = run("load", "e.csv", "--dry-run", *options)
        assert edge in tried.stdout
        assert 'a -p-> b {"multiplicity":2}' in tried.stdout
        assert ("--count-duplicates" in tried.stdout) == (not options)


@pytest.mark.parametrize(
    "store", [["--path", "t.json"], ["--path", "g.db", "--backend", "sqlite"], ["--dry-run"]]
)
def test_dates_that_are_no_property_are_named_with_the_nearest(run, folder, store):
    (folder / "e.csv").write_text("subject,predicate,object,since\na,KNOWS,b,2020\nb,SAW,a,\n")
    (folder / "n.jsonl").write_text('{"id": "a", "type": "T", "until": 2021}\n{"id": "b"}\n')
    names = "since,sinse,KNOWS.since,KNEW.since,until,T.until,never"
    done = run("load", "e.csv", "n.jsonl", "--valid-from", names, *store)
    told = re.findall(r"Nothing .* property (\S+), [^.]*\.(.*)", done.stdout)
    near = [("sinse", " Did you mean since?"), ("KNEW.since", " Did you mean KNOWS.since?")]
    assert (done.exit_code, told) == (0, [*near, ("never", "")])


def test_a_graph_file_keeps_its_title_and_its_description(run, folder):
    async def described(path="g.db", **settings):
        async with bfsql.open_graph("sqlite", path=folder / path, **settings) as graph:
            return graph.title, (await graph.describe_schema()).content["graph_description"]

    texts = ["--title", "Films", "--description", "Of ours. Partly."]
    load = ["load", "edges.csv", "--path", "g.db", "--backend", "sqlite"]
    for options, found in (
        ((), ("", NO_DESCRIPTION)),
        (("--replace", *texts), ("Films", "Films: Of ours. Partly.")),
        (("--append",), ("Films", "Films: Of ours. Partly.")),
        (("--append", "--title", "More"), ("More", "More: Of ours. Partly.")),
        (("--replace", "--title", "Films"), ("Films", "Films")),
    ):
        assert run(*load, *options).exit_code == 0
        assert asyncio.run(described()) == found
    assert asyncio.run(described(graph_description="Films of 1990")) == ("Films", "Films of 1990")
    assert asyncio.run(described(title="T", graph_description="D")) == ("T", "T: D")
    refused = run("load", "edges.csv", "--backend", "of_old", "--title", "Films")
    assert "graph_description in bfsql.toml" in refused.stderr


def test_a_dry_run_tells_why_nothing_would_be_loaded(run, folder):
    tried = run("load", "edges.csv", "--dry-run", "--no-create-nodes")
    assert tried.exit_code == 1
    assert "edges.csv" in tried.stdout
    assert tried.stderr.startswith("Nothing was loaded: all 4 edges dangle")


def test_nodes_of_no_type_are_things_only_where_a_source_is_rdf(run, folder):
    (folder / "g.ttl").write_text("@prefix e: <http://e.org/> .\ne:a e:p e:b .\n")
    assert "e:a (owl:Thing)" in run("load", "g.ttl", "--dry-run").stdout
    assert "f:1 (Node)" in run("load", "edges.csv", "--dry-run").stdout
    for option in ("--node-type", "--default-type"):
        assert "f:1 (Film)" in run("load", "edges.csv", option, "Film", "--dry-run").stdout


def test_what_is_to_be_taken_out_is_read_with_the_same_options(run, folder):
    (folder / "gone.csv").write_text("key\na\nb\n", encoding="utf-8")
    tried = run("load", "--remove", "gone.csv", "--id-column", "key", "--dry-run")
    assert tried.exit_code == 0
    assert re.search("^gone.csv .*: 2 nodes to be removed.$", tried.stdout, re.MULTILINE)


def test_nothing_to_load_is_an_error(run):
    wrong = run("load")
    assert wrong.exit_code == 2
    assert "Missing argument 'SOURCE...'" in wrong.stderr


def test_everything_that_can_be_said_of_a_source_is_an_option():
    said = {parameter.name for parameter in load_command.params}
    of_the_embedded_store = {
        *("graph", "type_property", "type_priority", "label_property", "alias_property"),
        *("only_predicate", "exclude_predicate"),
    }
    assert {f.name for f in fields(SourceOptions)} - {"of_files"} - said == of_the_embedded_store


def _load(code: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Load in a separate process that can be interrupted with Ctrl-C."""
    interruptible = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    command = (sys.executable, "-c", code, "load", "nodes.csv")
    return run(*command, env=environment, preexec_fn=interruptible)


@pytest.mark.parametrize("told", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_ctrl_c_and_its_like_are_a_sentence_and_leave_the_old_store(folder, environment, told):
    (folder / "toy.json").write_text("[]")
    code = "from bfsql.cli import main\nmain()\n"
    done = _load(code, environment | {"BFSQL_BACKEND": "ended", "TOY_ENDED_BY": told})
    assert (done.returncode, done.stderr) == (130, "Interrupted: the store is unchanged.\n")
    assert (folder / "toy.json").read_text() == "[]"


@pytest.mark.parametrize("told", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_what_a_terminated_load_has_left_is_reported(folder, environment, told):
    code = (
        "import asyncio, os, signal\n"
        "import bfsql.cli.load as command\n"
        "from bfsql.cli import main\n"
        "async def fill(*_):\n"
        "    try:\n"
        f"        os.kill(os.getpid(), signal.{told})\n"
        "        await asyncio.sleep(60)\n"
        "    except asyncio.CancelledError as cancelled:\n"
        "        cancelled.add_note('Half of it is there.')\n"
        "        raise\n"
        "command.fill = fill\n"
        "main()\n"
    )
    done = _load(code, environment)
    assert (done.returncode, done.stderr) == (130, "Interrupted: Half of it is there.\n")


def test_the_account_shows_twenty_refusals_and_counts_all():
    refusals = [Refusal("a.csv", line, "bad \x1b[31m") for line in range(1, 101)]
    report = LoadReport(
        refusals=refusals,
        refused=250,
        dangling_edges=3,
        dangling_examples=["x", "y"],
        unattached_evidence=2,
    )
    lines = account(report)
    assert "Dangling edges (an end is not a node): 3, for instance x, y." in lines
    assert "Evidence left out because its edge does not exist: 2." in lines
    assert lines[2].startswith("Lines refused: 250 (all other lines are in the graph; ")
    assert "  a.csv, line 20: bad \\u001b[31m" in lines
    assert lines[-2] == "  and 230 more"


def test_the_filter_keeps_a_hundred_refusals_and_tells_progress():
    told: list[int] = []
    records = [NodeRecord(str(n), "T") for n in range(EVERY + 1)]
    kept = RefusalFilter(iter([*records, *[Refusal("f", 1, "bad")] * 150]), progress=told.append)
    assert list(kept) == records
    assert told == [EVERY, EVERY + 1]
    assert (len(kept.refusals), kept.refused) == (MAX_REFUSALS, 150)


def test_a_strict_filter_raises_at_the_first_refusal():
    kept = RefusalFilter(iter([Refusal("f.csv", 7, "it is bad")]), strict=True)
    with pytest.raises(SourceError, match=r"f\.csv, line 7: it is bad \(the import is strict"):
        list(kept)


async def test_what_the_loader_refuses_stands_beside_what_the_sources_did(folder):
    async def load_none(_: toy.ToySettings, records: Iterable[GraphRecord]) -> LoadReport:
        held = [Refusal(f"node {one.id}", None, "too deep") for one in records]  # type: ignore[union-attr]
        return LoadReport(refusals=held, refused=len(held))

    choosy = replace(toy.plugin, load=load_none)
    report = await load(choosy, toy.ToySettings(), [folder / "nodes.csv"])
    assert report.refused == len(report.refusals) == 5
    assert [refusal.line for refusal in report.refusals] == [6, None, None, None, None]


async def test_a_store_whose_ids_are_iris_gets_them_as_the_files_have_them(folder):
    (folder / "g.ttl").write_text("@prefix e: <http://e.org/> .\ne:a e:p e:b ; a e:T .\n")
    given: list[GraphRecord] = []

    async def keep(_: toy.ToySettings, records: Iterable[GraphRecord]) -> LoadReport:
        given.extend(records)
        return LoadReport()

    iris = replace(toy.plugin, load=keep, keeps_iris=True)
    await load(iris, toy.ToySettings(), [folder / "g.ttl"], SourceOptions(prefixes={"x": "http:"}))
    a, p, b, t = (f"<http://e.org/{name}>" for name in "apbT")
    assert [r for r in given if isinstance(r, EdgeRecord)] == [EdgeRecord(a, p, b)]
    assert NodeRecord(a, t) in given


async def test_a_backend_without_a_loader_is_refused():
    with pytest.raises(ConfigurationError, match="a toy to read"):
        await load(toy.read_only, toy.ToySettings(), [])


def test_the_help_lists_options_alone_and_sources_in_the_usage(run):
    said = run("load", "--help").stdout
    assert said.startswith("Usage: bfsql load [OPTIONS] SOURCE...\n")
    assert "\n  SOURCE...\n" not in said
