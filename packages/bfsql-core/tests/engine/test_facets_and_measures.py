"""`facets` and `measure` compared with values that are listed one by one."""

from collections import Counter, defaultdict
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql import Limits, MemoryBackend, open_graph
from bfsql.engine.facets import facet_summary
from bfsql.engine.properties import Column, Values
from bfsql.errors import ToolError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.plugins import hookimpl
from bfsql_test_support import compact_parser, tool_calls
from bfsql_test_support.backends.columns import ColumnsOverMemory
from bfsql_test_support.graph_strategies import PREDICATES, TYPES, Drawn
from bfsql_test_support.oracles import walking
from bfsql_test_support.oracles.walking import Walker, node_at

WHOLE = Limits(max_tokens=0)
VALUES = st.sampled_from(
    [
        0, 7, -3, 0.1, 0.2, 7.0, 1e-7, 123456789012345678, "7", "0.10", " 7.50 ", "-1e3", "x", "X",
        "\u00e9tude", "", "2020-01-02", True, False, "true", None, [], [7, "7", 0.3], ["a", "a"],
        {"a": 1}, [[1, 2], ["b"]],
    ]
)  # fmt: skip


NAMES = st.sampled_from(["plain", "a (b), c of 3: 4", 'q"|=\\', "", 7, ["first", "second"], None])
BEST = ("argmax", "argmin", "top 2", "top 20")


@st.composite
def graphs(draw):
    """Tangles whose nodes and edges have a property of any kind of value, or none."""
    drawn = draw(walking.tangles())
    records = []
    for record in drawn.records:
        metadata = {"x": draw(VALUES)} if draw(st.integers(0, 4)) else {}
        metadata |= {"name": draw(NAMES)} if draw(st.booleans()) else {}
        records.append(replace(record, metadata=metadata))
    return Drawn(tuple(records), drawn.ids, drawn.triples)


def items(value):
    """The values that count: items of lists at any depth, no mappings."""
    if isinstance(value, list):
        return [one for item in value for one in items(item)]
    return [] if value is None or isinstance(value, dict) else [value]


def decimal(item):
    """The number of a value, as the decimal that it is written as."""
    if isinstance(item, bool):
        return None
    try:
        number = Decimal(item.strip() if isinstance(item, str) else repr(item))
    except ArithmeticError:
        return None
    return number if number.is_finite() else None


def as_json(number):
    """A decimal as JSON shows it: a whole number, above 2**53 as text, or the nearest fraction."""
    if number == number.to_integral_value():
        return int(number) if abs(number) <= 2**53 else str(int(number))
    return float(number)


def folded(text):
    return text.replace("\u00e9", "e").casefold(), text


def text_in(item):
    return str(item).lower() if isinstance(item, bool) else item


def mean(numbers):
    with localcontext() as context:
        context.prec = 100
        total = sum(numbers)
        quotient = total / len(numbers)
        context.prec, context.rounding = 15, ROUND_HALF_EVEN
        return +quotient


def percentile(numbers, percent):
    """`PERCENTILE_CONT`: linear between the numbers around the place (n - 1)p."""
    place, rest = divmod((len(numbers) - 1) * percent, 100)
    low, high = sorted(numbers)[place : place + 2] if rest else [sorted(numbers)[place]] * 2
    with localcontext() as context:
        context.prec = 100
        between = low + (high - low) * rest / 100
        context.prec = 15 if low != high else 100
        return +between


def facet(values, most=20):
    """The facet of the values of some nodes or edges."""
    known = [value for value in values if value is not None]
    every = [item for value in known for item in items(value)]
    numbers = [n for n in map(decimal, every) if n is not None]
    texts = [text_in(item) for item in every if decimal(item) is None]
    groups = Counter(("n", n) for n in numbers) + Counter(("t", t) for t in texts)
    order = sorted(groups, key=lambda g: (-groups[g], g[0] == "t", g[1]))
    found = {"count": len(known), "missing": len(values) - len(known), "distinct": len(groups)}
    if numbers and texts:
        found["numbers"] = len(numbers)
    if numbers:
        found |= {"min": as_json(min(numbers)), "max": as_json(max(numbers))}
        found |= {"mean": as_json(mean(numbers)), "sum": as_json(sum(numbers))}
    elif texts:
        found |= {"min": min(texts, key=folded), "max": max(texts, key=folded)}
    shown = order[:most]
    found["values"] = [[str(as_json(g[1])) if g[0] == "n" else g[1], groups[g]] for g in shown]
    if len(groups) > len(shown):
        found["other_values"] = len(groups) - len(shown)
        cuts = (10, 25, 50, 75, 90) if numbers else ()
        found |= {f"p{cut}": as_json(percentile(numbers, cut)) for cut in cuts}
    else:
        found["values"] = [[*one, round(one[1] / len(every), 4)] for one in found["values"]]
    return found


