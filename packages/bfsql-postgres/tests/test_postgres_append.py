"""How a load treats an existing graph: it refuses, replaces it, or appends to it."""

import asyncio
import json
import pickle
import signal
import sys
from collections.abc import Iterable
from typing import Any

import asyncpg
import pytest
from bfsql_trials.agreement import everything, values
from bfsql_trials.appending import SeveralLoads, several_loads
from bfsql_trials.loading import many
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bfsql.errors import LoadRefused, SourceError
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql.models.load import LoadMode, LoadOptions, LoadReport
from bfsql_postgres import PostgresBackend, PostgresSettings
from bfsql_postgres.loader import load_graph
from bfsql_servers.database import Database

LAYOUTS = ["bundle_evidence", "evidence"]

OLD: list[GraphRecord] = [
    NodeRecord("a", "T", {"name": "one"}),
    NodeRecord("b", "T", {"name": "two"}),
    NodeRecord("c", "T", {"name": "three"}),
    EdgeRecord("a", "p", "b", {"confidence": 0.5}),
    EdgeRecord("a", "p", "b", {"confidence": 0.25}),
    EdgeRecord("b", "p", "c"),
    EvidenceRecord("a", "p", "b", {"document_id": "d", "text_span": "so it is"}),
    EvidenceRecord("b", "p", "c", {"text_span": "that too"}),
]


def appending(**more: Any) -> LoadOptions:
    return LoadOptions(LoadMode.APPEND, **more)


async def append(
    into: PostgresSettings, records: Iterable[GraphRecord] = (), **more: Any
) -> LoadReport:
    return await load_graph(into, records, appending(**more))


async def edges(owner: asyncpg.Connection) -> list[tuple[str, ...]]:
    rows = await owner.fetch(
        "SELECT DISTINCT subject_id, predicate, object_id FROM relationship ORDER BY 1, 2, 3"
    )
    return [tuple(row) for row in rows]


async def nodes(owner: asyncpg.Connection) -> dict[str, str]:
    return dict(await owner.fetch("SELECT entity_id, entity_type FROM entity ORDER BY 1"))


@pytest.fixture(params=LAYOUTS)
def laid_out(request: pytest.FixtureRequest, settings: PostgresSettings) -> PostgresSettings:
    """Settings for each of the two layouts of evidence."""
    return settings.model_copy(update={"evidence_layout": request.param})


# --- existing graphs are kept -------------------------------------------------


async def test_a_graph_that_is_there_is_neither_replaced_nor_added_to_unasked(
    settings, owner, schema: str
) -> None:
    first = await load_graph(settings, many(3), LoadOptions())
    assert (first.nodes, first.edges) == (3, 3)
    with pytest.raises(LoadRefused) as caught:
        await load_graph(settings, OLD, LoadOptions())
    assert str(caught.value).startswith("Nothing was loaded: postgresql://127.0.0.1:")
    assert f", schema {schema} already contains a graph of 3 nodes and 3 edges" in str(caught.value)
    assert "--replace" in str(caught.value)
    assert "--append" in str(caught.value)
    assert [*await nodes(owner)] == ["n0", "n1", "n2"]
    report = await load_graph(settings, OLD, LoadOptions(LoadMode.REPLACE))
    assert (report.nodes, report.edges, report.duplicate_edges) == (3, 2, 1)


async def test_empty_tables_of_a_load_are_no_graph(settings) -> None:
    await load_graph(settings, [])
    assert (await load_graph(settings, OLD, LoadOptions())).nodes == 3


async def test_of_two_first_loads_at_once_one_is_refused(settings, owner) -> None:
    done = await asyncio.gather(
        *(load_graph(settings, many(number), LoadOptions()) for number in (300, 400)),
        return_exceptions=True,
    )
    assert sorted(type(one).__name__ for one in done) == ["LoadRefused", "LoadReport"]
    assert len(await nodes(owner)) in {300, 400}


async def test_loads_that_append_at_once_all_count(settings, owner) -> None:
    parts = [[NodeRecord(f"{part}:{i}", "T") for i in range(50)] for part in range(3)]
    await asyncio.gather(*(append(settings, part) for part in parts))
    assert len(await nodes(owner)) == 150


