"""`where` compared with an independent, simple evaluation of its conditions."""

import operator
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql import Limits, MemoryBackend, open_graph
from bfsql.errors import ToolError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.query.properties import condition
from bfsql.query.vocabulary import Names
from bfsql_test_support import tool_calls

TYPES = ("Trial", "Paper")
PREDICATES = ("cites", "Trial")  # one is also the name of a type
VALUES = st.sampled_from(
    [0, 1, 2.5, "2", "Änne", "anne", "Bo b", "", True, ["anne", 3], [], None, "1999-05-07"]
)
KEYS = ("size", "dc.title")
METADATA = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=2)
WRITTEN = ("0", "2", "2.50", "ANNE", "b", "true", "1999", "1999-05", "'Bo b'")
ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@st.composite
def graphs(draw):
    ids = [f"n{number}" for number in range(draw(st.integers(2, 8)))]
    nodes = [NodeRecord(i, draw(st.sampled_from(TYPES)), draw(METADATA)) for i in ids]
    ends = st.sampled_from(ids)
    triples = st.tuples(ends, st.sampled_from(PREDICATES), ends)
    drawn = draw(st.lists(triples, min_size=3, max_size=14, unique=True))
    return nodes, [EdgeRecord(*t, draw(METADATA)) for t in drawn]


conditions = st.tuples(
    st.sampled_from(["", "Trial.", "cites.", "Paper . "]),
    st.sampled_from(KEYS),
    st.sampled_from(["=", "==", "!=", "<>", *ORDERS, "~"]),
    st.lists(st.sampled_from(WRITTEN), min_size=1, max_size=2, unique=True),
)


def plain(text):
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()


def as_number(value):
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def meets(metadata, key, sign, alternatives):
    """Whether metadata meets a condition; None if it lacks the property."""
    value = metadata.get(key)
    if value is None:
        return None
    if sign in ("!=", "<>"):
        return not meets(metadata, key, "=", alternatives)
    values = value if isinstance(value, list) else [value]
    return any(one(v, sign, w.strip("'")) for v in values for w in alternatives)


def one(value, sign, written):
    sign = "=" if sign == "==" else sign
    if sign == "~":
        return plain(written) in plain("true" if value is True else str(value))
    compare = {"=": operator.eq, **ORDERS}[sign]
    if value is True:
        return written == "true" and compare(0, 0)
    if as_number(written) is not None and as_number(value) is not None:
        return compare(as_number(value), as_number(written))
    if written in ("1999", "1999-05"):  # the only dates in conditions
        return value == "1999-05-07" and compare(0, 0)
    if as_number(written) is not None or not isinstance(value, str):
        return False
    return compare(plain(value), plain(written))


def expected(nodes, edges, where):
    """Ids and triples that remain."""
    kept, triples, types = {n.id for n in nodes}, set(), {n.entity_type for n in nodes}
    for scope, key, sign, alternatives in where:
        for node in nodes:
            verdict = meets(node.metadata, key, sign, alternatives)
            own = scope.strip(" .") == node.entity_type
            if (own and not verdict) or (not scope and verdict is False):
                kept.discard(node.id)
    for edge in edges:
        stays = edge.subject in kept and edge.object in kept
        for scope, key, sign, alternatives in where:
            verdict = meets(edge.metadata, key, sign, alternatives)
            own = scope.strip(" .") == edge.predicate and edge.predicate not in types
            stays &= not ((own and not verdict) or (not scope and verdict is False))
        if stays:
            triples.add((edge.subject, edge.predicate, edge.object))
    return kept, triples


@settings(max_examples=60)
@given(graphs(), st.lists(conditions, min_size=1, max_size=3))
async def test_where_keeps_what_a_plain_evaluation_keeps(graph, where):
    nodes, edges = graph
    spokes = [EdgeRecord(nodes[0].id, "spoke", n.id) for n in nodes]  # so all nodes are reached
    texts = [f"{scope}{key}{sign}{'|'.join(values)}" for scope, key, sign, values in where]
    db = MemoryBackend([*nodes, *edges, *spokes])
    async with open_graph(db, limits=Limits(max_tokens=0)) as opened:
        answer = await tool_calls.read(
            opened, "bfs_query", seeds=[nodes[0].id], max_hops=2, where=texts
        )
    kept, triples = expected(nodes, [*edges, *spokes], where)
    assert {n["id"] for n in answer["nodes"]} == kept
    assert {(e["subject"], e["predicate"], e["object"]) for e in answer["edges"]} == triples
    assert (answer["node_count"], answer["edge_count"]) == (len(kept), len(triples))