def measured(function, values):
    """A measure over the values of different nodes or edges."""
    every = [item for value in values if value is not None for item in items(value)]
    numbers = [n for n in map(decimal, every) if n is not None]
    texts = [text_in(item) for item in every if decimal(item) is None]
    if function in ("min", "max"):
        one = {"min": min, "max": max}[function]
        if numbers:
            return as_json(one(numbers))
        return one(texts, key=folded) if texts else None
    if not numbers:
        return None
    if function == "median":
        return as_json(percentile(numbers, 50))
    return as_json(sum(numbers) if function == "sum" else mean(numbers))


def best(function, values, names):
    """The nodes with the best of some values, each of which stands at a node."""
    ends, descending = {}, function != "argmin"
    for node, value in values:
        for item in items(value):
            number = decimal(item)
            shown = text_in(item) if number is None else as_json(number)
            key = (0, number) if number is not None else (1, folded(text_in(item)))
            ends.setdefault(node, []).append((*key, shown))
    one = max if descending else min
    found = []
    for node in sorted(ends):
        kind = min(end[0] for end in ends[node])
        found.append((*one(end for end in ends[node] if end[0] == kind), node, names[node]))
    if not found:
        return None
    same = [entry for entry in found if entry[0] == min(f[0] for f in found)]
    same.sort(key=lambda entry: entry[1], reverse=descending)
    if function.startswith("top"):
        return [[*entry[2:]] for entry in same[: int(function[4:])]]
    ties = [[*entry[3:]] for entry in same if entry[1] == same[0][1]]
    return {"value": same[0][2], "nodes": ties[:5], "count": len(ties)}


def far_end(edge, step, shown, direction):
    return edge[2] if (shown < step) == (direction == "out") else edge[0]


def metadata_of(graph):
    nodes = {r.id: r.metadata.get("x") for r in graph.records if isinstance(r, NodeRecord)}
    edges = {
        (r.subject, r.predicate, r.object): r.metadata.get("x")
        for r in graph.records
        if isinstance(r, EdgeRecord)
    }
    return nodes, edges


def names_in(graph):
    """The name of each node: its first text, or None."""
    names = {
        r.id: items(r.metadata.get("name")) for r in graph.records if isinstance(r, NodeRecord)
    }
    return {i: next((n for n in every if isinstance(n, str)), None) for i, every in names.items()}


def first_value(measure):
    """The value by which a measure is sorted."""
    if isinstance(measure, list):
        return measure[0][0]
    return measure["value"] if isinstance(measure, dict) else measure


def compared(data, steps, walks):
    """Perhaps a comparison of two steps, and the walks that meet it."""
    if data.draw(st.booleans()):
        return [], walks
    number = st.integers(0, len(steps))
    one, other = data.draw(st.lists(number, min_size=2, max_size=2, unique=True))
    equal = data.draw(st.booleans())
    met = [w for w in walks if (node_at(*w, one) == node_at(*w, other)) == equal]
    return [f"{one} {'=' if equal else '!='} {other}"], met


async def read(db, **arguments):
    """A checked answer, whose lines say the same."""
    async with open_graph(db, limits=WHOLE) as graph:
        answer = await tool_calls.read(graph, "bfs_query", **arguments)
    lines = Limits(max_tokens=0, answer_format="lines")
    async with open_graph(db, limits=lines) as graph:
        text = (await graph.call("bfs_query", arguments)).text
    by_paths = arguments.get("sort_by") == "-paths"
    assert compact_parser.read(text) == compact_parser.left_out(answer, by_paths=by_paths)
    return answer


