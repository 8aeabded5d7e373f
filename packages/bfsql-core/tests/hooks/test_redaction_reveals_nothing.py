"""Two graphs that differ only in hidden metadata have the same answers, errors and notes.

No call over MCP or REST may allow a client to tell them apart.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp
import pytest

from bfsql import Graph, MemoryBackend, open_graph
from bfsql.errors import ToolError
from bfsql.models import EdgeRecord, EntityStub, GraphRecord, Metadata, Node, NodeRecord
from bfsql.rest import application
from bfsql.server import create_server
from bfsql.settings import ServeSettings
from bfsql_test_support.backends.columns import ColumnsOverMemory, PlainColumns
from bfsql_test_support.hooks import Hiding

HIDDEN = {"salary", "synonyms", "total_mentions", "note"}


def redact(kind: str, key: Any, metadata: dict[str, Any]) -> dict[str, Any]:
    """Hide some keys of every record, and the name of records that have the key `secret`."""
    known = {k: v for k, v in metadata.items() if k not in HIDDEN}
    if metadata.get("secret"):
        known.pop("name", None)
    return known


def world(*, other: bool) -> list[GraphRecord]:
    """Employees of two firms; salaries, aliases, mentions, notes and spies' names are hidden."""
    aliases = [["Ripley", "Weyland"], ["Ash"]]
    people = [
        NodeRecord(
            f"p:{n}",
            "Person",
            {
                "name": "Twin" if n < 3 else f"Person {n}",
                "salary": (n * 7 + 3) % 11 if other else n,
                "synonyms": aliases[(n + other) % 2],
                "total_mentions": 9 if other and n % 2 else 1,
                "age": 30 + n,
            },
        )
        for n in range(8)
    ]
    spies = ("Bond", "Leiter")
    secret = [
        NodeRecord(f"s:{n}", "Person", {"name": spies[n != other], "secret": True}) for n in (0, 1)
    ]
    firms = [
        NodeRecord(f"f:{n}", "Firm", {"name": f"Firm {n}", "note": f"{n}{other}"}) for n in (0, 1)
    ]
    edges = [
        EdgeRecord(
            person.id,
            "works_for",
            f"f:{n % 2}",
            {"salary": 100 - n if other else n, "since": 2000 + n, "note": "b" if other else "a"},
        )
        for n, person in enumerate([*people, *secret])
    ]
    knows = [EdgeRecord("p:0", "knows", f"p:{n}", {"salary": n + other}) for n in range(1, 5)]
    return [*people, *secret, *firms, *edges, *knows]


class Eager(MemoryBackend):
    """Returns nodes with a part of their metadata, and hits with their names."""

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        found = await super().get_nodes_batch(ids)
        return [node._replace(metadata=self._part(node.id)) for node in found]

    async def get_node(self, entity_id: str) -> Node:
        node = await super().get_node(entity_id)
        return node._replace(metadata=self._part(entity_id))

    def _part(self, entity_id: str) -> Metadata:
        known = self._node_metadata[entity_id]
        return {key: known[key] for key in ("name", "salary") if key in known}


class Ranking(MemoryBackend):
    """Searches and ranks by a hidden key."""

    async def search_entities(self, query, node_types=None):
        found = await super().search_entities(query, node_types)
        known = self._node_metadata
        also = [
            EntityStub(i, self._types[i], known[i].get("name"))
            for i in known
            if str(known[i].get("salary")) == query and i not in {stub.id for stub in found}
        ]
        return sorted([*found, *also], key=lambda one: -known[one.id].get("salary", 0))


def hop(**arguments: Any) -> tuple[str, dict[str, Any]]:
    return "bfs_query", {"seeds": ["f:0"], "max_hops": 1, **arguments}


def steps(**arguments: Any) -> tuple[str, dict[str, Any]]:
    return "bfs_query", {"seeds": ["p:0"], "path": ["-knows->", "-works_for->"], **arguments}


