"""Expressions compared with Python's own arithmetic, one value and one walk at a time."""

import datetime as dt
import math
import operator
import re
from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql import Limits, MemoryBackend, open_graph
from bfsql.engine.expressions import Evaluation, PartValues
from bfsql.errors import ToolError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.models.comparison import number_of, scalars
from bfsql.models.expression import Constant, Operation, Part
from bfsql.plugins import hookimpl
from bfsql.query.properties import condition, property_condition
from bfsql.query.vocabulary import Names
from bfsql_test_support import compact_parser, nasty_values, tool_calls
from bfsql_test_support.backends.columns import ColumnsOverMemory
from bfsql_test_support.case_table import case_table
from bfsql_test_support.graph_strategies import PREDICATES, Drawn
from bfsql_test_support.oracles import walking
from bfsql_test_support.oracles.walking import Walker, node_at

WHOLE = Limits(max_tokens=0)
SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
COMPARED = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, ">=": operator.ge}
DATES = ["2020-01-31", "2020-02-29", "2021-12-31T12:00:00Z", "2020-05", "1999-12-31 later"]
NASTY = [one for one in nasty_values.VALUES if "+99:59" not in str(one)]  # no offset of Python
VALUES = st.sampled_from([None, None, *NASTY, *DATES, 3, 2.5, 7, 2**62, 1e300])


# --- one thing at a time: brute force --------------------------------------------------


def read(value):
    """A value as a number or a date, as `protocol.md` 39 reads one; None if it is neither."""
    found = scalars(value)
    if len(found) != 1:
        return None
    if (number := number_of(found[0])) is not None:
        value = number.value if abs(number.value) < 2**63 else float(number.decimal)
        return value if math.isfinite(value) else None
    match = re.fullmatch(r"(\d{4})-(\d\d)(?:-(\d\d)(.*))?", str(found[0]).strip())
    if match is None:
        return None
    try:
        day = dt.datetime(int(match[1]), int(match[2]), int(match[3] or 1), tzinfo=dt.UTC)
        if not match[4]:
            return day
        return dt.datetime.fromisoformat(str(found[0]).upper().replace(" ", "T")).astimezone(dt.UTC)
    except ValueError:
        return None


def computed(tree, record):  # noqa: PLR0911 - one line a kind
    if isinstance(tree, Part):
        return read(record.get(tree.key))
    if isinstance(tree, Constant):
        return read(tree.text)
    if tree.name == "year":
        found = scalars(record.get(tree.arguments[0].key))
        match = re.match(r"\s*(\d{4})(?!\d)", str(found[0])) if len(found) == 1 else None
        return int(match[1]) if match and not isinstance(found[0], bool) else None
    values = [computed(one, record) for one in tree.arguments]
    if None in values:
        return None
    are_dates = [isinstance(one, dt.datetime) for one in values]
    if any(are_dates):
        if tree.name != "-" or not all(are_dates):
            return None
        return (values[0] - values[1]) / dt.timedelta(days=1)
    return arithmetic(tree.name, *values)


def arithmetic(name, one, other=0):
    if name == "abs":
        return abs(one)
    if name == "round":
        return float(math.floor(abs(one) + 0.5)) * math.copysign(1, one)
    if name == "/":
        result = one / other if other else math.inf
    else:
        result = SIGNS[name](float(one), float(other))
        if isinstance(one, int) and isinstance(other, int) and abs(result) < 2**63:
            result = SIGNS[name](one, other)
    return result if math.isfinite(result) else None


def shown(value):
    if value is None or isinstance(value, dt.datetime):
        return None
    value = float(f"{value:.15g}") if isinstance(value, float) else value
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e16
    return int(value) if is_whole else value


PARTS = st.sampled_from(
    [Part("a"), Part("b"), Constant("2"), Constant("0.5"), Constant("2020-03-01")]
)
YEARS = st.sampled_from([Operation("year", (Part("a"),))])


def operations(inner):
    pairs = st.tuples(inner, inner)
    two = st.builds(Operation, st.sampled_from(["+", "-", "*", "/"]), pairs)
    return two | st.builds(Operation, st.just("abs"), st.tuples(inner))