async def test_the_report_names_the_place_without_the_password(
    database: Database, schema: str
) -> None:
    dsn = database.owner_url.replace("@", ":sesame-oil@")
    secret = PostgresSettings(dsn=dsn, schema_=schema)
    report = await load_graph(secret, OLD)
    assert report.place.startswith("postgresql://127.0.0.1:")
    assert report.place.endswith(f"/{database.name}, schema {schema}")


# --- appending ----------------------------------------------------------------


async def test_new_records_merge_with_old_ones(laid_out, owner) -> None:
    first = await append(laid_out, OLD)
    assert (first.nodes, first.edges, first.duplicate_edges, first.evidence) == (3, 2, 1, 2)
    report = await append(
        laid_out,
        [
            NodeRecord("a", "U", {"name": "uno"}),
            NodeRecord("e", "U"),
            EdgeRecord("a", "p", "b", {"confidence": 0.75}),
            EdgeRecord("e", "p", "a"),
            EvidenceRecord("a", "p", "b", {"document_id": "d", "text_span": "so it is"}),
            EvidenceRecord("a", "p", "b", {"text_span": "indeed"}),
            EvidenceRecord("x", "p", "b", {"text_span": "of no edge"}),
        ],
    )
    assert (report.nodes, report.duplicate_nodes) == (4, 1)
    assert (report.edges, report.duplicate_edges) == (3, 1)
    assert (report.evidence, report.unattached_evidence) == (3, 1)
    row = await owner.fetchrow("SELECT * FROM entity WHERE entity_id = 'a'")
    assert (row["entity_type"], row["name"]) == ("T", "one")
    assert json.loads(row["synonyms"]) == ["uno"]
    assert json.loads(row["properties"]) == {"other_types": ["U"]}
    confidences = await owner.fetch(
        "SELECT confidence FROM relationship WHERE subject_id = 'a' ORDER BY 1"
    )
    assert [one for (one,) in confidences] == [0.25, 0.5, 0.75]
    assert await owner.fetchval(f"SELECT count(*) FROM {laid_out.evidence_layout}") == 3


async def test_nothing_appended_leaves_the_graph_as_it_was(laid_out, opened) -> None:
    again = EvidenceRecord("a", "p", "b", {"document_id": "no text"})
    records = [*OLD, again, again]
    before = await load_graph(laid_out, records)
    held = await everything(await opened(), records)
    report = await append(laid_out)
    assert (report.nodes, report.edges, report.evidence) == (3, 2, before.evidence) == (3, 2, 3)
    assert (report.duplicate_nodes, report.duplicate_edges) == (0, 0)
    assert await everything(await opened(), records) == held


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_evidence_goes_from_one_table_to_the_other(
    settings, owner, opened, layout: str
) -> None:
    other = next(one for one in LAYOUTS if one != layout)
    await load_graph(settings.model_copy(update={"evidence_layout": layout}), OLD)
    held = await everything(await opened(), OLD)
    await append(settings.model_copy(update={"evidence_layout": other}))
    assert await owner.fetchval(f"SELECT count(*) FROM {other}") == 2
    assert await owner.fetchval("SELECT to_regclass($1)", layout) is None
    assert await everything(await opened(), OLD) == held


async def test_passages_stay_with_their_edge_when_another_one_gets_the_same_key(
    settings, owner, opened
) -> None:
    one: list[GraphRecord] = [
        EdgeRecord("j:k", "l", "j"),
        EvidenceRecord("j:k", "l", "j", {"text_span": "of the one"}),
    ]
    other: list[GraphRecord] = [
        EdgeRecord("j", "k:l", "j"),
        EvidenceRecord("j", "k:l", "j", {"text_span": "of the other"}),
    ]
    ends: list[GraphRecord] = [NodeRecord("j", "T"), NodeRecord("j:k", "T")]
    await load_graph(settings, [*ends, *one])
    for more in (other, [], [EvidenceRecord("j", "k:l", "j", {"text_span": "more"})]):
        await append(settings, more)
    assert await owner.fetchval("SELECT count(*) FROM bundle_evidence") == 0
    backend = await opened()
    texts = {
        edge: [item["text_span"] for item in metadata["provenance"]]
        for edge, metadata in (
            await backend.metadata_for_edges_batch([("j:k", "l", "j"), ("j", "k:l", "j")])
        ).items()
    }
    assert texts == {
        ("j:k", "l", "j"): ["of the one"],
        ("j", "k:l", "j"): ["more", "of the other"],
    }
    await append(settings, remove=[EdgeRecord("j:k", "l", "j")])
    keys = await owner.fetch("SELECT relationship_key, text_span FROM bundle_evidence ORDER BY 2")
    assert [tuple(row) for row in keys] == [("j:k:l:j", "more"), ("j:k:l:j", "of the other")]


