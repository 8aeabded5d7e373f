"""`bfsql load` of tables that refer to each other: what it shows, keeps and loads again."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from bfsql.cli import bfsql
from bfsql_sqlite import SqliteBackend
from bfsql_sqlite.bulk import RECORD_BY_RECORD

LAB = Path(__file__).parents[3] / "docs" / "tutorial" / "snippets" / "lab"


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Runs `bfsql load` in a folder with the tables of the tutorial."""
    monkeypatch.chdir(tmp_path)
    Path("lab").mkdir()
    for file in LAB.iterdir():
        Path("lab", file.name).write_bytes(file.read_bytes())
    return lambda *args: CliRunner().invoke(bfsql, ["load", *args], prog_name="bfsql")


def _types(path):
    with closing(sqlite3.connect(path)) as graph:
        query = "SELECT node.id, type.name FROM node JOIN type ON type.t = node.t"
        return dict(graph.execute(query))


def test_a_guess_is_shown_in_80_columns_and_loads_nothing(load):
    done = load("lab", "--path", "lab.db", "--guess", "--write", "lab.toml")
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "  site                   -> sites                           name, 80%" in done.stdout
    assert not Path("lab.db").exists()
    assert load("lab.toml").exit_code == 0
    assert load("lab", "--path", "other.db").exit_code == 0
    assert _types("lab.db") == _types("other.db")
    assert load("lab", "--path", "third.db", "--write", "lab.toml").exit_code == 2


def test_options_beside_a_kept_reading_count_more(load):
    load("lab", "--guess", "--write", "lab.toml")
    done = load("lab.toml", "--path", "a.db", "--node-type", "people.csv=Human")
    assert done.exit_code == 0
    types = _types("a.db")
    assert (types["people:1"], types["sites:BAY"]) == ("Human", "site")


def test_tables_are_read_in_bulk_in_whatever_order(load):
    done = load(*sorted(map(str, Path("lab").iterdir()), reverse=True), "--path", "a.db")
    assert "a.db now holds 11 nodes, 13 edges." in done.stdout
    assert RECORD_BY_RECORD not in done.stdout


def test_the_file_keeps_the_reading_also_of_what_is_appended(load):
    async def tables(path):
        backend = await SqliteBackend.create(path=path)
        return (await backend.outline()).tables, await backend.close()

    load("lab", "--path", "lab.db")
    found, _ = asyncio.run(tables("lab.db"))
    assert found[0] == ("people", "3", "nodes person, key id, name name", "name")
    assert ("  site", "", "-> sites", "name, 80%") in found
    Path("more").mkdir()
    Path("more", "cars.csv").write_text("car_id,name\nx,X\ny,Y\n")
    Path("more", "trips.csv").write_text("trip_id,car_id\n1,x\n2,y\n3,x\n")
    assert load("more", "--path", "lab.db", "--append").exit_code == 0
    later, _ = asyncio.run(tables("lab.db"))
    assert later[: len(found)] == found
    assert later[-1] == ("  car_id", "", "-> cars", "name, 100%")


def test_rows_without_a_key_are_counted_also_in_many_tables(load):
    for name, row in (("people", "(3 rows)\n"), ("sample_reviewer", "3,n/a,odd\n")):
        file = Path("lab", f"{name}.csv")
        file.write_text(file.read_text() + row)
    found = []
    for path in ("few.db", "many.db"):
        done = load("lab", "--path", path)
        assert (done.exit_code, "lines refused" in done.stdout) == (0, False)
        assert "id: rows without a value are left out: (3 rows) 1" in done.stdout
        assert "person_id: rows without a value are left out: n/a 1" in done.stdout
        types = _types(path)
        found.append({one: types[one] for one in types if "_more" not in one})
        for n in range(300):  # more than DuckDB gets one by one
            Path("lab", f"t{n}_more.csv").write_text("id,size\n1,2\n")
    assert found[0] == found[1]
    assert len(types) == len(found[1]) + 300


def test_a_source_that_is_the_graph_file_is_an_error(load):
    load("lab", "--path", "lab.db")
    wrong = load("lab.db", "--path", "lab.db", "--replace")
    assert wrong.exit_code == 2
    assert "is both a SOURCE and the graph file to be made" in wrong.stderr


def test_no_edges_although_columns_may_refer_is_a_failure_that_says_what_to_do(load):
    rows = "".join(f"{n}\n" for n in range(1, 9))
    for name in ("a", "b", "c"):
        Path("lab", f"{name}.csv").write_text("id\n" + rows)
    Path("lab", "c.csv").write_text(
        "id,owner_id\n" + "".join(f"{n},{n % 4 + 1}\n" for n in range(1, 9))
    )
    done = load("lab/a.csv", "lab/b.csv", "lab/c.csv", "--path", "c.db")
    assert done.exit_code == 1
    assert done.stdout.count("owner_id") == 2
    assert "owner_id may refer to a or b; --write lab.toml keeps the reading" in done.stdout