@settings(max_examples=100)
@given(graph=graphs(), most=st.integers(0, 4))
async def test_a_facet_counts_every_node_or_edge_of_a_traversal(graph, most):
    call = {"seeds": graph.ids[:2], "max_hops": 2, "topology_only": True, "limit": 1}
    answer = await read(
        ColumnsOverMemory(graph.records, 3),
        **call,
        facets=[f"x:{most}", f"{TYPES[0]}.x", f"{PREDICATES[1]}.x", f"{PREDICATES[2]}.x"],
    )
    async with open_graph(MemoryBackend(graph.records), limits=WHOLE) as opened:
        whole = await tool_calls.read(opened, "bfs_query", **{**call, "limit": 100})
    nodes, edges = metadata_of(graph)
    triples = [(e["subject"], e["predicate"], e["object"]) for e in whole["edges"]]
    types = {node["id"]: node["entity_type"] for node in whole["nodes"]}
    assert answer["facets"] == {
        "x": facet([nodes[i] for i in types], most),
        f"{TYPES[0]}.x": facet([nodes[i] for i in types if types[i] == TYPES[0]]),
        **{
            f"{name}.x": facet([edges[t] for t in triples if t[1] == name])
            for name in PREDICATES[1:]
        },
    }


@settings(max_examples=150)
@given(graph=graphs(), steps=walking.steps(), data=st.data())
async def test_facets_of_a_path_see_each_node_and_edge_of_a_step_once(graph, steps, data):
    step, shown = (data.draw(st.integers(0, len(steps))) for _ in range(2))
    predicate = data.draw(st.sampled_from(PREDICATES))
    where, walks = compared(data, steps, Walker.of(graph).walks(graph.ids[:2], steps))
    nodes, edges = metadata_of(graph)
    at_step = {node for seed, walk in walks for node in ([seed] if not step else walk[step - 1][0])}
    taken = {e for _, walk in walks for e in (walk[step - 1][1] if step else ())}
    every = {e for _, walk in walks for _, part in walk for e in part}
    answer = await read(
        MemoryBackend(graph.records),
        seeds=graph.ids[:2],
        **walking.arguments(steps),
        where=where,
        show=str(shown),
        limit=0,
        facets=["x", f"{step}.x", f"{step}.{predicate}.x", f"{predicate}.x"],
    )
    assert answer["facets"] == {
        "x": facet([nodes[i] for i in {node_at(*one, shown) for one in walks}]),
        f"{step}.x": facet([nodes[i] for i in at_step]),
        f"{step}.{predicate}.x": facet([edges[e] for e in taken if e[1] == predicate]),
        f"{predicate}.x": facet([edges[e] for e in every if e[1] == predicate]),
    }
    assert answer["nodes"] == []


