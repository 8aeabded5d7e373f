"""Ids and values: what is found by which text, and how odd types of two engines are shown."""

import datetime as dt
from decimal import Decimal
from uuid import UUID

import pytest
from gremlin_python.statics import BigDecimal, long

from bfsql.models import Node, NodeRecord
from bfsql.models.condition import PropertyCondition
from bfsql_gremlin import GremlinBackend, GremlinSettings
from bfsql_gremlin.load.loader import load_graph
from bfsql_gremlin.values import candidates, from_driver, id_text, kind_of, properties_of
from bfsql_test_support.servers.gremlin import GremlinServer
from bfsql_testing.conformance.graphs import HOSTILE

UUID_TEXT = "7a1c0000-0000-0000-0000-00000000000a"
ODD = """
uuid = '7a1c0000-0000-0000-0000-00000000000a'
g.addV('odd').property('entity_id', 'odd').property('u', UUID.fromString(uuid))
 .property('i', java.time.Instant.ofEpochSecond(5, 7)).property('d', new Date(0))
 .property('by', (byte) 3).property('ch', (char) 'x').property('f', 1.5f)
 .property('bytes', [1, 2, 3] as byte[]).property('dur', java.time.Duration.ofSeconds(5))
 .iterate()
"""
SHOWN = {
    "u": UUID_TEXT,
    "i": "1970-01-01T00:00:05.000000007+00:00",
    "d": "1970-01-01T00:00:00+00:00",
    "by": 3,
    "ch": "x",
    "f": 1.5,
    "bytes": [1, 2, 3],
    "dur": "P0DT5S",
}
TINKER = """
g.addV('odd').property('entity_id', 'tinker').property('l', [1, [2, 'x']])
 .property('m', [a: 1, 2: 'x']).property('s', [2, 1] as Set)
 .property('ld', java.time.LocalDate.of(2020, 1, 2))
 .property('lt', java.time.LocalTime.of(1, 2, 3))
 .property('od', java.time.OffsetDateTime.parse('2020-01-02T03:04:05-03:00'))
 .property('bi', 2G**70).property('bd', 1.25G).property('ym', java.time.YearMonth.of(2020, 2))
 .property(list, 'lived', 'Bonn', 'since', 2000).property(list, 'lived', 'Rome').iterate()
"""
JANUS = """
shape = org.janusgraph.core.attribute.Geoshape
g.addV('odd').property('entity_id', 'janus').property('point', shape.point(1.5, 2))
 .property('box', shape.box(1, 2, 3, 4)).property('circle', shape.circle(1, 2, 30))
 .property('names', ['a', 'b'] as String[]).iterate()
"""


def test_an_id_is_found_by_its_text_and_by_no_other(each):
    for value, text in [
        ("a", "a"),
        (7, "7"),
        (True, "true"),
        (1.5, "1.5"),
        (UUID(UUID_TEXT), UUID_TEXT),
        (dt.datetime(2020, 1, 2), "2020-01-02T00:00:00"),  # noqa: DTZ001 - as the driver gives it
    ]:
        with each(value, text):
            assert id_text(value) == text
            assert value in candidates(text, {kind_of(value)})
            assert not candidates("no such", {kind_of(value)} - {"text"})
            assert not candidates("0" + text, {kind_of(value)} - {"text"})
            assert candidates(text, set()) == []


def test_numbers_are_sent_in_both_sizes_and_never_beyond():
    assert [type(one) for one in candidates("7", {"number"})] == [long, int]
    assert [type(one) for one in candidates(str(1 << 40), {"number"})] == [long]
    assert candidates(str(1 << 70), {"number"}) == []
    assert id_text([1]) is None
    assert id_text(None) is None


def test_types_that_the_driver_or_graphson_has_are_plain_values():
    given = {
        "decimal": BigDecimal(2, 125),
        "unknown": {"@type": "gx:Instant", "@value": "2020"},
        "deep": [(1, {"x": {2, 1}})],
        5: dt.timedelta(days=1),
    }
    assert from_driver(given) == {
        "decimal": Decimal("1.25"),
        "unknown": "2020",
        "deep": [[1, {"x": [1, 2]}]],
        "5": "P1DT0S",
    }


def test_several_values_are_a_list_and_properties_of_properties_stand_beside_them():
    rows = [["a", 1, {}], ["b", "x", {"since": 2000}], ["b", "y"]]
    assert properties_of(rows) == {"a": 1, "b": [{"since": 2000, "value": "x"}, "y"]}


@pytest.fixture(params=["tinkergraph", "janusgraph"])
async def empty(request):
    """Settings of each engine, with an empty graph."""
    settings = GremlinSettings(uri=[request.getfixturevalue(request.param).uri])
    await load_graph(settings, [])
    return settings


@pytest.fixture
async def opened(empty):
    """A backend that was opened on the empty graph."""
    backend = await GremlinBackend.open(empty)
    yield backend
    await backend.close()