@pytest.mark.parametrize("kind", ["vector(70)", "real[]", "json", "text"])
async def test_vectors_that_were_filled_in_stay_until_a_record_brings_another(
    settings, owner, kind: str
) -> None:
    vector = [0.5, 0.25, *[1.0] * 68]
    await load_graph(settings, OLD)
    await owner.execute(f"ALTER TABLE entity ALTER embedding TYPE {kind} USING NULL")
    await owner.execute(
        f"UPDATE entity SET embedding = CAST($1::text AS {kind}) WHERE entity_id <> 'c'",
        str(vector).translate(str.maketrans("[]", "{}")) if kind == "real[]" else str(vector),
    )
    await append(
        settings, [NodeRecord("a", "U", {"x": 1}), NodeRecord("b", "U", {"embedding": [0.0] * 70})]
    )
    found = dict(await owner.fetch("SELECT entity_id, embedding::text FROM entity"))
    assert json.loads(found["a"]) == vector
    assert json.loads(found["b"]) == [0.0] * 70
    assert found["c"] is None


async def test_a_graph_that_lacks_a_table_is_not_added_to(settings, owner) -> None:
    await load_graph(settings, OLD)
    await owner.execute("DROP TABLE relationship CASCADE")
    with pytest.raises(LoadRefused, match="no longer has the table relationship"):
        await append(settings, OLD)
    with pytest.raises(LoadRefused, match="a graph of 3 nodes and 0 edges"):
        await load_graph(settings, OLD, LoadOptions())
    assert (await load_graph(settings, OLD)).edges == 2


# --- equal to one load ----------------------------------------------------------

IDS = st.sampled_from(["a", "b", "ä", "a:b", "b:a"])
PREDICATES = st.sampled_from(["p", "a:p", "a"])
ITEMS = st.sampled_from(
    [
        {"text_span": "one", "document_id": "a"},
        {"text_span": "two", "section": "s", "supports": True, "start_offset": 1},
        {"text_span": "three", "confidence": 0.5, "x": [1]},
    ]
)


def some(**optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=optional)