@settings(max_examples=100)
@given(graph=graphs(), steps=walking.steps(), data=st.data())
async def test_a_measure_takes_each_node_or_edge_on_the_walks_once(graph, steps, data):
    shown, step = (data.draw(st.integers(0, len(steps))) for _ in range(2))
    function = data.draw(st.sampled_from(["min", "max", "sum", "mean", "median", *BEST]))
    predicate = data.draw(st.sampled_from([None, *PREDICATES]))
    nodes, edges = metadata_of(graph)
    others, counted = defaultdict(set), defaultdict(set)
    where, walks = compared(data, steps, Walker.of(graph).walks(graph.ids[:3], steps))
    for one in walks:
        node = node_at(*one, shown)
        counted[node].add(node_at(*one, step))
        taken = one[1][step - 1][1] if step else ()
        others[node] |= (
            {e for e in taken if e[1] == predicate} if predicate else {node_at(*one, step)}
        )
    of_node = (edges if predicate else nodes).get
    found = {name: measured(function, map(of_node, things)) for name, things in others.items()}
    direction = steps[step - 1].direction if step and predicate else "out"
    if function in BEST:
        names = names_in(graph)
        for name, things in others.items():
            ends = [far_end(e, step, shown, direction) if predicate else e for e in things]
            found[name] = best(function, zip(ends, map(of_node, things), strict=True), names)
    of = f"{step}.{predicate}.x" if predicate else f"{step}.x"
    few = data.draw(st.sampled_from([1, 3, 1_000]))
    call = {
        "seeds": graph.ids[:3],
        **walking.arguments(steps),
        "where": where,
        "show": str(shown),
        "measure": [f"{function} {of}", f"count {step}"],
        "sort_by": "-measure",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bfsql.engine.step_pairs.PAIRS", few)
        try:
            answer = await read(MemoryBackend(graph.records), **call)
        except ToolError as error:
            adds = "adds numbers" in str(error) and function in ("sum", "mean", "median")
            if adds and set(found.values()) <= {None}:
                return
            if "in both directions" in str(error) and direction is None and function in BEST:
                return
            raise
    assert {node["id"]: node["measure"] for node in answer["nodes"]} == {
        name: [value, len(counted[name])] for name, value in found.items()
    }
    assert direction is not None or function not in BEST
    shown_as = [first_value(node["measure"][0]) for node in answer["nodes"]]
    numbers = [None if value is None else decimal(value) for value in shown_as]  # or big as text
    ranks = [(v is None, n is None) for v, n in zip(shown_as, numbers, strict=True)]
    assert ranks == sorted(ranks)
    known = [number for number in numbers if number is not None]
    assert known == sorted(known, reverse=True)


RECORDS = [
    NodeRecord(
        "t1", "Trial", {"name": "Alpha", "year": 2010, "status": "Completed", "begun": "24/08/2017"}
    ),
    NodeRecord("t2", "Trial", {"year": "2015", "status": "terminated", "begun": "3 May 2018"}),
    NodeRecord("t3", "Trial", {"year": "unknown", "dose": "10 km"}),
    NodeRecord("d", "Disease", {"name": "flu"}),
    EdgeRecord("t1", "studies", "d", {"confidence": 0.9, "created_at": "2020"}),
    EdgeRecord("t2", "studies", "d", {"confidence": 0.5}),
    EdgeRecord("t3", "studies", "d"),
]
TO_TRIALS = {"path": ["<-studies- Trial"]}


async def answered(limits=WHOLE, **arguments):
    async with open_graph(MemoryBackend(RECORDS), limits=limits) as graph:
        return await tool_calls.read(graph, "bfs_query", **{"seeds": ["d"], **arguments})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"max_hops": 1, "measure": "count 1"}, "Give path as well, or leave measure out"),
        ({**TO_TRIALS, "measure": "max year"}, "names no step before its property"),
        ({**TO_TRIALS, "measure": "mode 1.year"}, "none of count, min, max, sum, mean, median"),
        *(
            ({**TO_TRIALS, "measure": f"top {n} 1.year"}, "a number from 1 to 20 before its")
            for n in ("", 0, 21, "9" * 5_000, -1, "x")
        ),
        ({**TO_TRIALS, "measure": "argmax 1"}, "names no step before its property"),
        ({**TO_TRIALS, "measure": "median 1.status"}, 'there is only text, such as "Completed"'),
        ({"path": ["-studies-"], "measure": "argmax 1.studies.confidence"}, "in both directions"),
        ({**TO_TRIALS, "measure": "count 2"}, "its steps are 1 to 1"),
        ({**TO_TRIALS, "measure": "count 1.year"}, "needs the number of a step, perhaps with"),
        ({**TO_TRIALS, "measure": "sum 0.studies.confidence * 1.year"}, "names edges of step 0"),
        ({**TO_TRIALS, "measure": "sum 1.status"}, 'there is only text, such as "Completed"'),
        ({**TO_TRIALS, "measure": "max 1.studies.created_at"}, "describe_entity shows it"),
        ({**TO_TRIALS, "measure": ["count 0"] * 6}, "the limit is 5"),
        ({**TO_TRIALS, "sort_by": "measure"}, "needs measure, which this call does not have"),
        ({"max_hops": 1, "facets": ["studies.created_at"]}, "describe_entity shows it"),
        ({"max_hops": 1, "facets": ["1.year"]}, "this call has no path"),
        ({**TO_TRIALS, "facets": ["2.year"]}, "its steps are 1 to 1"),
        ({"max_hops": 1, "facets": ["Trial."]}, "names no property"),
        ({"max_hops": 1, "facets": ["year:1001"]}, "at most 1,000 are shown"),
        ({"max_hops": 1, "facets": [f"p{n}" for n in range(1_000)]}, "the limit is 20"),
    ],
)
async def test_an_error_says_what_would_be_right(arguments, sentence):
    with pytest.raises(ToolError) as error:
        await answered(**arguments)
    assert sentence in str(error.value)
    assert error.value.argument in ("facets", "measure", "sort_by")


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        ({"facets": ["yaer"]}, 'nothing of the answer has "yaer". Available: year.'),
        ({"facets": ["studies.x"]}, 'has "studies.x". Available: studies.confidence.'),
        ({"measure": "max 1.confidence"}, "Available: studies.confidence."),
        ({"facets": ["confidence"]}, 'has "confidence". Available: studies.confidence.'),
        (
            {"facets": ["begun"]},
            'facets: "begun" is sorted as text: "24/08/2017" is neither a number',
        ),
        ({"measure": "max 1.begun"}, 'measure: "max 1.begun" is sorted as text'),
        ({"measure": "max 1.yaer"}, 'has the property of "max 1.yaer". Available: year.'),
        ({"measure": "mean 1.year"}, '"mean 1.year" leaves out 1 value stored as text.'),
        ({"measure": "argmax 1.status"}, '"argmax 1.status" goes by the order of text.'),
        ({"measure": "argmax 1.begun"}, 'measure: "argmax 1.begun" is sorted as text'),
        ({"sort_by": "begun"}, 'sort_by: "begun" is sorted as text: "24/08/2017"'),
        ({"where": ["Trial.dose<20 km"]}, 'where: "Trial.dose<20 km" is sorted as text: "20 km"'),
    ],
)
async def test_a_note_explains_values_that_are_missing_or_sorted_as_text(arguments, note):
    answer = await answered(**TO_TRIALS, **arguments)
    assert any(note in sentence for sentence in answer["notes"])


