"""Roles: an answer is that of the graph without what the role may not see, over every store."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql import Graph, Limits, open_graph
from bfsql.errors import ToolError
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql.settings.roles import Role
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.questions.stores import in_neo4j, in_postgres, in_sparql

TYPES, PREDICATES, IDS = "TUV", "pqr", [f"n{number}" for number in range(7)]
HIDES: dict[str, Callable[[NodeRecord], bool]] = {
    "T[x>=2]": lambda one: one.entity_type == "T" and one.metadata["x"] in (2, "much"),
    "*[x=1][name~name 2]": lambda one: (
        one.metadata["x"] in (1, "much") and one.metadata["name"] == "name 2"
    ),
    "U[day>=today]": lambda one: (
        one.entity_type == "U" and one.metadata.get("day") in ("2999-01-01", "someday")
    ),
    "v:*": lambda one: one.entity_type == "V",
}
"""Patterns, and which nodes of the graphs here they have; a text compares with no number."""


class Case(NamedTuple):
    """A graph, and a role."""

    records: list[GraphRecord]
    role: Role


@st.composite
def cases(draw: Any, *, properties: bool = True) -> Case:
    records: list[GraphRecord] = []
    days = st.sampled_from([{}, {"day": "2999-01-01"}, {"day": "2001-01-01"}, {"day": "someday"}])
    for number, one in enumerate(IDS):
        x = draw(st.sampled_from([0, 1, 2, "much"]))
        metadata = {"name": f"name {number % 4}", "x": x, "secret": number % 2, **draw(days)}
        records.append(NodeRecord(one, draw(st.sampled_from(TYPES)), metadata))
    ends = st.sampled_from(IDS)
    edges = st.tuples(ends, st.sampled_from(PREDICATES), ends | st.just("gone"))
    for edge in draw(st.lists(edges, max_size=16, unique=True)):
        records.append(EdgeRecord(*edge, {"weight": len(records) % 3, "secret": "e"}))
        if draw(st.booleans()):
            item = {"document_id": "n1", "text_span": f"passage {len(records)}", "secret": 3}
            records.append(EvidenceRecord(*edge, item))
    some = st.lists(st.sampled_from(TYPES), max_size=2, unique=True)
    hidden = {
        "hide_types": draw(some),
        "hide_predicates": draw(st.lists(st.sampled_from(PREDICATES), max_size=2, unique=True)),
        "hide": draw(st.lists(st.sampled_from([*HIDES]), max_size=2, unique=True)),
        "hide_properties": ["secret"] if properties and draw(st.booleans()) else [],
    }
    return Case(records, Role(name="reader", **hidden))


def remaining(case: Case) -> list[GraphRecord]:
    """The records of a graph without what the role may not see."""
    role = case.role
    nodes = [one for one in case.records if isinstance(one, NodeRecord)]
    gone = {
        one.id
        for one in nodes
        if one.entity_type in role.hide_types or any(HIDES[text](one) for text in role.hide)
    }

    def kept(known: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in known.items() if key not in role.hide_properties}

    found: list[GraphRecord] = []
    for one in case.records:
        if isinstance(one, NodeRecord):
            found += [] if one.id in gone else [replace(one, metadata=kept(one.metadata))]
        elif one.predicate not in role.hide_predicates and gone.isdisjoint(
            (one.subject, one.object)
        ):
            part = "item" if isinstance(one, EvidenceRecord) else "metadata"
            found.append(replace(one, **{part: kept(getattr(one, part))}))
    return found


def calls() -> list[tuple[str, dict[str, Any]]]:
    """Calls of the six tools."""
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
        {**one, "where": ["secret=1"], "max_hops": 2, "fields": ["secret", "name"]},
        {"seeds": ["T:*"], "path": ["--"], "show": "ends", "measure": ["sum 1.x"]},
        {"seeds": ["U[x>=1]"], "limit": 2, "sort_by": "x", "facets": ["secret"]},
        {"seeds": ["*[no -p->]"], "limit": 9},
        {"seeds": ["V[secret=1]"]},
    ]
    return [
        *(("bfs_query", walk) for walk in walks),
        ("intersect_subgraphs", {**two, "k": 2, "connect": True}),
        *(("describe_entity", {"id": one}) for one in ("n1", "n2", "name 3")),
        ("describe_entities", {"ids": IDS}),
        ("search_entities", {"query": "name 2"}),
        ("search_entities", {"query": "n", "node_types": ["T"]}),
        ("describe_schema", two),
        ("describe_schema", {}),
    ]


async def answer(graph: Graph, tool: str, arguments: dict[str, Any]) -> str:
    try:
        return "\n".join((await graph.call(tool, arguments)).blocks)
    except ToolError as error:
        return f"{error.kind}: {error}"


async def assert_same(whole: Graph, rest: Graph) -> None:
    """Both answer every call alike, and tell the same of the graph."""
    for graph in (whole, rest):
        await graph.counted()
        await graph.describe_schema()
    for tool, arguments in calls():
        asked = tool, arguments
        assert await answer(whole, *asked) == await answer(rest, *asked), asked
    assert whole.definitions() == rest.definitions()
    assert (await whole.skill()).page == (await rest.skill()).page


@pytest.mark.parametrize("answer_format", ["json", "lines"])
@given(case=cases())
@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
async def test_a_role_sees_the_graph_without_what_it_hides(answer_format: Any, case: Case) -> None:
    limits = Limits(answer_format=answer_format)
    async with (
        open_graph(MemoryBackend(case.records), limits=limits, role=case.role) as whole,
        open_graph(MemoryBackend(remaining(case)), limits=limits) as rest,
    ):
        await assert_same(whole, rest)
