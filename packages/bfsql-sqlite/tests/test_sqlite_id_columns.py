"""Tables whose ids were read from the wrong column: what `bfsql load` says, and its exit code."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from bfsql.cli import bfsql
from bfsql_sqlite.bulk import RECORD_BY_RECORD
from bfsql_test_support.case_table import case_table

pytestmark = pytest.mark.slow


AIRPORTS = [
    {"iata": "ORD", "name": "O'Hare", "city": "Chicago"},
    {"iata": "3O3", "name": "Municipal", "city": "Olney"},
    {"iata": "H88", "name": "Municipal", "city": "Fredericktown"},
    {"iata": "ATL", "name": "Hartsfield", "city": "Atlanta"},
    {"iata": "K34", "name": "Municipal", "city": "Olney"},
]
FLIGHTS = [
    {"source": "ORD", "target": "ATL"},
    {"source": "ATL", "target": "3O3"},
    {"source": "ORD", "target": "H88"},
]
OTHER_FORMAT = '{"nodes": [], "links": [{"source": "ORD", "target": "ATL"}]}'
"""A graph in JSON; a load that includes it is read record by record."""


def _write(path, rows):
    match path.suffix:
        case ".parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
        case ".jsonl":
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        case suffix:
            between = "\t" if suffix == ".tsv" else ","
            lines = [list(rows[0]), *(list(row.values()) for row in rows)]
            path.write_text("".join(f"{between.join(cells)}\n" for cells in lines), "utf-8")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _write(tmp_path / "flights.csv", FLIGHTS)
    (tmp_path / "other.json").write_text(OTHER_FORMAT, encoding="utf-8")
    return tmp_path


def load(*args):
    """The outcome of a load where no graph is."""
    Path("graph.db").unlink(missing_ok=True)
    return CliRunner().invoke(bfsql, ["load", *args, "--path", "graph.db"], prog_name="bfsql")


def in_bulk(*args):
    done = load(*args)
    assert RECORD_BY_RECORD not in done.stdout
    return done


def record_by_record(*args):
    return load(*args, "other.json")


def dry_run(*args):
    return load(*args, "--dry-run")


ways = case_table("way", [in_bulk, record_by_record, dry_run])


# --- ids that are not unique ------------------------------------------------------


@ways
@case_table("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_names_that_several_rows_share_are_not_taken_as_ids(folder, ending, way):
    _write(folder / f"airports.{ending}", AIRPORTS)
    wrong = way(f"airports.{ending}", "flights.csv")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert wrong.stderr == (
        f"airports.{ending}: the column name cannot be used as the id, because 2 rows repeat the "
        "value of an earlier row, for instance 'Municipal', and would be merged with that row. "
        "The column with a different value in every row: iata. Name the right one, for instance "
        "with --id-column iata\n"
    )
    assert not (folder / "graph.db").exists()
    assert way(f"airports.{ending}", "flights.csv", "--id-column", "iata").exit_code == 0


@ways
def test_a_key_is_taken_as_the_id_only_if_it_is_unique(folder, way):
    rows = [{"key": "a", "airport code": "x", "lon": "1.5"}, {"key": "a", "airport code": "y"}]
    _write(folder / "nodes.jsonl", rows)
    wrong = way("nodes.jsonl")
    assert wrong.exit_code == 2
    assert "every row: airport code. Name the right one, " in wrong.stderr
    assert wrong.stderr.endswith(" with --id-column 'airport code'\n")
    _write(folder / "nodes.jsonl", [{"key": "a"}, {"key": "b"}])
    assert way("nodes.jsonl").exit_code == 0


@ways
def test_rows_of_the_same_name_are_merged_if_the_column_is_named(folder, way):
    _write(folder / "cities.csv", [{"name": "Olney", "lat": x} for x in ("1.5", "2.5", "2.75")])
    wrong = way("cities.csv")
    assert wrong.exit_code == 2
    assert wrong.stderr.endswith(
        "no other column has a different value in every row. Add a column id, or merge these rows "
        "with --id-column name\n"
    )
    done = way("cities.csv", "--id-column", "name")
    assert done.exit_code == 0
    assert "Duplicates merged: 2 nodes" in done.stdout


@ways
def test_one_name_in_two_files_is_one_node(folder, way):
    _write(folder / "a.csv", [{"name": "Olney", "state": "TX"}])
    _write(folder / "b.csv", [{"name": "Olney", "county": "Young"}])
    done = way("a.csv", "b.csv")
    assert done.exit_code == 0
    assert "Duplicates merged: 1 node" in done.stdout


@case_table("graph", [AIRPORTS, {"nodes": AIRPORTS, "links": [{"source": 0, "target": 3}]}])
def test_names_in_json_are_ids_only_if_they_are_unique(folder, graph):
    (folder / "airports.json").write_text(json.dumps(graph), encoding="utf-8")
    wrong = load("airports.json")
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("airports.json: the column name cannot be used as the id")
    assert load("airports.json", "--id-column", "iata").exit_code == 0


def test_an_id_column_applies_to_the_tables_that_have_it(folder):
    _write(folder / "airports.csv", AIRPORTS)
    _write(folder / "airlines.csv", [{"id": "UA", "name": "United"}])
    done = in_bulk("airports.csv", "airlines.csv", "--id-column", "iata")
    assert done.exit_code == 0, done.stderr
    assert "graph.db now holds 6 nodes" in done.stdout


# --- edges that meet no node ------------------------------------------------------

KNOWN = [{"id": f"a{n}", **airport, "name": f"n{n}"} for n, airport in enumerate(AIRPORTS)]
"""Airports with ids, which the flights do not use."""
ADVICE = "but they are values of the column iata of {}: name it with --id-column iata."


@ways
@case_table("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_ends_that_are_values_of_another_column_are_reported_first(folder, ending, way):
    _write(folder / f"airports.{ending}", KNOWN)
    done = way(f"airports.{ending}", "flights.csv")
    assert (done.exit_code, done.stderr) == (1, "")
    first = done.stdout.splitlines()[0]
    assert first.startswith(
        "None of the 4 ids at the ends of edges is the id of a node, "
        + ADVICE.format(f"airports.{ending}")
    )
    assert ("The graph was written nevertheless; --allow-refused allows it." in first) == (
        way is not dry_run
    )
    assert (folder / "graph.db").exists() == (way is not dry_run)
    assert way(f"airports.{ending}", "flights.csv", "--allow-refused").exit_code == 0
    better = way(f"airports.{ending}", "flights.csv", "--id-column", "iata")
    assert better.exit_code == 0
    assert better.stdout.startswith(f"airports.{ending} (")


@ways
def test_ends_that_are_mostly_values_of_another_column_are_reported_first(folder, way):
    _write(folder / "airports.csv", KNOWN)
    _write(folder / "more.csv", [{"source": "a0", "target": "nowhere"}])
    done = way("airports.csv", "flights.csv", "more.csv")
    assert done.exit_code == 1
    words = "5 of the 6 ids at the ends of edges are not ids of nodes, "
    assert done.stdout.startswith(words + ADVICE.format("airports.csv"))


@ways
def test_ends_without_a_node_are_reported_first(folder, way):
    _write(folder / "airports.csv", [{"id": "LAX", "city": "ORD"}, {"id": "ATL", "city": "ORD"}])
    done = way("airports.csv", "flights.csv")
    assert done.exit_code == 0
    words = "3 of the 4 ids at the ends of edges are not ids of nodes.\nairports.csv ("
    assert done.stdout.startswith(words)


@ways
def test_edges_of_which_most_ends_are_nodes_are_not_reported(folder, way):
    _write(folder / "airports.csv", [{"id": "ORD"}, {"id": "ATL"}, {"id": "H88"}])
    for tables in (["airports.csv", "flights.csv"], ["flights.csv"]):
        done = way(*tables)
        assert done.exit_code == 0
        assert done.stdout.startswith(f"{tables[0]} (")


def test_dangling_ends_are_reported_first(folder):
    _write(folder / "airports.csv", [*KNOWN, {"id": "ORD", "iata": "", "name": "", "city": ""}])
    _write(folder / "more.csv", [{"source": "ORD", "target": "ORD"}])
    for way in (in_bulk, record_by_record, dry_run):
        done = way("airports.csv", "flights.csv", "more.csv", "--no-create-nodes")
        assert done.exit_code == 1
        assert "3 of the 4 ids at the ends of edges" in done.stdout.splitlines()[0]


# --- edges that were read as nodes --------------------------------------------------

VERTICES = [{"@id": f"v{n}", "@label": "airport", "rank": str(n % 2)} for n in range(5)]
EDGES = [
    {"@id": f"e{n}", "@to": f"v{n}", "@from": f"v{4 - n}", "@label": "route"} for n in range(5)
]


@case_table("way", [in_bulk, dry_run])
@case_table("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_a_table_of_edges_that_was_read_as_nodes_is_reported_first(folder, ending, way):
    _write(folder / f"vertices.{ending}", VERTICES)
    _write(folder / f"routes.{ending}", EDGES)
    tables = [f"vertices.{ending}", f"routes.{ending}", "--id-column", "@id"]
    done = way(*tables)
    assert (done.exit_code, done.stderr) == (1, "")
    assert done.stdout.startswith(
        f"routes.{ending} was read as a table of nodes, but its columns @from and @to hold ids of "
        "nodes, and there are no edges: read it as a table of edges with --subject-column @from "
        "--object-column @to."
    )
    better = way(*tables, "--subject-column", "@from", "--object-column", "@to")
    assert better.exit_code == 0
    assert "5 nodes, 5 edges" in better.stdout


def test_tables_of_nodes_alone_are_no_mistake(folder):
    _write(folder / "a.csv", [{"id": str(n), "age": str(n), "rank": "1"} for n in range(5)])
    _write(folder / "b.csv", [{"id": f"p{n}", "parent": f"p{n // 2}"} for n in range(5)])
    for way in (in_bulk, dry_run):
        assert way("a.csv", "b.csv").exit_code == 0
        assert way("a.csv").exit_code == 0
        assert "the column parent holds ids of nodes" in way("b.csv").stdout