async def test_odd_types_are_shown_and_spoil_no_other_node(empty, opened, script):
    more = TINKER if "tinker" in str(empty.uri) else ""
    await script(empty, ODD + ";" + more + ";g.addV('T').property('entity_id','b').iterate();1")
    found = await opened.metadata_for_nodes_batch(["odd", "b"])
    assert found == {"odd": SHOWN, "b": {}}


async def test_odd_types_of_tinkergraph(tinkergraph, script):
    settings = GremlinSettings(uri=[tinkergraph.uri])
    await load_graph(settings, [])
    await script(settings, TINKER + ";1")
    backend = await GremlinBackend.open(settings)
    assert await backend.metadata_for_node("tinker") == {
        "l": [1, [2, "x"]],
        "m": {"a": 1, "2": "x"},
        "s": [1, 2],
        "ld": "2020-01-02",
        "lt": "01:02:03",
        "od": "2020-01-02T03:04:05-03:00",
        "bi": 2**70,
        "bd": Decimal("1.25"),
        "ym": "2020-02",
        "lived": [{"since": 2000, "value": "Bonn"}, "Rome"],
    }
    await backend.close()


async def test_shapes_and_arrays_of_janusgraph(janusgraph, script):
    settings = GremlinSettings(uri=[janusgraph.uri])
    await load_graph(settings, [])
    await script(settings, JANUS + ";1")
    backend = await GremlinBackend.open(settings)
    assert await backend.metadata_for_node("janus") == {
        "point": "POINT (2 1.5)",
        "box": "ENVELOPE (2 1, 4 3)",
        "circle": "BUFFER (POINT (2 1), 30 km)",
        "names": ["a", "b"],
    }
    await backend.close()


async def test_vertices_without_the_id_property_have_the_id_of_the_engine(
    empty, opened, script, caplog
):
    await script(
        empty,
        "g.addV('T').as('a').addV('T').property('entity_id','b').addE('to').from('a').iterate();1",
    )
    [own] = await script(empty, "g.V().hasNot('entity_id').id()")
    [edge] = await opened.edges_batch(["b"])
    assert edge == (f"gremlin:{own}", "to", "b")
    assert await opened.get_node(edge[0]) == Node(edge[0], "T")
    assert await opened.edges_batch([edge[0]]) == [edge]
    assert await opened.get_nodes_batch(["gremlin:0", "gremlin:x", str(own)]) == []
    another = await GremlinBackend.open(empty)
    assert "1 of the 2 vertices examined have no property 'entity_id'" in caplog.text
    await another.close()
    by_own = await GremlinBackend.open(empty.model_copy(update={"id_property": "~id"}))
    assert {s for s, _, _ in await by_own.edges_batch([str(own)])} == {str(own)}
    assert await by_own.get_nodes_batch(["x", "-1"]) == []
    await by_own.close()


async def test_ids_of_another_type_are_their_text(empty, opened, script):
    """JanusGraph refuses to compare a number with text."""
    await script(
        empty, "g.addV('T').property('number', 7L).addV('T').property('number', 12L).iterate();1"
    )
    backend = await GremlinBackend.open(empty.model_copy(update={"id_property": "number"}))
    assert sorted(n.id for n in await backend.get_nodes_batch(["7", "12", "07", "x", "1e1"])) == [
        "12",
        "7",
    ]
    await backend.close()


async def test_vertices_with_one_id_are_one_node(tinkergraph, script):
    settings = GremlinSettings(uri=[tinkergraph.uri])
    await load_graph(settings, [])
    await script(
        settings,
        "g.addV('B').property('entity_id','x').property('n',1).as('b')"
        ".addV('A').property('entity_id','x').property('m',2).addE('to').to('b').iterate();1",
    )
    backend = await GremlinBackend.open(settings)
    assert await backend.get_nodes_batch(["x"]) == [Node("x", "A")]
    assert await backend.metadata_for_node("x") == {"n": 1, "m": 2, "other_types": ["B"]}
    assert await backend.edges_batch(["x"]) == [("x", "to", "x")] * 2
    await backend.close()


@pytest.mark.parametrize("engine", ["janusgraph", "arcadedb"])
async def test_nodes_are_listed_whatever_the_key_of_a_condition(engine, request):
    """The values of a condition are not sent: the kit tries them on TinkerGraph."""
    server: GremlinServer = request.getfixturevalue(engine)
    settings = GremlinSettings(uri=[server.uri], **server.login)
    await load_graph(settings, [NodeRecord("a", "T", {"value": 1}), NodeRecord("b", "T")])
    opened = await GremlinBackend.open(settings)
    for key in ("value", *HOSTILE):
        for operator in ("has", "lacks"):
            one = PropertyCondition(key, operator)
            rows = [row async for part in opened.nodes_stream(conditions=[one]) for row in part]
            met = {row.id for row in rows if one.holds(row.metadata or {})}
            having = {"a"} if key == "value" else set()
            assert met == (having if operator == "has" else {"a", "b"} - having)
    await opened.close()
