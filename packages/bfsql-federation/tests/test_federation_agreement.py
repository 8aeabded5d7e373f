"""Any graph in three parts, federated, gives the answers of the whole graph."""

import random
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bfsql import GraphDbInterface, MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql.models.merge import UNTYPED, created_node, sorted_union
from bfsql_federation import FederationBackend, Identifiers, Member
from bfsql_sqlite import SqliteBackend, SqliteSettings, load_graph
from bfsql_test_support.backends.columns import ColumnsOverMemory
from bfsql_test_support.drawn_answers import answer, opened
from bfsql_test_support.drawn_calls import drawn_call
from bfsql_test_support.drawn_graphs import DrawnGraph, drawn_graph
from bfsql_test_support.servers.database import lasting
from bfsql_test_support.suites.conformance import closing

SPELLINGS = ("n:", "http://e/n/", "N.")
"""A prefix of ids, as each of three graphs spells it; the first is canonical."""
GRAPHS, CALLS = 40, 12


def respelt(record: GraphRecord, prefix: str) -> GraphRecord:
    """The record with the ids of one graph."""

    def own(spelt: str) -> str:
        return prefix + spelt[2:] if spelt.startswith("n:") else spelt

    match record:
        case NodeRecord(entity_id, entity_type, metadata):
            if record == created_node(entity_id, UNTYPED):
                return created_node(own(entity_id), UNTYPED)
            return NodeRecord(own(entity_id), entity_type, metadata)
        case EdgeRecord(subject, predicate, obj, metadata):
            return EdgeRecord(own(subject), predicate, own(obj), metadata)
        case EvidenceRecord(subject, predicate, obj, item):
            item = {**item, "document_id": own(item["document_id"])}
            return EvidenceRecord(own(subject), predicate, own(obj), item)