async def test_top_says_where_it_cuts_nodes_of_the_same_value():
    records = [*RECORDS, NodeRecord("t4", "Trial", {"year": 2015})]
    records.append(EdgeRecord("t4", "studies", "d"))
    async with open_graph(MemoryBackend(records), limits=WHOLE) as graph:
        call = {"seeds": ["Disease:*"], **TO_TRIALS, "show": "0"}
        cut, whole = [
            await tool_calls.read(graph, "bfs_query", **call, measure=f"top {n} 1.year")
            for n in (1, 2)
        ]
    assert cut["notes"] == [
        'measure: "top 1 1.year" leaves out 1 value stored as text.',
        'measure: "top 1 1.year" leaves out nodes with the last of its values for 1 shown node.',
    ]
    assert len(whole["notes"]) == 1


ODD = st.sampled_from([1, 2, "2", 2.0, "a", "A", "\u00e4", None])


@settings(max_examples=150)
@given(values=st.lists(ODD, min_size=1, max_size=9), size=st.integers(0, 9), data=st.data())
async def test_a_page_that_cuts_nodes_with_the_same_key_says_how_many_follow(values, size, data):
    nodes = [NodeRecord(f"n{i}", "T", {"x": value}) for i, value in enumerate(values)]
    ends = [data.draw(st.integers(0, i)) for i in range(len(nodes))]
    edges = [EdgeRecord(f"n{i}", "p", f"n{end}") for i, end in enumerate(ends)]
    key = data.draw(st.sampled_from(["x", "paths", "measure", "degree", "walks"]))
    call = {"seeds": ["T:*"], "path": ["-p->"], "measure": "argmax 0.x", "limit": size}
    call |= {"sort_by": data.draw(st.sampled_from(["", "-"])) + key, "topology_only": True}
    if key == "walks":
        call |= {"show": "walks", "sort_by": "-1.x"}
        del call["measure"]
    offset = data.draw(st.integers(0, 9))
    async with open_graph(MemoryBackend([*nodes, *edges]), limits=WHOLE) as graph:
        page = await tool_calls.read(graph, "bfs_query", **call, offset=offset)
        whole = await tool_calls.read(graph, "bfs_query", **call | {"limit": 100})
    known = {node.id: node.metadata["x"] for node in nodes}

    def of(row):
        value = known[row["nodes"][1] if key == "walks" else row["id"]]
        if key in ("paths", "degree"):
            return row[key]
        if key == "measure":
            value = (row["measure"] or {"value": None})["value"]
        number = None if value is None else decimal(value)
        return number if number is not None else value and folded(value)[0].replace("\u00e4", "a")

    rows = [n for n in whole["nodes"] if "paths" in n] if key != "walks" else whole["walks"]
    keys = list(map(of, rows))
    shown = keys[offset : offset + size]
    tied = 0
    while shown and shown[-1] is not None and keys[offset + size + tied :][:1] == shown[-1:]:
        tied += 1
    said = [note for note in page.get("notes", ()) if "the next" in note]
    have = "1 has" if tied == 1 else f"{tied} have"
    by = "x" if key == "walks" else key
    assert said == ([f"sort_by: the next {have} the same {by}."] if tied else [])