RECORDS = [
    NodeRecord("t1", "Trial", {"status": "Completed", "year": 2010, "name": "D\u00e9smo one"}),
    NodeRecord("t2", "Trial", {"status": "terminated", "year": "2015"}),
    NodeRecord("t3", "Trial", {"year": "abc", "tags": ["a", "b"]}),
    NodeRecord("d", "Disease", {"name": "flu"}),
    EdgeRecord("t1", "studies", "d", {"confidence": 0.9, "created_at": "2020"}),
    EdgeRecord("t2", "studies", "d", {"confidence": 0.5}),
    EdgeRecord("t3", "studies", "d"),
]


async def answered(*where, **arguments):
    async with open_graph(MemoryBackend(RECORDS)) as opened:
        given_ = {"seeds": ["d"], "max_hops": 1, **arguments}
        return await tool_calls.read(opened, "bfs_query", where=list(where), **given_)


@pytest.mark.parametrize(
    ("where", "note"),
    [
        ("trial.status=completed", 'read "trial" as "Trial"'),
        ("Trial.status=x", 'meets "Trial.status=x". Values found: "Completed", "terminated".'),
        ("foo=1", 'nothing reached has the property "foo", so "foo=1" removed nothing'),
        ("Trial.foo=1", "no Trial reached has the property"),
        ("studies.created_at>2019", "describe_entity shows it"),
        ("created_at>2019", "describe_entity shows it"),
        ("year>=2012", "1 value cannot be compared"),
        ("MATCH (n) RETURN n.name = 'x'", "nothing reached has the property"),
    ],
)
async def test_a_condition_that_may_be_a_mistake_is_reported(where, note):
    answer = await answered(where)
    assert any(note in told for told in answer["notes"])


@pytest.mark.parametrize(
    "where",
    [
        *("year", "=2010", "status=", "status=a||b", "name=~.*", "year>2000 AND year<2010"),
        *("2.year<2000", "year === 3", "status is not null", '{"year": 2010}'),
    ],
)
async def test_what_is_no_condition_is_an_error_that_shows_some(where):
    with pytest.raises(ToolError) as refused:
        await answered(where)
    assert refused.value.argument == "where"
    assert '"year>=2010"' in str(refused.value)


async def test_two_hundred_conditions_hold_together_and_one_more_is_refused():
    answer = await answered(*(f"year!={number}" for number in range(1900, 2099)), "name=flu")
    assert [node["id"] for node in answer["nodes"]] == ["d", "t3"]
    with pytest.raises(ToolError, match="the limit is 200"):
        await answered(*(f"year!={number}" for number in range(201)))


async def test_a_property_called_id_is_compared_in_place_of_the_id_of_the_entity():
    records = [NodeRecord("a", "Trial", {"id": "b"}), NodeRecord("b", "Trial")]
    async with open_graph(MemoryBackend(records)) as graph:
        for wanted, found in (("a", []), ("b", ["a", "b"])):
            of_set = await graph.bfs_query([f"Trial[id={wanted}]"])
            of_seeds = await graph.bfs_query(["a", "b"], where=[f"Trial.id={wanted}"])
            for answer in (of_set, of_seeds):
                assert [node["id"] for node in answer.content["nodes"]] == found


def test_the_longest_known_name_before_a_dot_is_the_scope():
    names = Names(("owl", "owl.Class"), ("owl.Class.of",))
    for text, scope in (
        ("owl.year=1", "owl"),
        ("owl.Class.year=1", "owl.Class"),
        ("owl.Class.of.year=1", "owl.Class.of"),
    ):
        one = condition(text, names, None)
        assert (one.key, one.scope) == ("year", scope)