def in_order(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata with sorted lists, as records have them that were merged."""
    return {k: sorted_union(v) if isinstance(v, list) else v for k, v in metadata.items()}


def parts(graph: DrawnGraph, *, dangling: bool = True) -> list[list[GraphRecord]]:
    """The records of a graph in three parts, what is known of a node in several of them.

    The names of a node are in one part, since a search compares what a graph has. A part has a node
    for each end of its edges, as a load makes it.
    """
    draw = random.Random(graph.number)
    found: list[list[GraphRecord]] = [[], [], []]
    for entity_id, (entity_type, metadata) in graph.nodes.items():
        known = in_order(metadata)
        named = {key: known[key] for key in ("name", "synonyms") if key in known}
        rest = {key: value for key, value in known.items() if key not in named}
        for part in (named, rest) if named else (rest,):
            draw.choice(found).append(NodeRecord(entity_id, entity_type, part))
    edges = [one for one in graph.edges if dangling or {one[0], one[2]} <= graph.nodes.keys()]
    place = {edge[:3]: draw.choice(found) for edge in edges}
    for subject, predicate, obj, metadata in edges:
        place[subject, predicate, obj].append(
            EdgeRecord(subject, predicate, obj, in_order(metadata))
        )
    for _, subject, predicate, obj, item in (r for r in graph.records if r[0] == "evidence"):
        if (subject, predicate, obj) in place:
            place[subject, predicate, obj].append(EvidenceRecord(subject, predicate, obj, item))
    for part in found:
        ends = {i for r in part if not isinstance(r, NodeRecord) for i in (r.subject, r.object)}
        ends |= {r.item["document_id"] for r in part if isinstance(r, EvidenceRecord)}
        part.extend(created_node(i, UNTYPED) for i in sorted(graph.nodes.keys() & ends))
    return found


@asynccontextmanager
async def federation(
    graph: DrawnGraph, stores: tuple[Callable[..., Any], ...], *, dangling: bool = True
) -> AsyncIterator[tuple[GraphDbInterface, GraphDbInterface]]:
    """A graph as a whole in memory, and in three stores."""
    some = parts(graph, dangling=dangling)
    whole = MemoryBackend([record for part in some for record in part])
    async with AsyncExitStack() as stack:
        members = [
            Member(
                f"graph {at}",
                await stack.enter_async_context(store([respelt(one, prefix) for one in part])),
            )
            for at, (store, part, prefix) in enumerate(zip(stores, some, SPELLINGS, strict=True))
        ]
        identifiers = Identifiers({"n:": list(SPELLINGS[1:])})
        many = FederationBackend(members, identifiers, origins=False)
        await many.join_columns()
        yield whole, many


@asynccontextmanager
async def memory(records):
    yield MemoryBackend(records)


@asynccontextmanager
async def columns(records):
    yield ColumnsOverMemory(records)


@asynccontextmanager
async def embedded(records):
    with tempfile.TemporaryDirectory() as folder:
        settings = SqliteSettings(path=Path(folder) / "graph.db")
        await load_graph(settings, records, LoadOptions(create_nodes=False))
        async with closing(SqliteBackend.open(settings)) as backend:
            yield backend


OF_KNOWN_KEYS = "as the property of that name", "which no node has"  # no server knows all its keys
STORES = ((memory, memory, memory), (columns, embedded, columns), (memory, embedded, columns))


@pytest.mark.parametrize("number", range(GRAPHS))
async def test_the_answers_are_those_of_the_whole(number):
    graph = drawn_graph(number)
    served = graph.form, graph.limits
    async with federation(graph, STORES[number % 3]) as (whole, parted):
        assert (parted.columns() is None) == (number % 3 != 1)
        async with opened(whole, *served) as one, opened(parted, *served) as many:
            for call in range(CALLS):
                tool, arguments = drawn_call(graph, call)
                expected, found = [await answer(g, tool, arguments) for g in (one, many)]
                if tool == "search_entities" and expected.count('"match"') >= 20:
                    continue  # of more candidates, a part has others than the whole
                if "has no value for" in expected + found:
                    continue  # how many were compared depends on what the store compares first
                assert found == expected, (tool, arguments)


@pytest.fixture
def servers(postgres, oxigraph):
    """An embedded file, a SPARQL server and Postgres, as stores of parts."""
    from bfsql_postgres import PostgresBackend, PostgresSettings
    from bfsql_postgres.load.loader import load_graph as load_postgres
    from bfsql_sparql.backend import SparqlBackend
    from bfsql_sparql.load.loader import load_graph as load_sparql
    from bfsql_sparql.settings import SparqlSettings

    database = lasting(postgres.database())
    there = SparqlSettings(endpoint=oxigraph.query_url, update_endpoint=oxigraph.update_url)

    @asynccontextmanager
    async def sparql(records):
        await load_sparql(there, records, LoadOptions(mode=LoadMode.REPLACE))
        async with closing(SparqlBackend.open(there)) as backend:
            yield backend

    @asynccontextmanager
    async def relational(records):
        async with database.schema() as schema:
            await load_postgres(PostgresSettings(dsn=database.owner_url, schema_=schema), records)
            url = database.reader_url
            async with closing(PostgresBackend.create(url, schema=schema)) as backend:
                yield backend

    return embedded, sparql, relational


@pytest.mark.parametrize("number", [0, 9, 16, 17, 25, 30])
async def test_servers_of_three_kinds_are_one_graph(number, servers):
    graph = drawn_graph(number)
    async with AsyncExitStack() as stack:  # in RDF, an edge makes nodes of its ends
        both = await stack.enter_async_context(federation(graph, servers, dangling=False))
        one, many = [await stack.enter_async_context(opened(db, "memory", {})) for db in both]
        for call in range(CALLS):
            tool, arguments = drawn_call(graph, call)
            expected, found = [await answer(g, tool, arguments) for g in (one, many)]
            if not any(text in expected for text in OF_KNOWN_KEYS):
                assert found == expected, (tool, arguments)