@settings(max_examples=150)
@given(graph=graphs(), steps=walking.steps(), data=st.data())
async def test_a_path_says_how_many_nodes_of_the_shown_step_are_on_no_complete_walk(
    graph, steps, data
):
    shown = data.draw(st.sampled_from(["walks", *range(len(steps) + 1)]))
    step = 0 if shown == "walks" else shown
    walker = Walker.of(graph)
    where, walks = compared(data, steps, walker.walks(graph.ids[:3], steps))
    parts = walker.walks(graph.ids[:3], steps[:step])
    kept = {node_at(*walk, step) for walk in walks}
    every = {node_at(*walk, step) for walk in parts} if step else set(graph.ids[:3])
    lost = len(every - kept) if kept and step < len(steps) else 0
    call = {"seeds": graph.ids[:3], **walking.arguments(steps), "where": where, "show": str(shown)}
    answer = await read(MemoryBackend(graph.records), **call, topology_only=True, limit=0)
    said = [note for note in answer.get("notes", ()) if "on no walk" in note]
    begins = f"Step {step}: {lost} of {len(every)} node"
    assert len(said) == bool(lost)
    assert not lost or said[0].startswith(begins)
    ends = await read(MemoryBackend(graph.records), **call, to=graph.ids, limit=0)
    assert not any("on no walk" in note for note in ends.get("notes", ()))


async def test_former_calls_keep_count_distinct_and_its_field():
    answer = await answered(**TO_TRIALS, count_distinct=0, sort_by="-distinct", show="ends")
    assert [node["distinct"] for node in answer["nodes"]] == [1, 1, 1]
    assert all("measure" not in node for node in answer["nodes"])


@pytest.mark.parametrize("detail", [True, False])
async def test_a_budget_cuts_values_down_to_five_before_any_node(detail):
    many = [NodeRecord(f"n{i:03}", "T", {"x": f"value {i:03}"}) for i in range(200)]
    edges = [EdgeRecord("n000", "e", node.id) for node in many]
    found = []
    async with open_graph(MemoryBackend([*many, *edges])) as graph:
        for tokens in range(500, 5_000, 100):
            call = {"seeds": ["n000"], "max_hops": 1, "facets": ["x:150"], "limit": 40}
            call["topology_only"] = not detail
            answer = await tool_calls.if_it_fits(graph, "bfs_query", max_tokens=tokens, **call)
            if answer is not None:
                values = answer.content["facets"]["x"]["values"]
                full = sum("metadata" in node for node in answer.content["nodes"])
                found.append((len(answer.content["nodes"]), len(values), full))
                told = any("fewer values than requested" in note for note in answer.notes)
                assert told == (len(values) < 150)
                assert answer.content["facets"]["x"]["other_values"] == 200 - len(values)
    assert found == sorted(found)
    assert {values for nodes, values, _ in found if nodes < 40} == {5}
    assert found[-1] == (40, 150, 40 if detail else 0)
    assert detail or any(5 < values < 150 for _, values, _ in found)


async def test_facets_and_measures_see_the_redacted_record():
    class Redaction:
        @hookimpl
        def redact_metadata(self, metadata):
            return {k: v for k, v in metadata.items() if k not in ("year", "name")}

    async with open_graph(MemoryBackend(RECORDS), limits=WHOLE, hooks=[Redaction()]) as graph:
        call = {"seeds": ["d"], **TO_TRIALS, "facets": ["year"], "measure": "max 1.year"}
        answer = await tool_calls.read(graph, "bfs_query", **call)
        call["measure"] = ["argmax 0.name", "top 2 1.year", "argmin 1.status"]
        named = await tool_calls.read(graph, "bfs_query", **call)
    assert answer["facets"]["year"] == facet([None] * 3)
    assert [n["measure"] for n in answer["nodes"] if "paths" in n] == [None] * 3
    assert "2010" not in str(answer)
    assert "Alpha" not in str(named)
    found = [node["measure"] for node in named["nodes"] if "paths" in node]
    nodes = [["t1", None]]
    assert found[0] == [None, None, {"value": "Completed", "nodes": nodes, "count": 1}]


