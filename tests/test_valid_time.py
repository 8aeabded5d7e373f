"""`at`: an answer is that of the graph without the facts that do not hold, over every store."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from bfsql import Graph, Limits, open_graph
from bfsql.errors import ToolError
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql.models.comparison import key_texts
from bfsql.models.valid_time import TimeKeys
from bfsql_neo4j import Neo4jSettings
from bfsql_neo4j.load.loader import load_graph as load_neo4j
from bfsql_postgres import PostgresSettings
from bfsql_postgres.load.loader import load_graph as load_postgres
from bfsql_sparql import SparqlSettings
from bfsql_sparql.load.loader import load_graph as load_sparql
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.questions.stores import in_neo4j, in_postgres, in_sparql

KEYS = TimeKeys(("since",), ("until", "p.ended"))
INCLUDED = TimeKeys(KEYS.valid_from, KEYS.valid_until, until_included=True)
FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)


def day(year: int, month: int = 1, number: int = 1, hour: int = 0) -> datetime:
    return datetime(year, month, number, hour, tzinfo=UTC)


SPANS: dict[Any, tuple[datetime, datetime] | None] = {
    None: None,
    2012: (day(2012), day(2013)),
    "2010": (day(2010), day(2011)),
    "2012-06": (day(2012, 6), day(2012, 7)),
    "2012-06-15": (day(2012, 6, 15), day(2012, 6, 16)),
    "2012-06-15T12:00:00+02:00": (day(2012, 6, 15, 10), day(2012, 6, 15, 10) + INSTANT),
    "2012-06-15 12:00:00+02": (day(2012, 6, 15, 10), day(2012, 6, 15, 10) + INSTANT),
    "2015-12-31": (day(2015, 12, 31), day(2016)),
    "soon": None,  # neither this nor the list can be read: the end is open
    ("2010", "2012"): None,
}
ASKED: dict[str, tuple[datetime, datetime]] = {
    "2012-06-15": (day(2012, 6, 15), day(2012, 6, 16)),
    "2012-06-15T10:00:00Z": (day(2012, 6, 15, 10), day(2012, 6, 15, 10) + INSTANT),
    "2012": (day(2012), day(2013)),
    "2009..2010-06": (day(2009), day(2010, 7)),
    "2012-07..": (day(2012, 7), LAST),
    "..2009-12-31": (FIRST, day(2010)),
}


class Case(NamedTuple):
    """A graph, and a time."""

    records: list[GraphRecord]
    at: str
    included: bool


def _dates(since: Any, until: Any) -> dict[str, Any]:
    values = {"since": since, "until": until}
    return {k: [*v] if isinstance(v, tuple) else v for k, v in values.items() if v is not None}


DATES = st.just({}) | st.builds(_dates, st.sampled_from([*SPANS]), st.sampled_from([*SPANS]))
ENDS = st.sampled_from([f"n{number}" for number in range(6)])
LASTING = [
    *(NodeRecord(f"z{of_type}", of_type, {"name": f"last {of_type}", "x": 2}) for of_type in "TU"),
    *(EdgeRecord("zT", predicate, "zU", {"weight": 1}) for predicate in "pq"),
]
"""So that no type, predicate or value is only that of facts that do not hold: schemas are whole."""


@st.composite
def cases(draw: Any, *, several: bool = True) -> Case:
    """Graphs with dates at nodes and edges, of which some have `several` records."""
    records: list[GraphRecord] = [*LASTING]
    for number in range(6):
        metadata = {"name": f"name {number % 4}", "x": number % 3, **draw(DATES)}
        records.append(NodeRecord(f"n{number}", "TU"[number % 2], metadata))
    edges = st.tuples(ENDS, st.sampled_from("pq"), ENDS | st.just("gone"))
    unique = None if several else tuple
    for edge in draw(st.lists(edges, max_size=14, unique_by=unique)):
        records.append(EdgeRecord(*edge, {"weight": len(records) % 3, **draw(DATES)}))
        if draw(st.booleans()):
            item = {"document_id": "n1", "text_span": f"passage {len(records)}"}
            records.append(EvidenceRecord(*edge, item))
    return Case(records, draw(st.sampled_from([*ASKED])), draw(st.booleans()))


def _holds(case: Case, metadata: dict[str, Any]) -> bool:
    """Whether a record holds at some moment of the time of a case."""
    since, until = (
        SPANS[tuple(value) if isinstance(value, list) else value]
        for value in map(metadata.get, ("since", "until"))
    )
    start = since[0] if since else FIRST
    end = until[1 if case.included else 0] if until else LAST
    first, last = ASKED[case.at]
    return max(start, first) < min(end, last)


def remaining(case: Case) -> list[GraphRecord]:
    """The records of a graph without the facts that do not hold."""
    gone: set[Any] = set()
    held: set[Any] = set()
    for one in case.records:
        if isinstance(one, NodeRecord) and not _holds(case, one.metadata):
            gone.add(one.id)
        if isinstance(one, EdgeRecord) and _holds(case, one.metadata):
            held.add((one.subject, one.predicate, one.object))

    def stays(one: Any) -> bool:
        if isinstance(one, NodeRecord):
            return one.id not in gone
        is_whole = gone.isdisjoint((one.subject, one.object))
        return is_whole and (one.subject, one.predicate, one.object) in held

    return list(filter(stays, case.records))


def calls() -> list[tuple[str, dict[str, Any]]]:
    """Calls of the four tools."""
    one, two = {"seeds": ["n0"]}, {"seeds": ["n1", "n2"]}
    walks: list[dict[str, Any]] = [
        {**one, "max_hops": 1},
        {**two, "max_hops": 3, "limit": 3, "sort_by": "-degree", "facets": ["x", "p.weight"]},
        {**two, "max_hops": 2, "max_tokens": 0, "exclude_node_types": ["U"]},
        {"seeds": ["name 3"], "max_hops": 2, "where": ["x>=1"]},
        {**one, "path": ["-p-> U", "--"], "measure": ["count 1"], "sort_by": "-paths"},
        {**two, "path": ["<-q-", "-p->{1,2}"], "show": "walks"},
        {**one, "along": ["-p->", "<-q-"], "max_hops": 3},
        {**one, "to": ["n3", "n5"]},
        {"seeds": ["T:*"], "path": ["--"], "show": "ends", "measure": ["sum 1.x"]},
        {"seeds": ["U[x>=1]"], "limit": 2, "sort_by": "x"},
    ]
    return [
        *(("bfs_query", walk) for walk in walks),
        ("intersect_subgraphs", {**two, "k": 2, "connect": True}),
        ("describe_entity", {"id": "n1"}),
        ("describe_schema", two),
    ]


async def answer(graph: Graph, tool: str, arguments: dict[str, Any]) -> tuple[str | None, str]:
    """The line of an answer and the rest of it, or the kind of an error."""
    try:
        text = (await graph.call(tool, arguments)).text
    except ToolError as error:
        return None, error.kind
    if "at" not in arguments:
        return None, text
    line = json.loads(text)["at"]
    head = json.dumps({"at": line}, separators=(",", ":"))[:-1] + ","
    assert text.startswith(head)
    return line, "{" + text.removeprefix(head)


async def assert_same(case: Case, whole: Graph, rest: Graph) -> None:
    """Both answer every call alike, one at a time and the other without."""
    for tool, arguments in calls():
        line, mine = await answer(whole, tool, {**arguments, "at": case.at})
        _, wanted = await answer(rest, tool, arguments)
        assert mine == wanted, (tool, arguments)
        assert line is None or line.startswith(case.at)


def in_memory(case: Case, records: Sequence[GraphRecord]) -> AbstractAsyncContextManager[Graph]:
    return open_graph(MemoryBackend(records, INCLUDED if case.included else KEYS))


@given(cases())
@settings(deadline=None, max_examples=50, suppress_health_check=list(HealthCheck))
async def test_at_is_the_graph_without_what_does_not_hold(case: Case) -> None:
    async with in_memory(case, case.records) as whole, in_memory(case, remaining(case)) as rest:
        await assert_same(case, whole, rest)


@given(case=cases())
@settings(deadline=None, max_examples=6, suppress_health_check=list(HealthCheck))
async def test_at_in_a_file_that_keeps_the_mapping(tmp_path: Path, case: Case) -> None:
    @asynccontextmanager
    async def in_file(name: str, records: Sequence[GraphRecord]) -> AsyncIterator[Graph]:
        path = tmp_path / name
        mapping = {"valid_from": ["since"], "valid_until": ["until", "p.ended"]}
        await load_graph(
            SqliteSettings(path=path, until_included=case.included, **mapping), records
        )
        async with open_graph("sqlite", path=path) as graph:
            yield graph

    async with (
        in_file("whole.db", case.records) as whole,
        in_file("rest.db", remaining(case)) as rest,
        in_memory(case, case.records) as reference,
    ):
        await assert_same(case, whole, rest)
        for tool, arguments in calls():
            asked = tool, {**arguments, "at": case.at}
            assert await answer(whole, *asked) == await answer(reference, *asked)


async def test_every_store_counts_the_edges_at_the_nodes_of_the_answer(tmp_path: Path) -> None:
    pairs = ["sa", "s-", "a-", "b-", "tu", "u1", "u2", "u3"]  # of which - is no node
    nodes = [NodeRecord(one, "T") for one in "sabtu123"]
    records = [*nodes, *(EdgeRecord(one, "p", other) for one, other in pairs)]
    await load_graph(SqliteSettings(path=tmp_path / "a.db", **MAPPING), records)
    limits, stored = Limits(max_nodes=4), MemoryBackend(records, KEYS)
    async with (
        open_graph("sqlite", path=tmp_path / "a.db", limits=limits) as in_file,
        open_graph(stored, limits=limits) as in_memory,
    ):
        for graph in (in_file, in_memory, Graph(stored, "", limits, None)):
            # A cache knows an edge of - after the first call; the ring of u exceeds the limit.
            for seed, count in (("s", 3), ("b", 1), ("t", 1)):
                arguments = {"seeds": [seed], "max_hops": 2, "at": "2012"}
                line, _ = await answer(graph, "bfs_query", arguments)
                assert line == f"2012; {count} of {count} edges have no dates and always hold"


class Dated:
    """A larger graph with dates, one record an edge, whose edges all have two nodes."""

    name, description = "dated", "Things with dates."

    def records(self) -> list[GraphRecord]:
        random, spans = Random(8), [one for one in SPANS if one != 2012]  # or as text in a store

        def properties(number: int, some: int) -> dict[str, Any]:
            ends = (random.choice(spans) if not random.randrange(some) else None for _ in "ab")
            return {"name": f"name {number}", "x": number % 3, "weight": 1, **_dates(*ends)}

        nodes = [NodeRecord(f"n{n}", random.choice("TU"), properties(n, 5)) for n in range(40)]
        ends = [(f"n{random.randrange(40)}", f"n{random.randrange(40)}") for _ in range(160)]
        edges = sorted({(one, random.choice("pq"), other) for one, other in ends})
        return [*LASTING, *nodes, *(EdgeRecord(*edge, properties(1, 2)) for edge in edges)]


@pytest.mark.parametrize(
    ("store", "opened"),
    [("postgres", in_postgres), ("neo4j_server", in_neo4j), ("oxigraph", in_sparql)],
)
async def test_at_on_servers(
    store: str, opened: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    dated = Dated()
    answered = 0
    async with opened(dated, request.getfixturevalue(store)) as [ours, *_]:
        graph = ours.tools.graph
        graph.db.time_keys = KEYS
        for at in ASKED:
            case = Case(dated.records(), at, included=False)
            async with in_memory(case, case.records) as reference:
                for tool, arguments in calls():
                    asked = partial(answer, tool=tool, arguments={**arguments, "at": at})
                    mine = await asked(graph)
                    assert mine == await asked(reference), (tool, arguments, at)
                    answered += mine[0] is not None
            async with in_memory(case, remaining(case)) as rest:
                await assert_same(case, graph, rest)
    assert answered > 40


TERMS: list[GraphRecord] = [
    NodeRecord("p1", "Person", {"name": "Ada"}),
    NodeRecord("c1", "City", {"name": "Lorvale"}),
    EdgeRecord("p1", "p", "c1", {"since": "2008", "until": "2012"}),
    EdgeRecord("p1", "p", "c1", {"since": "2016"}),
]
MAPPING: dict[str, Any] = {"valid_from": ["since"], "valid_until": ["until"]}


@asynccontextmanager
async def loaded(
    store: str, records: list[GraphRecord], request: pytest.FixtureRequest
) -> AsyncIterator[Graph]:
    """A graph that was loaded with `MAPPING`."""
    if store == "memory":
        async with open_graph(MemoryBackend(records, TimeKeys(*MAPPING.values()))) as graph:
            yield graph
        return
    server, where = request.getfixturevalue("tmp_path" if store == "sqlite" else store), MAPPING
    async with AsyncExitStack() as stack:
        if store == "sqlite":
            where = {"path": server / "a.db"}
            await load_graph(SqliteSettings(**where, **MAPPING), records)
        elif store == "postgres":
            database = await stack.enter_async_context(server.database())
            dsn = SecretStr(database.owner_url)
            await load_postgres(PostgresSettings(dsn=dsn, **MAPPING), records)
            where = {"dsn": database.reader_url, **MAPPING}
        elif store == "neo4j_server":
            store, where = "neo4j", {"uri": server.uri, **MAPPING}
            await load_neo4j(Neo4jSettings(**where), records)
        else:
            server.clear()
            store, where = "sparql", {"endpoint": server.query_url, **MAPPING}
            update = {"update_endpoint": server.update_url}
            await load_sparql(SparqlSettings(**where, **update), records)
        yield await stack.enter_async_context(open_graph(store, **where))


@pytest.mark.parametrize("store", ["neo4j_server", "oxigraph", "postgres"])
async def test_an_edge_of_several_records_has_their_periods_on_a_server(
    store: str, request: pytest.FixtureRequest
) -> None:
    async with loaded(store, TERMS, request) as graph:
        for at, number in (("2009", 1), ("2013", 0), ("2017", 1)):
            found = await graph.bfs_query("p1", 1, at=at)
            assert found.content["edge_count"] == number, (at, found.text)


@pytest.mark.parametrize("store", ["memory", "sqlite", "postgres", "neo4j_server", "oxigraph"])
async def test_the_schema_says_how_many_edges_end(
    store: str, request: pytest.FixtureRequest
) -> None:
    edges = [
        EdgeRecord("a", "p", "b", {"since": "2001", "until": "2005"}),
        EdgeRecord("b", "p", "c", {"since": "2001", "until": "soon"}),
        *(EdgeRecord("c", "p", "a", one) for one in ({"until": "2001"}, {"since": "2003"})),
        EdgeRecord("a", "p", "u", {"until": "2090"}),
        EdgeRecord("a", "q", "c", {"since": "2005"}),
        EdgeRecord("a", "q", "gone", {"until": "2005"}),
    ]
    nodes = [NodeRecord(one, "U" if one == "u" else "T", {"name": one}) for one in "abcu"]
    counts = ("(3, 1 with an end)", "(1, 1 with an end)", "(1, 0 with an end)")
    texts = ["T -p-> T", "T -p-> U", "T -q-> T"]
    async with loaded(store, [*nodes, *edges], request) as graph:
        found = (await graph.describe_schema()).content["relations"]
    assert found == [f"{text} {count}" for text, count in zip(texts, counts, strict=True)]
    if store == "sqlite":  # another mapping than that of the file, for which nothing was counted
        path = request.getfixturevalue("tmp_path") / "a.db"
        async with open_graph(store, path=path, valid_until=["other"]) as graph:
            found = (await graph.describe_schema()).content["relations"]
        assert found == [f"{text} ({n})" for text, n in zip(texts, (3, 1, 1), strict=True)]


class Unmerged(MemoryBackend):
    """A backend that returns a row for each record of an edge, and no texts of some edges."""

    def __init__(self, records: Sequence[GraphRecord]) -> None:
        super().__init__(records, KEYS)
        self.own = [one for one in records if isinstance(one, EdgeRecord)]

    async def edge_values_stream(
        self, ids: Sequence[str], keys: Sequence[str], **part: Any
    ) -> AsyncGenerator[list[Any]]:
        ring = set(await self.edges_batch(ids, **part))
        for one in self.own:
            if (edge := (one.subject, one.predicate, one.object)) in ring:
                yield [(*edge, None if one.object == "n1" else key_texts(one.metadata, keys))]


@given(cases())
@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
async def test_an_edge_whose_records_differ_in_their_dates_is_read(case: Case) -> None:
    async with (
        open_graph(Unmerged(case.records)) as unmerged,
        in_memory(case._replace(included=False), case.records) as reference,
    ):
        for tool, arguments in calls():
            asked = tool, {**arguments, "at": case.at}
            assert await answer(unmerged, *asked) == await answer(reference, *asked)