def chosen(pattern: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "bfs_query", {"seeds": [pattern], **arguments}


CONDITIONS = (
    *("salary>3", "salary=7", "salary!=7", "salary~1", "Person.salary>3", "works_for.salary>50"),
    *("Person.name=Bond", "name=Leiter", "Person.total_mentions>5", "synonyms=Ripley", "note=a"),
    *("salary>abc", "Firm.note~T"),
)
ORDERS = ("salary", "-salary", "total_mentions", "-note", "name", "synonyms")
TEXTS = ("Bond", "Bnod", "Leiter", "Ripley", "riply", "Ash", "Twin", "7", "9", "Person", "person 5")
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("describe_schema", {}),
    ("describe_schema", {"seeds": ["f:0"]}),
    ("describe_schema", {"seeds": ["Bond"]}),
    *(hop(where=[condition]) for condition in CONDITIONS),
    *(steps(where=[condition]) for condition in CONDITIONS),
    *(steps(where=[f"1.{condition}"]) for condition in CONDITIONS[:4]),
    *(hop(sort_by=order, limit=2) for order in ORDERS),
    *(steps(sort_by=order, show="1") for order in ORDERS),
    hop(fields=["salary", "note", "name"]),
    hop(fields=["salary"], sort_by="-salary", where=["salary>0"]),
    hop(min_mentions=5),
    hop(max_tokens=600),
    hop(where=["salary>3"], limit=0),
    steps(min_mentions=5, count_distinct=1),
    *(chosen(f"Person[{condition}]") for condition in CONDITIONS[:4]),
    chosen("Person[name=Bond]"),
    chosen("Firm[note=a]"),
    chosen("*[synonyms=Ripley]", facets=["salary", "name"]),
    chosen("Person[no salary]", sort_by="-salary"),
    chosen("Person[age>31]", path=["-works_for->"], measure="sum 0.salary"),
    chosen("Person[no -works_for-> Firm[note=a]]"),
    chosen("Person:*", where=["-knows-> Person[salary>3] >= 1"], facets=["note"]),
    chosen("Person:*", facets=["salary", "total_mentions"], limit=0),
    hop(facets=["Person.salary", "works_for.salary"]),
    hop(along=["<-works_for-", "-knows->"], sort_by="-salary"),
    hop(along=["<-works_for-", "-knows->"], to=["Person[name=Bond]"]),
    steps(measure=["max 1.salary", "mean 2.works_for.salary"], sort_by="-measure"),
    steps(facets=["1.salary", "2.works_for.salary"], where=["2 != 0"]),
    *(steps(show="walks", sort_by=f"1.{order}") for order in ("salary", "name")),
    steps(show="walks", fields=["salary"], limit=1),
    *(hop(seeds=[text]) for text in TEXTS),
    *(hop(to=[text]) for text in TEXTS[:6]),
    ("bfs_query", {"seeds": ["f:0"], "to": ["f:1"], "where": ["Person.salary>3"]}),
    ("intersect_subgraphs", {"seeds": ["f:0", "f:1"], "connect": True, "where": ["salary>3"]}),
    ("intersect_subgraphs", {"seeds": ["p:0", "p:2"], "sort_by": "salary", "fields": ["salary"]}),
    ("intersect_subgraphs", {"seeds": ["Ripley", "p:2"]}),
    *(("search_entities", {"query": text}) for text in TEXTS),
    *(("describe_entity", {"id": i}) for i in ("p:0", "s:0", "f:1", "Bond", "Ripley", "p:Bond")),
    ("describe_entities", {"ids": ["p:1", "s:1", "Leiter", "Ash", "Twin"]}),
]
EDGE = "subject=p:0&predicate=works_for&object=f:0"
PATHS = (
    *(f"/entities?q={text}&limit=3" for text in TEXTS),
    "/entities?q=Bond&types=Person",
    "/entities/p:0",
    "/entities/p:3?keys=salary&keys=name",
    "/entities/s:0",
    "/entities/s:1?keys=name",
    "/entities/p:0/relations",
    "/entities/p:0/provenance",
    "/entities/Bond",
    f"/relations?{EDGE}",
    f"/relations?{EDGE}&keys=salary&keys=since",
    "/schema",
    "/outline",
    "/context",
)
BATCHES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/entities/batch", {"ids": ["p:0", "s:0", "f:0"], "metadata": True}),
    ("/entities/batch", {"ids": ["p:0", "s:0"], "metadata": True, "keys": ["salary", "name"]}),
    ("/relations/batch", {"relations": [["p:0", "works_for", "f:0"]]}),
    ("/relations/batch", {"relations": [["p:0", "knows", "p:1"]], "keys": ["salary"]}),
)
BACKENDS = (MemoryBackend, ColumnsOverMemory, Eager, Ranking)


@asynccontextmanager
async def worlds(kind: type[MemoryBackend]) -> AsyncIterator[list[Graph]]:
    """Both graphs, with the same hook."""
    hooks = [Hiding(redact)]
    async with (
        open_graph(kind(world(other=False)), hooks=hooks) as one,
        open_graph(kind(world(other=True)), hooks=hooks) as another,
    ):
        await one.counted()
        await another.counted()
        yield [one, another]


async def told(graph: Graph, tool: str, arguments: dict[str, Any]) -> Any:
    try:
        return (await graph.call(tool, arguments)).blocks
    except ToolError as refused:
        return refused.kind, refused.argument, str(refused)