async def test_what_is_no_measure_is_refused_before_a_graph_is_read():
    few = Limits(max_tokens=0, max_edges=1)
    with pytest.raises(ToolError, match="limit of 1 edge"):
        await answered(few, **TO_TRIALS, measure="max 0.name")
    with pytest.raises(ToolError, match="begins with none of count"):
        await answered(few, **TO_TRIALS, measure="mode 1")


async def test_more_pairs_than_the_bound_are_an_error_that_names_paths(monkeypatch):
    monkeypatch.setattr("bfsql.engine.measure.MOST_PAIRS", 2)
    with pytest.raises(ToolError, match="paths, which every shown node has"):
        await answered(**TO_TRIALS, measure="max 0.name")
    assert await answered(**TO_TRIALS, measure="count 0")


def test_values_may_be_numbered_batch_by_batch():
    values = [1, "1", 2.5, None, ["a", 1], "a", True, {"b": 1}, 0.0, -0.0, 2**70]
    one, other = Values(), Values()
    apart = [other.numbers([value])[0] for value in reversed(values)]
    assert facet_summary(Column(one, one.numbers(values))) == facet_summary(
        Column(other, np.array(apart, np.int32))
    )


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        ([0.1, "0.2", 0.3], {"sum": 0.6, "mean": 0.2}),
        ([2**53, 1, 1], {"sum": str(2**53 + 2)}),
        (["12345678901234567890", 1], {"sum": "12345678901234567891"}),
        ([1e308, 1e-308, -1e308], {"sum": 1e-308}),
        (["1e-999999", 1], {"sum": 1}),
        ([1, 1.0, "1", "1.00", "+1e0"], {"distinct": 1, "values": [["1", 5, 1.0]]}),
        (
            [True, "true", "True"],
            {"distinct": 2, "values": [["true", 2, 0.6667], ["True", 1, 0.3333]]},
        ),
        ([float("nan"), float("nan"), "NaN"], {"distinct": 1, "values": [["NaN", 3, 1.0]]}),
        ([10**2000, 1], {"distinct": 2, "numbers": 1, "sum": 1}),
        ([1, 2, 3], {"mean": 2}),
        ([1, 1, 2], {"mean": 1.33333333333333}),
        (["x" * 300], {"max": "x" * 200 + "..."}),
    ],
)
async def test_numbers_are_exact_and_grouped_as_conditions_compare_them(values, numbers):
    nodes = [NodeRecord(f"n{i}", "T", {"x": value}) for i, value in enumerate(values)]
    edges = [EdgeRecord("n0", "e", node.id) for node in nodes]
    call = {"seeds": ["n0"], "max_hops": 1, "facets": ["x"], "topology_only": True}
    found = (await read(MemoryBackend([*nodes, *edges]), **call))["facets"]["x"]
    assert {key: found[key] for key in numbers} == numbers


async def test_a_set_is_faceted_without_walking():
    async with open_graph(MemoryBackend(RECORDS), limits=WHOLE) as graph:
        call = {"seeds": ["Trial[year>=2010]"], "facets": ["year"], "limit": 0}
        answer = await tool_calls.read(graph, "bfs_query", **call)
    assert answer["facets"]["year"] == facet([2010, "2015"])


@pytest.mark.parametrize("step", ["-p->", "-q->"])
async def test_a_node_with_two_edges_to_a_hub_comes_back_over_either_and_is_counted(step):
    records = [NodeRecord("a", "T"), NodeRecord("b", "T"), NodeRecord("hub", "Hub")]
    records += [EdgeRecord(one, predicate, "hub") for one in "ab" for predicate in "pq"]
    async with open_graph(MemoryBackend(records)) as graph:
        call = {"path": [step, "<-p|q-"], "show": "2", "measure": "count 0"}
        answer = await tool_calls.read(graph, "bfs_query", seeds=["a", "b"], **call)
    assert [node["measure"] for node in answer["nodes"] if "measure" in node] == [2, 2]
