"""Roles: an answer is that of the graph without what the role may not see, over every store."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql import Graph, Limits, open_graph
from bfsql.abc import GraphDbInterface
from bfsql.cli.configuration import choose, configure
from bfsql.cli.configured import opened as opened_for
from bfsql.errors import ConfigurationError, ToolError
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql.serving.tokens import TokenOwner
from bfsql.settings.roles import Role, for_caller, role_of, roles_of
from bfsql.tools.graph_view import GraphView
from bfsql.tools.role_graph import _OF_ONE, _OF_SEVERAL, RoleGraphDb
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.case_table import case_table
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
def cases(draw: Any) -> Case:
    """Graphs with values that do not compare, and roles that hide by all ways."""
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
        "hide_properties": draw(st.sampled_from([[], ["Secret"], ["Secret", "Provenance"]])),
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
        return {
            key: value for key, value in known.items() if key.title() not in role.hide_properties
        }

    found: list[GraphRecord] = []
    for one in case.records:
        if isinstance(one, NodeRecord):
            found += [] if one.id in gone else [replace(one, metadata=kept(one.metadata))]
        elif isinstance(one, EvidenceRecord) and "Provenance" in role.hide_properties:
            continue
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
    for asked in calls():
        assert await answer(whole, *asked) == await answer(rest, *asked), asked
    assert whole.definitions() == rest.definitions()


def in_memory(records: Sequence[GraphRecord], **more: Any) -> AbstractAsyncContextManager[Graph]:
    return open_graph(MemoryBackend(records), **more)


@given(case=cases(), answer_format=st.sampled_from(["json", "lines"]))
@settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
async def test_a_role_sees_the_graph_without_what_it_hides(answer_format: Any, case: Case) -> None:
    limits = Limits(answer_format=answer_format)
    async with (
        in_memory(case.records, limits=limits, role=case.role) as whole,
        in_memory(remaining(case), limits=limits) as rest,
    ):
        await assert_same(whole, rest)
        assert (await whole.skill()).page == (await rest.skill()).page


@asynccontextmanager
async def in_file(records: Sequence[GraphRecord], path: Path, **more: Any) -> AsyncIterator[Graph]:
    await load_graph(SqliteSettings(path=path), records)
    async with open_graph("sqlite", path=path, **more) as graph:
        yield graph


@given(case=cases())
@settings(deadline=None, max_examples=6, suppress_health_check=list(HealthCheck))
async def test_a_role_sees_the_same_of_a_file(tmp_path: Path, case: Case) -> None:
    async with (
        in_memory(remaining(case)) as reference,
        in_file(case.records, tmp_path / "a.db", role=case.role) as whole,
    ):
        await assert_same(whole, reference)


@pytest.mark.parametrize("share", [0.1, 0.9, 0.97])
async def test_a_search_looks_behind_hidden_hits(tmp_path: Path, share: float) -> None:
    random, words = Random(8), ["name", "2", "anna", "annal", "berta", "van", "karl"]
    records: list[GraphRecord] = []
    for number in range(150):
        name = " ".join(random.choices(words, k=random.choice([1, 1, 2, 3])))
        metadata = {"name": name, "x": 2 * (random.random() < share)}
        records.append(NodeRecord(f"n{number}", random.choice("TTTU"), metadata))
    case = Case(records, Role(name="reader", hide=("T[x>=2]",)))
    async with (
        in_memory(records, role=case.role) as whole,
        in_memory(remaining(case)) as rest,
        in_file(records, tmp_path / "a.db", role=case.role) as whole_file,
        in_file(remaining(case), tmp_path / "b.db") as rest_file,
    ):
        for query in ("name 2", "anna", "ann", "karlz", "anna van qq", "berta karl x", "n1", "n"):
            for tool, named in (("search_entities", "query"), ("describe_entity", "id")):
                for one, other in ((whole, rest), (whole_file, rest_file)):
                    mine = await answer(one, tool, {named: query})
                    assert mine == await answer(other, tool, {named: query}), (tool, query)


async def test_a_store_that_leaves_out_no_hits_is_noted() -> None:
    class Limited(MemoryBackend):
        async def search_entities(self, query: str, node_types: Any = None) -> Any:
            return await super().search_entities(query, node_types)

    nodes = [NodeRecord(f"n{n:02}", "T", {"name": "name 2", "x": 2 * (n < 19)}) for n in range(30)]
    async with open_graph(Limited(nodes), role=Role(name="reader", hide=("T[x>=2]",))) as graph:
        found = await graph.search_entities("name 2")
    assert [one["id"] for one in found.document["result"]] == ["n19"]
    assert "only the first candidates" in " ".join(found.blocks)


@pytest.mark.parametrize(
    ("store", "opened"),
    [("postgres", in_postgres), ("neo4j_server", in_neo4j), ("oxigraph", in_sparql)],
)
async def test_a_role_on_servers(
    store: str, opened: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    random = Random(8)
    nodes = [
        NodeRecord(one, random.choice(TYPES), {"name": f"name {n}", "x": n % 3, "secret": n % 2})
        for n, one in enumerate(IDS)
    ]
    edges = {(random.choice(IDS), random.choice(PREDICATES), random.choice(IDS)) for _ in range(16)}
    records = [*nodes, *(EdgeRecord(*one, {"weight": 1, "secret": "e"}) for one in sorted(edges))]
    hides: list[dict[str, Any]] = [
        {"hide_types": ["U"], "hide_predicates": ["q"]},
        {"hide": ["T[x>=2]"]},
        {"hide_types": ["V"], "hide": ["*[x=1][name~name 2]"], "hide_properties": ["Secret"]},
    ]

    class Loaded(NamedTuple):
        name: str = "roles"
        description: str = "Things."

        def records(self) -> list[GraphRecord]:
            return records

    async with opened(Loaded(), request.getfixturevalue(store)) as [ours, *_]:
        for one in hides:
            case = Case(records, Role(name="reader", **one))
            async with in_memory(remaining(case), graph_description="Things.") as rest:
                part = ours.tools.graph.for_role(case.role)
                for tool, arguments in calls()[:10] + calls()[-3:]:
                    asked = tool, arguments
                    mine, wanted = [await answer(graph, *asked) for graph in (part, rest)]
                    # What else is called so depends on the store's search.
                    cut = " Entities of a similar name"
                    assert mine.partition(cut)[0] == wanted.partition(cut)[0], (asked, one)


async def test_a_new_method_of_a_store_shows_nothing_hidden() -> None:
    shown = {"lists_entities", "knows_operator", "filters_exactly", "next_steps", "changed"}
    shown |= {"ping", "may_write", "close"}
    answered = {"nodes_stream", "edges_stream", *_OF_ONE, *_OF_SEVERAL}
    own = {name for one in (RoleGraphDb, GraphView) for name in vars(one)}
    methods = {n for n, of in vars(GraphDbInterface).items() if n[0] != "_" and callable(of)}
    assert not methods - shown - answered - own


CLAIMS = {"groups": ["lab", 3, None], "team": "red", "realm": {"roles": ["x"]}, "team.is": "blue"}
TOKEN = TokenOwner("ann", None, ["read", "write"], CLAIMS)


@case_table(
    ("table", "matches"),
    {
        "what an issuer calls a client": ({"tokens": ["bob", "ann"]}, False),
        "another name": ({"tokens": ["an"]}, False),
        "any": ({"tokens": ["*"]}, True),
        "by scope": ({"scopes": ["admin", "read"]}, True),
        "a part of a scope": ({"scopes": ["rea"]}, False),
        "by list": ({"claims": {"groups": ["lab"]}}, True),
        "by text": ({"claims": {"team": ["red", "blue"]}}, True),
        "a part of a text": ({"claims": {"team": ["re"]}}, False),
        "a nested claim": ({"claims": {"realm.roles": ["x"]}}, True),
        "a name with a dot": ({"claims": {"team.is": ["blue"]}}, True),
        "no object to reach into": ({"claims": {"team.was": ["red"]}}, False),
        "a number": ({"claims": {"groups": ["3"]}}, False),
        "one of two claims": ({"claims": {"groups": ["lab"], "team": ["blue"]}}, False),
        "a missing claim": ({"claims": {"missing": ["lab"]}}, False),
        "a claim without values": ({"claims": {"groups": []}}, False),
        "nothing": ({}, False),
    },
)
def test_a_token_has_a_role(table: dict[str, Any], matches: bool) -> None:
    [role] = roles_of({"reader": table}, "bfsql.toml")
    assert (role_of([role], TOKEN) is role) is matches
    assert role_of([role], None) is None


def test_a_token_of_a_file_has_the_role_of_its_name() -> None:
    roles = roles_of({"b": {"tokens": ["bob"]}, "a": {"tokens": ["ann"]}}, "bfsql.toml")
    assert role_of(roles, TokenOwner("ann")) is roles[1]
    assert role_of(roles, TokenOwner("eve")) is None


@case_table(
    ("table", "named"),
    {
        "a text for a list": ('tokens = "ann"', ["tokens", "roles.reader"]),
        "an unknown key": ('hide_type = ["T"]', ["hide_type", "roles.reader", "hide_types"]),
        "a low ceiling": ("max_tokens = 3", ["max_tokens", "500"]),
        "a misspelt key": ("hide_propertis = []", ["is unknown. Did you mean hide_properties?"]),
        "an unknown tool": ('tools = ["grep"]', ["tools", "grep", "bfs_query"]),
        "an unknown graph": ('graphs = ["flims"]', ["graphs", "flims", "films"]),
        "no pattern": ('hide = ["T[x>="]', ["hide", "roles.reader", "T[x>="]),
        "relations": ('hide = ["T[-p-> U]"]', ["hide", "roles.reader", "-p->"]),
    },
)
def test_a_role_that_cannot_be_used_is_named(tmp_path: Path, table: str, named: list[str]) -> None:
    file = tmp_path / "bfsql.toml"
    file.write_text(f'[graphs.films]\npath = "a.db"\n[roles.reader]\n{table}\n')
    with pytest.raises(ConfigurationError) as wrong:
        configure(choose(config=file, environment={}))
    assert all(name in str(wrong.value) for name in named), wrong.value
    file.write_text('[roles.reader]\ngraphs = ["films"]\n')
    with pytest.raises(ConfigurationError, match=r"no tables \[graphs\.NAME\]"):
        configure(choose(config=file, environment={}))


async def test_settings_of_a_role_have_the_claims_of_a_token(tmp_path: Path) -> None:
    file, hostile = tmp_path / "bfsql.toml", 'ann","role":"x\\'
    own = """role = "{kind}"\nclaims = "sub={sub},of=lab" """
    file.write_text(f'[backend]\nname = "postgres"\n[roles.a]\n[roles.a.settings]\n{own}')
    read = configure(choose(config=file, environment={}))
    [role] = read.server.settings.roles
    for kind in ("analyst", "none"):  # SET ROLE has the second word for the account itself
        identity = role.identity(TokenOwner(claims={"sub": hostile, "kind": kind}))
        with nullcontext() if kind == "analyst" else pytest.raises(ToolError, match="make no role"):
            made: Any = for_caller(read.of_roles["a"], identity)
            assert (made.role, made.claims) == ("analyst", {"sub": hostile, "of": "lab"})
    with pytest.raises(ConfigurationError, match="only over HTTP"):
        await opened_for(read.with_server(role="a")).__aenter__()


async def test_ceilings_and_tools_of_a_role() -> None:
    role = Role(name="few", max_tokens=500, max_nodes=3, tools=("bfs_query",), hide=("*:*",))
    async with in_memory([NodeRecord("a", "T")], role=role) as graph:
        assert [one.name for one in graph.definitions()] == ["bfs_query"]
        assert (graph.limits.max_tokens, graph.limits.max_nodes) == (500, 3)
        assert (graph.limits.ceilings, graph.limits.deadline) == (True, 60.0)
        with pytest.raises(ToolError, match="may not call describe_schema"):
            await graph.describe_schema()
        with pytest.raises(ToolError, match="no entity has the id"):
            await graph.bfs_query("a")