RECORDS = st.lists(
    st.builds(
        NodeRecord,
        IDS,
        st.sampled_from(["drug", "Disease", "Node", ""]),
        some(
            name=IDS,
            synonyms=st.lists(IDS, max_size=2),
            status=st.sampled_from(["canonical", 3]),
            confidence=values(),
            x=values(),
        ),
    )
    | st.builds(
        EdgeRecord,
        IDS,
        PREDICATES,
        IDS,
        some(
            confidence=st.floats(0, 1) | st.just("high"),
            provenance=st.lists(ITEMS, max_size=2),
            x=values(),
        ),
    ),
    max_size=12,
)
PASSAGES = st.lists(st.builds(EvidenceRecord, IDS, PREDICATES, IDS, ITEMS), max_size=4)
DRAWN = settings(
    deadline=None,
    max_examples=5,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


async def held(
    database: Database, layout: str, records: list[GraphRecord], *loads: tuple[Any, LoadOptions]
) -> tuple[dict[str, Any], LoadReport]:
    """Everything that a backend returns after these loads, and the report of the last load."""
    async with database.schema() as schema:
        owner = PostgresSettings(dsn=database.owner_url, schema_=schema, evidence_layout=layout)
        for part, options in loads:
            report = await load_graph(owner, part, options)
        backend = await PostgresBackend.create(database.reader_url, schema=schema, pool_size=1)
        try:
            return await everything(backend, records), report
        finally:
            await backend.close()


def of_graph(report: LoadReport) -> list[Any]:
    names = ("nodes", "edges", "evidence", "dangling_edges", "dangling_examples")
    return [getattr(report, name) for name in names]


def of(record: GraphRecord) -> tuple[str, ...]:
    if isinstance(record, NodeRecord):
        return (record.id,)
    return record.subject, record.predicate, record.object


@pytest.mark.parametrize("layout", LAYOUTS)
@given(
    records=RECORDS,
    passages=PASSAGES,
    cuts=st.lists(st.integers(0, 12), max_size=2),
    data=st.data(),
)
@DRAWN
async def test_appending_in_any_split_equals_one_load_of_everything(
    *,
    database: Database,
    layout: str,
    records: list[GraphRecord],
    passages: list[GraphRecord],
    cuts: list[int],
    data: st.DataObject,
) -> None:
    ends = sorted(cuts)
    parts = [records[a:b] for a, b in zip([0, *ends], [*ends, None], strict=True)]
    # A passage may come with any part that is not before its edge.
    for passage in passages:
        first = next((i for i, p in enumerate(parts) if of(passage) in map(of, p)), len(ends))
        parts[data.draw(st.integers(first, len(ends)))].append(passage)
    more = {"create_nodes": data.draw(st.booleans()), "default_type": "Node"}
    all_at_once = [record for part in parts for record in part]
    once, report = await held(database, layout, all_at_once, (all_at_once, LoadOptions(**more)))
    steps = [(part, appending(**more)) for part in parts]
    appended, last = await held(database, layout, all_at_once, *steps)
    assert appended == once
    assert of_graph(last) == of_graph(report)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(several=several_loads(12))
@DRAWN
async def test_several_loads_that_add_and_take_out_equal_one_load_of_what_is_left(
    database: Database, layout: str, several: SeveralLoads
) -> None:
    whole = several.everything
    once, report = await held(database, layout, whole, (whole, several.options()))
    steps = [(load.records, several.options(load)) for load in several.loads]
    apart, last = await held(database, layout, whole, *steps)
    assert apart == once
    assert of_graph(last) == of_graph(report)


# --- removing -------------------------------------------------------------------


async def test_a_node_is_taken_out_with_its_edges_and_an_edge_with_its_evidence(
    laid_out, owner
) -> None:
    await load_graph(laid_out, OLD)
    report = await append(
        laid_out,
        [NodeRecord("e", "T"), EdgeRecord("e", "p", "b")],
        remove=[
            EdgeRecord("a", "p", "b", {"whatever": 1}),
            NodeRecord("c", ""),
            NodeRecord("c", ""),
            EdgeRecord("b", "p", "c"),
            NodeRecord("nobody", ""),
            NodeRecord("half \ud800", ""),
            EdgeRecord("a", "q", "b"),
        ],
    )
    assert (report.removed_nodes, report.removed_edges) == (1, 2)
    assert report.not_there == 2
    assert report.not_there_examples == ["node 'nobody'", "edge 'a' 'q' 'b'"]
    assert (report.refused, str(report.refusals[0])[:18]) == (1, "node 'half \\ud800'")
    assert await nodes(owner) == {"a": "T", "b": "T", "e": "T"}
    assert await edges(owner) == [("e", "p", "b")]
    assert report.evidence == 0
    assert await owner.fetchval(f"SELECT count(*) FROM {laid_out.evidence_layout}") == 0


async def test_what_is_taken_out_can_come_again_with_the_same_load(settings, owner) -> None:
    await load_graph(settings, OLD)
    await append(settings, [NodeRecord("a", "U"), *OLD[3:4]], remove=[NodeRecord("a", "")])
    assert await nodes(owner) == {"a": "U", "b": "T", "c": "T"}
    assert await owner.fetchval("SELECT count(*) FROM relationship WHERE subject_id = 'a'") == 1


async def test_nothing_is_taken_out_of_a_schema_without_a_graph(settings) -> None:
    with pytest.raises(
        LoadRefused, match=r"Nothing was removed: the schema .* does not contain a graph"
    ):
        await append(settings, OLD, remove=[NodeRecord("a", "")])


# --- nodes created for ends -------------------------------------------------------


async def test_ends_that_no_record_describes_become_nodes(settings, owner) -> None:
    asked = {"create_nodes": True, "default_type": "Node"}
    report = await append(settings, [EdgeRecord("a", "p", "z"), NodeRecord("a", "")], **asked)
    assert (report.nodes, report.created_nodes, report.created_examples) == (2, 1, ["z"])
    assert report.dangling_edges == 0
    assert await nodes(owner) == {"a": "Node", "z": "Node"}
    assert await owner.fetchval("SELECT name FROM entity WHERE entity_id = 'z'") == "z"
    report = await append(settings, [NodeRecord("z", "T", {"name": "Zed"})], **asked)
    assert (report.nodes, report.created_nodes) == (2, 0)
    row = await owner.fetchrow(
        "SELECT entity_type, name, synonyms, properties FROM entity WHERE entity_id = 'z'"
    )
    assert tuple(row) == ("T", "Zed", None, None)


async def test_an_end_that_dangled_becomes_a_node_with_the_next_load(settings, owner) -> None:
    assert (await append(settings, OLD[3:])).dangling_edges == 2
    report = await append(settings, create_nodes=True, default_type="Node")
    assert (report.created_nodes, report.created_examples) == (3, ["a", "b", "c"])
    assert set((await nodes(owner)).values()) == {"Node"}


async def test_a_graph_without_a_node_leaves_what_was_there(settings, owner) -> None:
    await load_graph(settings, OLD)
    for mode, records in ((LoadMode.REPLACE, []), (LoadMode.REPLACE, OLD[3:])):
        with pytest.raises(LoadRefused, match="Nothing was loaded"):
            await load_graph(settings, records, LoadOptions(mode, require_nodes=True))
    everything_goes = [NodeRecord(name, "") for name in "abc"]
    with pytest.raises(LoadRefused, match="the graph would have no node"):
        await append(settings, remove=everything_goes, require_nodes=True)
    assert [*await nodes(owner)] == ["a", "b", "c"]
    assert (await append(settings, OLD[3:], require_nodes=True)).nodes == 3


# --- strict loads, progress and kills -----------------------------------------------


async def test_a_strict_load_ends_with_the_first_record_that_cannot_be_stored(
    settings, owner
) -> None:
    await load_graph(settings, OLD)
    bad = [NodeRecord("d", "T"), NodeRecord("nul \0", "T")]
    with pytest.raises(SourceError, match="the load is strict, so nothing was loaded"):
        await append(settings, bad, strict=True)
    assert [*await nodes(owner)] == ["a", "b", "c"]
    assert (await append(settings, bad)).refused == 1


async def test_progress_is_told_and_can_end_the_load(settings, owner) -> None:
    told: list[tuple[str, float | None]] = []
    await append(settings, OLD, progress=lambda *step: told.append(step))
    shares = [share for phase, share in told if phase == "merging"]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert told[-1][0] == "writing"

    def ending(phase: str, _: float | None) -> None:
        if phase == "writing":
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        await append(settings, [NodeRecord("d", "T")], progress=ending)
    assert [*await nodes(owner)] == ["a", "b", "c"]


_KILLED = """
import asyncio, itertools, os, pickle, signal, sys
from bfsql.models import NodeRecord
load_graph, settings, options = pickle.load(sys.stdin.buffer)
def endless():
    for i in itertools.count():
        if i == 12_000:
            os.kill(os.getpid(), signal.SIGKILL)
        yield NodeRecord(str(i), "thing")
asyncio.run(load_graph(settings, endless(), options))
"""


async def test_a_process_that_is_killed_while_it_appends_leaves_the_old_graph(
    settings, owner
) -> None:
    await load_graph(settings, OLD)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _KILLED, stdin=asyncio.subprocess.PIPE
    )
    await process.communicate(pickle.dumps((load_graph, settings, appending())))
    assert process.returncode == -signal.SIGKILL
    assert [*await nodes(owner)] == ["a", "b", "c"]
    report = await append(settings, [NodeRecord("d", "T")])
    assert (report.nodes, report.edges, report.evidence) == (4, 2, 2)