@settings(max_examples=400)
@given(
    tree=st.recursive(PARTS | YEARS, operations, max_leaves=5),
    records=st.lists(st.fixed_dictionaries({"a": VALUES, "b": VALUES}), min_size=1, max_size=12),
    sign=st.sampled_from(list(COMPARED)),
    number=st.sampled_from(["0", "2", "30.5", "1e15"]),
)
def test_an_expression_is_what_python_computes_one_value_at_a_time(tree, records, sign, number):
    columns = {key: [one[key] for one in records] for key in "ab"}
    of_all = Evaluation(len(records), lambda part: PartValues(columns[part.key]))
    expected = [computed(tree, one) for one in records]
    if isinstance(tree, Operation):
        assert repr(list(of_all.values(tree))) == repr([shown(one) for one in expected])
        met = of_all.values(Operation(sign, (tree, Constant(number))))
        numbers = [shown(one) for one in expected]
        assert list(met) == [
            None if one is None else COMPARED[sign](one, read(number)) for one in numbers
        ]


@case_table(
    "values, tree, result",
    [
        ([2.5, -2.5, 2.4, 10**15 + 1], Operation("round", (Part("a"),)), [3, -3, 2, 10**15 + 1]),
        ([2.345, 1e-9], Operation("round", (Part("a"), Constant("2"))), [2.35, 0]),
        ([0.1], Operation("+", (Part("a"), Constant("0.2"))), [0.3]),
        ([2**63 + 1], Operation("-", (Part("a"), Constant("1"))), [9.22337203685478e18]),
        ([2**62, 2**62 - 1], Operation("+", (Part("a"), Constant("1"))), [2**62 + 1, 2**62]),
        ([0, 1e308], Operation("/", (Constant("1"), Part("a"))), [None, 1e-308]),
    ],
)
def test_numbers_are_rounded_as_people_and_sql_do(values, tree, result):
    of_all = Evaluation(len(values), lambda _: PartValues(values))
    assert list(of_all.values(tree)) == result


# --- texts ------------------------------------------------------------------------------

KEYS = ["w", "h", "height-width", "km/h", "weight (kg)", "a - b", "3d", "C++"]


@case_table(
    "text, key, operator",
    [
        ("w*h>6", "computed", "="),
        ("w * h > 6", "computed", "="),
        ("w > h", "computed", "="),
        ("w > .h", "computed", "="),
        ("w = h", "w", "="),
        ("w = .h", "computed", "="),
        ('w > "h"', "w", ">"),
        ("w > -5", "w", ">"),
        ("w > 2020-01-02", "w", ">"),
        ("w > 24/08/2017", "w", ">"),
        ("w > x", "w", ">"),
        ("height-width > 2", "height-width", ">"),
        ("km/h > 2", "km/h", ">"),
        ("weight (kg) > 2", "weight (kg)", ">"),
        ("weight (kg)*2 > 2", "computed", "="),
        ("a - b > 2", "a - b", ">"),
        ("C++ > 2", "C++", ">"),
        ("http://x.org/2020/p-1 > 2", "http://x.org/2020/p-1", ">"),
        ("3d > 2", "3d", ">"),
        ("w-1 > 2", "computed", "="),
        ("w - h > 2", "computed", "="),
        ("(w) > 2", "computed", "="),
        ("year(w) = 2020|2021", "computed", "="),
        ("round(w, 1) = 2", "computed", "="),
        ('"w*h" = 3', "w*h", "="),
        ("name~a*b", "name", "~"),
        ("no w", "w", "lacks"),
    ],
)
def test_the_text_tells_an_operator_from_a_part_of_a_name(text, key, operator):
    one = property_condition(text, "where", keys=KEYS)
    own = "computed" if type(one.key) is not str else one.key
    assert (own, one.operator) == (key, operator)
    if text != 'w > "h"':  # which is shown without quotes, as texts are
        assert property_condition(one.property_text, "where", keys=KEYS) == one


@case_table(
    "text, sentence",
    [
        ("(w*h > 3", 'lacks a ")" after "(w*h"'),
        ("(" * 10_000 + "w" + ")" * 10_000 + " > 1", "more than 64 brackets in brackets"),
        ("w" + " + w" * 4_000 + " > 1", "more than 200 numbers, names and operators"),
        ("w * > 3", "names no property or number after"),
        ("w*h > 10 kg", 'has "kg" after "10"'),
        ("w*hieght > 3", 'names the property "hieght", which no node has; the nearest: height'),
        ("w*h", "compares with nothing"),
        ("w*h ~ 3", 'has "~", which finds text'),
        ("year(w, 2) > 3", 'lacks a ")" after "year(w'),
        ("3 * 2 > 5", "names no property"),
        ("2.w - 1.w - 0.w > 3", "is about several nodes or edges"),
    ],
)
def test_an_error_names_what_is_wrong_with_an_expression(text, sentence):
    names = Names(["T"], ["p"], keys=[*KEYS, "height"])
    with pytest.raises(ToolError) as error:
        condition(text, names, 3)
    assert sentence in str(error.value)


