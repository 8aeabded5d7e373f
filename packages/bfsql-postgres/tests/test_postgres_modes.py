"""How a load treats an existing graph: it refuses to touch it, or replaces it."""

import asyncio
import pickle
import signal
import sys

import pytest

from bfsql.errors import LoadRefused
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_postgres import PostgresSettings
from bfsql_postgres.load.loader import load_graph
from bfsql_testing.loader_suite import many

OLD = [
    NodeRecord("a", "T", {"name": "one"}),
    NodeRecord("b", "T", {"name": "two"}),
    NodeRecord("c", "T", {"name": "three"}),
    EdgeRecord("a", "p", "b", {"confidence": 0.5}),
    EdgeRecord("a", "p", "b", {"confidence": 0.25}),
    EdgeRecord("b", "p", "c"),
    EvidenceRecord("a", "p", "b", {"document_id": "d", "text_span": "so it is"}),
    EvidenceRecord("b", "p", "c", {"text_span": "that too"}),
]


def replacing(**more):
    return LoadOptions(LoadMode.REPLACE, **more)


async def nodes(owner):
    return dict(await owner.fetch("SELECT entity_id, entity_type FROM entity ORDER BY 1"))


@pytest.mark.parametrize("mode", [LoadMode.NEW, LoadMode.APPEND])
async def test_a_graph_that_is_there_stays_unless_it_is_to_be_replaced(
    mode, settings, owner, schema
):
    first = await load_graph(settings, many(3), LoadOptions(mode))
    assert (first.nodes, first.edges) == (3, 3)
    with pytest.raises(LoadRefused) as caught:
        await load_graph(settings, OLD, LoadOptions(mode))
    assert str(caught.value).startswith("Nothing was loaded: postgresql://127.0.0.1:")
    assert (
        f", schema {schema} already contains a graph of 3 nodes and 3 edges. --replace deletes it; "
        "to keep it, load into another schema with --schema."
    ) in str(caught.value)
    assert [*await nodes(owner)] == ["n0", "n1", "n2"]
    report = await load_graph(settings, OLD, replacing())
    assert (report.nodes, report.edges, report.duplicate_edges) == (3, 2, 1)


async def test_empty_tables_of_a_load_are_no_graph(settings):
    await load_graph(settings, [])
    assert (await load_graph(settings, OLD, LoadOptions())).nodes == 3


async def test_of_two_first_loads_at_once_one_is_refused(settings, owner):
    done = await asyncio.gather(
        *(load_graph(settings, many(number), LoadOptions()) for number in (300, 400)),
        return_exceptions=True,
    )
    assert sorted(type(one).__name__ for one in done) == ["LoadRefused", "LoadReport"]
    assert len(await nodes(owner)) in {300, 400}


async def test_the_report_names_the_place_without_the_password(database, schema):
    dsn = database.owner_url.replace("@", ":sesame-oil@")
    secret = PostgresSettings(dsn=dsn, schema_=schema)
    report = await load_graph(secret, OLD)
    assert report.place.startswith("postgresql://127.0.0.1:")
    assert report.place.endswith(f"/{database.name}, schema {schema}")


async def test_a_graph_that_lacks_a_table_is_a_graph_too(settings, owner):
    await load_graph(settings, OLD)
    await owner.execute("DROP TABLE relationship CASCADE")
    with pytest.raises(LoadRefused, match="a graph of 3 nodes and 0 edges"):
        await load_graph(settings, OLD, LoadOptions())
    assert (await load_graph(settings, OLD)).edges == 2


async def test_progress_is_reported_and_can_end_the_load(settings, owner):
    told = []
    await load_graph(settings, OLD, LoadOptions(progress=lambda *step: told.append(step)))
    shares = [share for phase, share in told if phase == "merging"]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert told[-1][0] == "writing"

    def ending(phase, _):
        if phase == "writing":
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        await load_graph(settings, [NodeRecord("d", "T")], replacing(progress=ending))
    assert [*await nodes(owner)] == ["a", "b", "c"]


_KILLED = """
import asyncio, itertools, os, pickle, signal, sys
from bfsql.models import NodeRecord
load_graph, settings = pickle.load(sys.stdin.buffer)
def endless():
    for i in itertools.count():
        if i == 12_000:
            os.kill(os.getpid(), signal.SIGKILL)
        yield NodeRecord(str(i), "thing")
asyncio.run(load_graph(settings, endless()))
"""


async def test_a_process_that_is_killed_while_it_loads_leaves_the_old_graph(settings, owner):
    await load_graph(settings, OLD)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _KILLED, stdin=asyncio.subprocess.PIPE
    )
    await process.communicate(pickle.dumps((load_graph, settings)))
    assert process.returncode == -signal.SIGKILL
    assert [*await nodes(owner)] == ["a", "b", "c"]
    assert (await load_graph(settings, [NodeRecord("d", "T")])).nodes == 1
    assert [*await nodes(owner)] == ["d"]
