"""The example, with a whole graph of papers in Postgres."""

import csv
import re
import sys
import tomllib
from pathlib import Path

from bfsql import open_graph
from bfsql.models import EdgeRecord
from bfsql.settings import resolve
from bfsql_federation import FederationBackend, FederationSettings
from bfsql_postgres import PostgresSettings
from bfsql_postgres.load.loader import load_graph
from bfsql_test_support.commands import output
from bfsql_test_support.servers.database import lasting
from bfsql_test_support.suites.conformance import closing

EXAMPLE = Path(__file__).parents[3] / "examples/several-graphs"


async def test_the_question_of_the_example_crosses_three_stores(
    medlit_records, postgres, tmp_path, monkeypatch
):
    database = lasting(postgres.database())
    monkeypatch.setenv("FEDERATION_PAPERS_DSN", database.reader_url)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "classes.ttl").write_bytes((EXAMPLE / "classes.ttl").read_bytes())
    load = sys.executable, "-m", "bfsql", "load", EXAMPLE / "trials.csv", "--path", "trials.db"
    output(*load, "--edge-column", "tests=TESTS", cwd=tmp_path)
    table = tomllib.loads((EXAMPLE / "bfsql-several.toml").read_text("utf-8"))["backend"]
    async with database.schema() as schema:
        await load_graph(PostgresSettings(dsn=database.owner_url, schema_=schema), medlit_records)
        table["members"]["papers"]["schema"] = schema
        del table["name"]
        settings = resolve(FederationSettings, table=table, base=tmp_path).settings
        opened = closing(FederationBackend.open(settings))
        async with opened as federation, open_graph(federation, hooks=()) as graph:
            answer = await graph.bfs_query(
                "ex:synthesis",
                path=["<-ex:memberOf- drug[-TREATS-> Cushing disease]", "<-TESTS- Trial"],
                show="ends",
            )
    treating = {
        one.subject.partition(":")[2]
        for one in medlit_records
        if isinstance(one, EdgeRecord)
        and (one.predicate, one.object) == ("TREATS", "DBPedia:Cushing's_disease")
    }
    classes = (EXAMPLE / "classes.ttl").read_text("utf-8")
    inhibitors = {*re.findall(r"rx:(\d+) .* ex:memberOf ex:synthesis", classes)}
    with (EXAMPLE / "trials.csv").open(encoding="utf-8") as trials:
        tested = {one["id"]: one["tests"].partition(":")[2] for one in csv.DictReader(trials)}
    expected = {one for one, drug in tested.items() if drug in treating & inhibitors}
    assert {one["id"] for one in answer.content["nodes"]} == expected
    assert len(expected) == 5