# --- walks ------------------------------------------------------------------------------

NUMBERS = st.sampled_from([None, 0, 1, 2, 2.5, "3", "x", [1, 2]])


@st.composite
def graphs(draw):
    """Tangles whose nodes and edges have a number, or something else, or nothing."""
    drawn = draw(walking.tangles())
    records = [replace(one, metadata={"x": draw(NUMBERS)}) for one in drawn.records]
    return Drawn(tuple(records), drawn.ids, drawn.triples)


def numbers_of(graph):
    nodes, edges = {}, {}
    for one in graph.records:
        if isinstance(one, NodeRecord):
            nodes[one.id] = read(one.metadata["x"])
        else:
            edges[one.subject, one.predicate, one.object] = read(one.metadata["x"])
    return nodes, edges


def pair_value(nodes, one, other):
    """`other.x * 2 - one.x`."""
    values = nodes[one], nodes[other]
    return None if None in values else values[1] * 2 - values[0]


def edge_values(nodes, edges, walk, step, predicate):
    """By different edge and node of a step: `step.predicate.x * step.x`."""
    reached, taken = walk[1][step - 1]
    return {
        (edge, node): None if None in (edges[edge], nodes[node]) else edges[edge] * nodes[node]
        for node, edge in zip(reached, taken, strict=True)
        if edge[1] == predicate
    }


def is_above(record):
    """Whether one of its numbers is above 0."""
    found = map(number_of, scalars(record.metadata["x"]))
    return any(one is not None and one.value > 0 for one in found)


async def answers(graph, **call):
    """The answer that columns and strings give."""
    found = []
    for db in (MemoryBackend(graph.records), ColumnsOverMemory(graph.records, 3)):
        async with open_graph(db, limits=WHOLE) as opened:
            found.append(await tool_calls.read(opened, "bfs_query", **call))
    assert found[0] == found[1]
    return found[0]


@settings(max_examples=80)
@given(graph=graphs(), steps=walking.steps(), data=st.data())
async def test_a_walk_meets_an_expression_over_two_of_its_steps(graph, steps, data):
    number = st.integers(0, len(steps))
    one, other = data.draw(st.lists(number, min_size=2, max_size=2, unique=True))
    nodes, _ = numbers_of(graph)
    met = [
        walk
        for walk in Walker.of(graph).walks(graph.ids[:3], steps)
        if (pair_value(nodes, node_at(*walk, one), node_at(*walk, other)) or 0) > 0
    ]
    answer = await answers(
        graph,
        seeds=graph.ids[:3],
        **walking.arguments(steps),
        where=[f"{other}.x * 2 - {one}.x > 0"],
        show=str(one),
    )
    counts = defaultdict(int)
    for walk in met:
        counts[node_at(*walk, one)] += 1
    assert {n["id"]: n["paths"] for n in answer["nodes"] if "paths" in n} == counts


@settings(max_examples=80)
@given(graph=graphs(), steps=walking.steps(times=False), data=st.data())
async def test_an_edge_is_compared_with_the_node_that_it_reaches(graph, steps, data):
    step = data.draw(st.integers(1, len(steps)))
    predicate = data.draw(st.sampled_from(PREDICATES))
    nodes, edges = numbers_of(graph)
    counts = defaultdict(int)
    for walk in Walker.of(graph).walks(graph.ids[:3], steps):
        values = edge_values(nodes, edges, walk, step, predicate).values()
        if any(value is not None and value >= 2 for value in values):
            counts[node_at(*walk, step)] += 1
    answer = await answers(
        graph,
        seeds=graph.ids[:3],
        **walking.arguments(steps),
        where=[f"{step}.{predicate}.x * {step}.x >= 2"],
        show=str(step),
    )
    assert {n["id"]: n["paths"] for n in answer["nodes"] if "paths" in n} == counts