@pytest.mark.parametrize("kind", BACKENDS)
async def test_no_tool_tells_two_graphs_apart(kind):
    async with worlds(kind) as graphs:
        for tool, arguments in CALLS:
            first, second = [await told(graph, tool, arguments) for graph in graphs]
            assert first == second, (tool, arguments)
            sent = str(first)
            asked = str(arguments)
            assert not any(name in sent and name not in asked for name in ("Bond", "Leiter"))


@pytest.mark.parametrize("kind", BACKENDS)
async def test_no_claim_tells_two_graphs_apart(kind):
    names = ("Bond", "Leiter", "Ripley", "Twin", "p:0", "s:0", "person 5")
    ends = ("f:0", "f:0[note~0]", "f:1[no note]", "f:0 #1", "p:1[salary>3]", "p:2")
    steps = ("works_for", "knows[salary>1]", "works_for[note=a]", "works_for[no salary]")
    text = "\n".join(f"{s} -{p}-> {o}" for s in names for p in steps for o in ends)
    async with worlds(kind) as graphs:
        first, second = [await graph.verify(text) for graph in graphs]
    assert first == second
    assert {"stored", "not stored", "undecided"} == {one.verdict for one in first}


async def test_the_two_graphs_do_differ_without_the_hook():
    """Without this, the other tests could pass trivially."""
    plain = [open_graph(MemoryBackend(world(other=other))) for other in (False, True)]
    async with plain[0] as one, plain[1] as another:
        same = [call for call in CALLS if await told(one, *call) == await told(another, *call)]
    assert len(same) < len(CALLS) / 2


class Listed(MemoryBackend):
    """Records what a list of entities is requested by."""

    def __init__(self, records: Sequence[GraphRecord]) -> None:
        super().__init__(records)
        self.requests: list[tuple[Any, Any]] = []

    def nodes_stream(self, *, entity_types=None, conditions=()):
        self.requests.append((entity_types and set(entity_types), conditions))
        return super().nodes_stream(entity_types=entity_types, conditions=conditions)


class ListedColumns(Listed):
    """The same, in columns."""

    def columns(self) -> PlainColumns:
        requests = self.requests

        class Columns(PlainColumns):
            def nodes(self, entity_types=None, conditions=()):
                requests.append((entity_types and set(entity_types), conditions))
                return super().nodes(entity_types, conditions)

        return Columns(self._types, self._edge_metadata)


@pytest.mark.parametrize("kind", [Listed, ListedColumns])
async def test_only_types_reach_a_store_behind_a_hook(kind):
    pattern = chosen("Person[salary>3][name=Bond]")
    plain, hidden = kind(world(other=False)), kind(world(other=False))
    async with open_graph(plain, hooks=[]) as graph:
        await told(graph, *pattern)
    async with open_graph(hidden, hooks=[Hiding(redact)]) as graph:
        await told(graph, *pattern)
    keys = [{one.key for one in conditions} for _, conditions in plain.requests]
    assert {"salary", "name"} in keys
    assert hidden.requests == [({"Person"}, ())]


URIS = (
    *("bfsql://schema", "skill://ask-this-graph/SKILL.md", "bfsql://evidence/p%3A0/knows/p%3A1"),
    *("bfsql://entity/s%3A0", "bfsql://claim/Bond%20-works_for-%3E%20Firm%200"),
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [MemoryBackend, Ranking])
async def test_no_client_over_mcp_can_tell_them_apart(kind):
    answers: list[list[Any]] = []
    for other in (False, True):
        server = create_server(kind(world(other=other)), hooks=[Hiding(redact)])
        async with mcp.Client(server) as client:
            given = [await client.call_tool(tool, arguments) for tool, arguments in CALLS]
            given += [await client.read_resource(uri) for uri in URIS]
            listed = (await client.list_tools()).model_dump_json()
            answers.append([*(one.model_dump_json(exclude={"meta"}) for one in given), listed])
    for call, first, second in zip([*CALLS, *URIS, "tools/list"], *answers, strict=True):
        assert first == second, call


@pytest.mark.slow
@pytest.mark.parametrize("kind", [MemoryBackend, Eager, Ranking])
async def test_no_client_over_rest_can_tell_them_apart(kind):
    answers: list[list[Any]] = []
    async with worlds(kind) as graphs:
        for graph in graphs:
            served = httpx2.ASGITransport(application(graph, ServeSettings(rest=True)))
            async with httpx2.AsyncClient(transport=served, base_url="http://127.0.0.1") as web:
                found = [await web.get(path) for path in PATHS]
                found += [await web.post(path, json=body) for path, body in BATCHES]
                found += [await web.post(f"/tools/{tool}", json=given) for tool, given in CALLS]
            answers.append([(one.status_code, one.text) for one in found])
    for asked, first, second in zip([*PATHS, *BATCHES, *CALLS], *answers, strict=True):
        assert first == second, asked