@settings(max_examples=100)
@given(graph=graphs(), steps=walking.steps(times=False), data=st.data())
async def test_a_measure_takes_each_different_pair_once(graph, steps, data):
    """Pairs of two steps, edges with their nodes, and nodes that meet a condition."""
    number = st.integers(0, len(steps))
    one, other = data.draw(st.lists(number, min_size=2, max_size=2, unique=True))
    show, step = data.draw(number), data.draw(st.integers(1, len(steps)))
    predicate = data.draw(st.sampled_from(PREDICATES))
    nodes, edges = numbers_of(graph)
    above = {one.id for one in graph.records if isinstance(one, NodeRecord) and is_above(one)}
    found = defaultdict(lambda: ({}, {}, set(), set()))
    for walk in Walker.of(graph).walks(graph.ids[:3], steps):
        pairs, taken, positive, closed = found[node_at(*walk, show)]
        ends = node_at(*walk, one), node_at(*walk, other)
        pairs[ends] = pair_value(nodes, *ends)
        taken |= edge_values(nodes, edges, walk, step, predicate)
        if node_at(*walk, step) in above:
            positive.add(node_at(*walk, step))
        if ends[0] == ends[1]:
            closed.add(node_at(*walk, step))
    expected = {}
    for node, (pairs, taken, positive, closed) in found.items():
        total, most = (
            [value for value in values.values() if value is not None] for values in (pairs, taken)
        )
        expected[node] = [
            shown(sum(total)) if total else None,
            shown(max(most, default=None)),
            len(positive),
            len(positive) * 2,
            len(closed & positive),
        ]
    kept = {node: values for node, values in expected.items() if values[2] > 0}
    call = {
        "seeds": graph.ids[:3],
        **walking.arguments(steps),
        "show": str(show),
        "measure": [
            f"sum {other}.x * 2 - {one}.x",
            f"max {step}.{predicate}.x * {step}.x",
            f"n = count {step}[x > 0]",
            "twice = n * 2",
            f"count {step}[{one} = {other}][x > 0]",
        ],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bfsql.engine.step_values.PAIRS_AT_ONCE", data.draw(st.sampled_from([1, 9])))
        answer = await answers(graph, **call)
    assert {n["id"]: n["measure"] for n in answer["nodes"] if "measure" in n} == expected
    answer = await answers(graph, **call, where=["n > 0"])
    assert {n["id"]: n["measure"] for n in answer["nodes"] if "measure" in n} == kept
    assert answer["shown_count"] == len(kept)


@settings(max_examples=80)
@given(graph=graphs(), steps=walking.steps(), data=st.data())
async def test_a_field_is_computed_of_the_steps_of_each_walk(graph, steps, data):
    number = st.integers(0, len(steps))
    one, other = data.draw(st.lists(number, min_size=2, max_size=2, unique=True))
    nodes, _ = numbers_of(graph)
    expected = [
        (
            [walk[0], *(node for reached, _ in walk[1] for node in reached)],
            shown(pair_value(nodes, node_at(*walk, one), node_at(*walk, other))),
        )
        for walk in Walker.of(graph).walks(graph.ids[:3], steps)
    ]
    call = {"seeds": graph.ids[:3], **walking.arguments(steps), "show": "walks"}
    call |= {"fields": [f"gap = {other}.x * 2 - {one}.x"], "limit": len(expected) + 1}
    answer = await answers(graph, **call)
    found = [(walk["nodes"], walk["values"]["gap"]) for walk in answer["walks"]]
    assert sorted(found, key=str) == sorted(expected, key=str)


# --- calls ------------------------------------------------------------------------------

RECORDS = [
    NodeRecord("b1", "Box", {"w": 2, "h": 3, "made": "2020-02-01", "material": "wood"}),
    NodeRecord("b2", "Box", {"w": 1.5, "h": 2, "made": "2021-03-01", "material": "tin"}),
    NodeRecord("b3", "Box", {"w": "?", "h": 4}),
    NodeRecord("s", "Shop", {"opened": "2020-12-31"}),
    EdgeRecord("s", "sells", "b1", {"price": 4}),
    EdgeRecord("s", "sells", "b2", {"price": 2}),
    EdgeRecord("s", "sells", "b3", {"price": 1}),
]
SOLD = {"seeds": ["s"], "path": ["-sells-> Box"], "show": "ends"}


async def answered(db=None, hooks=(), **arguments):
    async with open_graph(db or MemoryBackend(RECORDS), limits=WHOLE, hooks=hooks) as graph:
        return await tool_calls.read(graph, "bfs_query", **arguments)


@case_table(
    "arguments, ids",
    [
        ({"seeds": ["Box[w*h > 5]"]}, ["b1"]),
        ({"seeds": ["Box[h > w]"]}, ["b1", "b2"]),
        ({"seeds": ["Box[year(made) = 2021]"]}, ["b2"]),
        ({"seeds": ["Box:*"], "where": ["w + h >= 3.5"], "sort_by": "-w*h"}, ["b1", "b2"]),
        ({"seeds": ["Box:*"], "fields": ["area = w*h"], "sort_by": "-area"}, ["b1", "b2", "b3"]),
        ({"seeds": ["Box:*"], "fields": ["area = w*h"], "where": ["area < 4"]}, ["b2"]),
        ({**SOLD, "where": ["made - 0.opened > 0"]}, ["b2"]),
        ({**SOLD, "where": ["1.made > 0.opened"]}, ["b2"]),
        ({**SOLD, "where": ["1.sells.price * 1.h > 11"]}, ["b1"]),
        ({**SOLD, "where": ["h > w"], "sort_by": "-(w - h)"}, ["b2", "b1"]),
    ],
)
async def test_expressions_stand_wherever_a_property_may(arguments, ids):
    assert [node["id"] for node in (await answered(**arguments))["nodes"]] == ids


async def test_a_name_shows_a_computed_field_and_an_own_key_of_that_name():
    class NoKeys(MemoryBackend):
        async def keys(self):
            return None

    call = {"seeds": ["Box:*"], "fields": ["h", "area = w*h"], "facets": ["area"]}
    answer = await answered(**call)
    metadata = [node["metadata"] for node in answer["nodes"]]
    assert metadata == [{"h": 3, "area": 6}, {"h": 2, "area": 3}, {"h": 4}]
    assert (answer["facets"]["area"]["sum"], answer["facets"]["area"]["missing"]) == (9, 1)
    with pytest.raises(ToolError, match='is called "material", which means something else'):
        await answered(seeds=["Box:*"], fields=["material = w*h"])
    records = MemoryBackend(RECORDS), NoKeys(RECORDS)
    answer = await answered(records[1], seeds=["Box[h=3]"], fields=["material = w*h"])
    assert answer["nodes"][0]["metadata"] == {"metadata.material": "wood", "material": 6}


@case_table(
    "arguments, note",
    [
        ({"seeds": ["Box[w*h > 5]"]}, '"Box[w*h > 5]" has no value for 1 of what was compared'),
        ({"seeds": ["Box:*"], "where": ["w / 0 > 1"]}, '"w / 0 > 1" has no value for 3'),
        ({**SOLD, "where": ["w - 0.h > 1"]}, "has no value for 3 pairs of nodes on walks"),
        (
            {**SOLD, "show": "0", "measure": ["n = count 1"], "where": ["n > 3"]},
            "1 of 1 shown node was removed, whose measures do not meet it",
        ),
    ],
)
async def test_what_has_no_value_is_counted_in_a_note(arguments, note):
    assert any(note in one for one in (await answered(**arguments))["notes"])


async def test_an_expression_sees_the_redacted_record():
    class Hides:
        @hookimpl
        def redact_metadata(self, metadata):
            return {key: value for key, value in metadata.items() if key != "w"}

    answer = await answered(
        hooks=[Hides()], seeds=["Box:*"], fields=["area = w*h"], where=["w*h>0"]
    )
    assert answer["nodes"] == []
    assert "has no value for 3" in str(answer["notes"])
    walks = {**SOLD, "show": "walks", "fields": ["both = 1.w * 1.h", "twice = 1.h * 2"]}
    values = [one["values"] for one in (await answered(hooks=[Hides()], **walks))["walks"]]
    assert values == [{"both": None, "twice": 2 * h} for h in (3, 2, 4)]


async def test_lines_have_what_a_walk_has_computed_behind_a_bar():
    limits = Limits(answer_format="lines")
    call = {**SOLD, "show": "walks", "fields": ["area = 1.w * 1.h", "late = 1.made - 0.opened"]}
    async with open_graph(MemoryBackend(RECORDS), limits=limits) as graph:
        text = (await graph.call("bfs_query", call)).text
        assert text.splitlines()[1:3] == ["[walks] Shop {} > Box {} | area late", "s > b1 | 6|-334"]
    assert compact_parser.read(text)["walks"] == (await answered(**call))["walks"]
