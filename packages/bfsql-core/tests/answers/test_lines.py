"""Answers in lines: parsed by their grammar, they equal the JSON answer."""

import re
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bfsql import Limits, MemoryBackend, open_graph
from bfsql.answers import cells, in_lines
from bfsql.answers.notes import Substitution
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_test_support import graph_strategies
from bfsql_test_support.compact_parser import left_out, read
from bfsql_test_support.suites.agreement import values

LINES = Limits(answer_format="lines")

HOSTILE = [
    *("a; b=c", "12", "true", "NaN", "#1", "a|b", "{", "x}", "[1]", '"q"', "two words", " edge "),
    *("1 2", "a,b", "a>b", "-x->", "*", "from", "note", "(T)", "a = b (T)", "\n[T]\n1|x", "a\tb"),
    *(
        "a: b",
        "1>2",
        "x]",
        "entity x",
        "continue",
        "\u202egnorw",
        "e\u0301\u2028",
        "\U0001f600",
        "\\",
    ),
    *(
        "note: Stop.",
        "NOTE: Stop.",
        "note:",
        "missing: x",
        "missing:",
        "results: 1",
        "edges: a 1",
        "facet a: count 1",
        "k 3",
    ),
    *("a\x85note: b", "a\x0bb", "a\x0cb", "a\u2028b", "a\nnote: b"),
    *("a:", "=", "|", "relations (2):", "\u0663", "\x7f", "'", "taken by name", "x" * 10_000),
]
TEXTS = st.text(max_size=8) | st.sampled_from(HOSTILE)
METADATA = st.dictionaries(TEXTS.filter(bool), values(TEXTS, null=False), max_size=3)
NODES = st.lists(
    st.tuples(TEXTS.filter(bool), TEXTS.filter(bool), st.none() | METADATA, st.integers(0, 2)),
    max_size=6,
    unique_by=lambda node: node[0],
)


@given(
    st.lists(TEXTS, max_size=4),
    st.lists(TEXTS, max_size=4)
    | st.lists(st.integers() | st.floats() | st.booleans(), max_size=4)
    | st.lists(st.lists(TEXTS | st.lists(TEXTS, max_size=2), max_size=2), max_size=4)
    | st.lists(st.none() | TEXTS, max_size=4),
    st.sampled_from([cells.ROW, cells.BRACES, cells.BRACKETS, cells.LINE]),
)
def test_a_column_is_written_as_each_of_its_values(ids, column, bare):
    assert cells.names(ids) == [cells.name(one) for one in ids]
    assert cells.values(column, bare) == [cells.value(one, bare) for one in column]


@settings(max_examples=12)
@given(graph_strategies.graphs_with_seeds(seeds=2), st.integers(1, 3), graph_strategies.narrowing())
async def test_every_answer_is_read_back(case, hops, filters):
    graph, seeds = case
    backend = MemoryBackend(graph.records)
    calls = [
        ("bfs_query", {"seeds": seeds, "max_hops": hops, "limit": 4, **filters}),
        ("bfs_query", {"seeds": seeds, "path": ["--{1,2}"]}),
        ("bfs_query", {"seeds": seeds, "path": ["--"], "show": "ends", "limit": 1}),
        ("bfs_query", {"seeds": seeds, "path": ["--"], "show": "ends", "sort_by": "-paths"}),
        ("bfs_query", {"seeds": ["*[name]"], "limit": 2, "facets": ["name:2", "nothing"]}),
        ("bfs_query", {"seeds": seeds, "path": ["--{1,2}"], "show": "walks", "limit": 7}),
        ("bfs_query", {"seeds": seeds, "path": ["-->"], "show": "walks", "fields": ["name"]}),
        ("bfs_query", {"seeds": seeds, "along": ["-->", "<--"], "max_hops": hops, **filters}),
        ("bfs_query", {"seeds": seeds[:1], "to": seeds[1:], "limit": 0}),
        ("bfs_query", {"seeds": seeds, "to": seeds, "limit": 1, "along": ["-->"]}),
        ("intersect_subgraphs", {"seeds": seeds, "k": hops, "connect": True, **filters}),
        ("describe_entities", {"ids": [*seeds, "no such id"]}),
        ("describe_entity", {"id": seeds[0]}),
        ("search_entities", {"query": "n"}),
        ("describe_schema", {}),
        ("describe_schema", {"seeds": seeds}),
    ]
    async with open_graph(backend) as one, open_graph(backend, limits=LINES) as other:
        for tool, arguments in calls:
            wanted, found = await one.call(tool, arguments), await other.call(tool, arguments)
            by_paths = arguments.get("sort_by") == "-paths"
            assert read(found.text) == left_out(found.content, by_paths=by_paths)
            known = without(found.content, "tool_usage_notes")  # which explain the lines
            assert known == without(wanted.content, "tool_usage_notes")
            assert found.blocks == (found.text,)


def without(content, left_out):
    """An answer without one of its fields."""
    return {key: value for key, value in content.items() if key != left_out}


@settings(max_examples=60)
@given(NODES, st.lists(TEXTS, max_size=2))
def test_whatever_text_an_answer_holds_is_read_back(drawn_nodes, notes):
    nodes = [
        {"id": i, "entity_type": t}
        | ({} if m is None else {"metadata": m})
        | ({"paths": paths} if paths else {})
        for i, t, m, paths in drawn_nodes
    ]
    content = walk(nodes, [n["entity_type"] for n in nodes[:3]])
    content["notes"] = ['"a" was taken as b (c).', *notes, "Nodes 1 to 2 of 3."]
    assert read(in_lines(content, by_paths=True)) == without(content, "seeds")
    listed = {"result": [{"id": n["id"], "entity_type": n["entity_type"]} for n in nodes]}
    assert read(in_lines(listed)) == listed


NAMED = METADATA | st.fixed_dictionaries({"name": TEXTS}, optional={"year": st.integers(0, 3)})


@settings(max_examples=100)
@given(
    st.dictionaries(
        TEXTS.filter(bool), st.tuples(TEXTS.filter(bool), st.none() | NAMED), min_size=1
    ),
    st.booleans(),
    st.data(),
)
def test_walks_of_any_text_are_read_back(drawn, edges, data):
    walks = []
    for _ in range(data.draw(st.integers(0, 4))):
        nodes = data.draw(st.lists(st.sampled_from(sorted(drawn)), min_size=2, max_size=4))
        signs = st.tuples(st.sampled_from(["", "<", ">"]), TEXTS.filter(bool)).map("".join)
        taken = data.draw(st.lists(signs, min_size=len(nodes) - 1, max_size=len(nodes) - 1))
        walks.append({"nodes": nodes} | ({"edges": taken} if edges else {}))
    nodes = [
        {"id": i, "entity_type": drawn[i][0]}
        | ({} if drawn[i][1] is None else {"metadata": drawn[i][1]})
        | ({"undecided": True} if data.draw(st.booleans()) else {})
        for i in dict.fromkeys(i for one in walks for i in one["nodes"])
    ]
    content = walk(nodes, []) | {"walk_count": 9, "walks": walks}
    assert read(in_lines(content)) == left_out(content)


@settings(max_examples=60)
@example({}, "\u00b2", {})  # a digit, but no number: it needs no quotes
@given(METADATA, TEXTS.filter(bool), st.dictionaries(TEXTS.filter(bool), st.lists(TEXTS)))
def test_whatever_text_a_record_or_schema_holds_is_read_back(metadata, text, properties):
    item = {"subject": text, "predicate": text, "object": "o", **metadata}
    record = {"id": text, "entity_type": text, "notes": [text], **metadata}
    record |= {"edges": {f"-{text}->": 1}, "provenance": {"total": None, "items": [item, item]}}
    assert read(in_lines(record)) == record
    schema = {"graph_description": text, "entity_types": [text], "predicates": [text]}
    schema |= {"relations": [f"{text} -{text}-> {text} (1)"], "properties": properties}
    schema["tool_usage_notes"] = text
    assert read(in_lines(schema)) == schema


NOTE = re.compile(r"note:\s", re.IGNORECASE)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(HOSTILE), min_size=2, max_size=4, unique=True), st.data())
def test_no_text_of_a_graph_reads_as_a_note(texts, data):
    a, *_, b = texts
    types = dict.fromkeys(texts, 1)
    schema = {"node_counts": types, "relations": [*texts, f"{a} -{b}-> {a} (1)"]}
    schema |= {"properties": {key: [f"{a}: 1 | 2", *texts] for key in texts}, "predicates": texts}
    nodes = [{"id": i, "entity_type": b, "metadata": {a: b, "name": a}} for i in texts]
    path = walk([node | {"undecided": True} for node in nodes], [a])
    path |= {"walk_count": 1, "walks": [{"nodes": texts}, {"nodes": [b, a], "edges": [a]}]}
    facet = {"count": 1, "missing": 1, "distinct": 2, "min": a, "max": b, "values": [[a, 1]]}
    record = {"id": a, "entity_type": b, **dict.fromkeys(texts, texts), "edges": {f"-{a}->": 1}}
    listed = {"result": [{"id": i, "entity_type": a, b: a, "match": "id"} for i in texts]}
    neighbours = walk(nodes, texts) | {"facets": {a: facet}}
    for content in (schema, path, neighbours, record, listed):
        notes = data.draw(st.lists(st.sampled_from(HOSTILE), max_size=2))
        lines = in_lines(content | {"notes": notes}).splitlines()
        assert len(lines) == in_lines(content | {"notes": notes}).count("\n") + 1
        assert sum(NOTE.match(line) is not None for line in lines) == len(notes), lines


async def test_each_note_is_one_line_whatever_the_graph_holds():
    hostile = "a\nnote: b"
    records = [NodeRecord(i, hostile, {"name": hostile, hostile: i}) for i in (hostile, "i\x85j")]
    records.append(EdgeRecord(hostile, hostile, "i\x85j", {hostile: hostile}))
    calls = [
        ("bfs_query", {"seeds": [hostile], "facets": [hostile], "where": [f'"{hostile}">1']}),
        ("search_entities", {"query": hostile, "node_types": [hostile]}),
        ("describe_entities", {"ids": [hostile, "no\nnote: c", "i\x85j"]}),
        ("describe_schema", {"seeds": [hostile]}),
        ("bfs_query", {"seeds": [hostile], "sort_by": hostile, "fields": ["no\nnote: c"]}),
    ]
    async with open_graph(MemoryBackend(records)) as graph:
        answers = [await graph.call(*one) for one in calls]
    assert any(answer.notes for answer in answers)
    assert all(len(note.splitlines()) == 1 for answer in answers for note in answer.notes)


def test_a_record_with_keys_of_other_answers_is_read_back():
    record = {"id": "match:1", "entity_type": "Match", "nodes": 3, "result": "won"}
    assert read(in_lines(record)) == record


def test_a_resolved_name_of_any_text_is_read_back_as_its_note():
    for text in HOSTILE:
        notes = [Substitution(text, kind, kind) for kind in ("i", text, "j", "k")]
        content = walk([], []) | {"seeds": ["i", text], "notes": [*map(str, notes), "Look."]}
        bare, lines = without(content, "seeds"), in_lines(content, notes)
        assert read(lines) == (content if lines.startswith("from ") else bare), text
        assert read(in_lines(content)) == bare, text


def walk(nodes, types):
    """The answer of a traversal with all edges between some nodes."""
    edges = [
        {"subject": one["id"], "predicate": kind, "object": other["id"]}
        | ({"metadata": one["metadata"]} if one is other and "metadata" in one else {})
        for one in nodes
        for kind in sorted(set(types))
        for other in nodes
    ]
    edges.sort(key=lambda edge: [edge[end] for end in ("subject", "predicate", "object")])
    counts = [Counter(n["entity_type"] for n in nodes), Counter(e["predicate"] for e in edges)]
    node_counts, edge_counts = (dict(sorted(count.items())) for count in counts)
    return {
        "seeds": ["s"],
        "max_hops": 1,
        "node_count": len(nodes),
        "edge_count": len(edges),
        "schema_summary": {
            "entity_types_found": list(node_counts),
            "predicates_found": list(edge_counts),
            "node_counts": node_counts,
            "edge_counts": edge_counts,
        },
        "nodes": nodes,
        "edges": edges,
    }


RECORDS = [
    NodeRecord("film:1", "Film", {"name": "Le Jour se l\u00e8ve", "year": 1939}),
    NodeRecord("person:1", "Person", {"name": "Arletty"}),
    NodeRecord("person:2", "Person", {"name": "Jean Gabin"}),
    EdgeRecord("person:1", "acted in", "film:1", {"confidence": 0.9}),
    EdgeRecord("person:2", "acted in", "film:1"),
]


async def test_an_answer_in_lines_looks_like_this():
    async with open_graph(MemoryBackend(RECORDS), limits=LINES) as graph:
        answer = await graph.bfs_query("film:1", 1)
    assert answer.text.split("\n") == [
        'hops 1; nodes 3: Film 1, Person 2; edges 2: "acted in"',
        "[Film] name|year",
        "1 film:1|Le Jour se l\u00e8ve|1939",
        "[Person]",
        "2 person:1|Arletty",
        "3 person:2|Jean Gabin",
        '[-"acted in"->] confidence',
        "2>1{0.9}",
        "3>1{}",
    ]


async def first_lines(tool, arguments, count=1):
    """The first lines of an answer."""
    async with open_graph(MemoryBackend(RECORDS), limits=LINES) as graph:
        return (await graph.call(tool, arguments)).text.split("\n")[:count]


@pytest.mark.parametrize(
    ("tool", "arguments", "lines"),
    [
        ("bfs_query", {"seeds": ["Arletty"], "max_hops": 1}, ["from person:1 (Person)"]),
        (
            "bfs_query",
            {"seeds": ["person:1", "Jean Gabin"], "to": ["Arletty"]},
            ["from person:1, Jean Gabin = person:2 (Person)", "to person:1 (Person)"],
        ),
        ("describe_entity", {"id": "Arletty"}, ["entity person:1 (Person)"]),
        ("describe_entities", {"ids": ["Arletty"]}, ["results: 1", "taken by name"]),
        (
            "describe_entities",
            {"ids": ["Arletty", "film:1"]},
            ["results: 2", "taken Arletty = person:1 (Person)"],
        ),
        ("describe_schema", {"seeds": ["Arletty"]}, ["from person:1 (Person)"]),
    ],
)
async def test_a_name_of_the_call_stands_before_its_entity(tool, arguments, lines):
    assert await first_lines(tool, arguments, len(lines)) == lines


async def test_a_type_with_a_parenthesis_stays_with_its_name():
    records = [NodeRecord("gene:1", "Gene (human)", {"name": "TP53"})]
    async with open_graph(MemoryBackend(records), limits=LINES) as graph:
        lines = (await graph.bfs_query("TP53", 1)).text.split("\n")
    assert lines[0] == 'from gene:1 ("Gene (human)")'


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("person:1", "hops 1"),
        ("film 1" * 12, 'note: "\\"' + "film 1" * 9 + "film ... (74 characters) was taken as long"),
        ("Le\u00a0Jour", 'note: "\\"Le\u00a0Jour\\" was taken as nbsp'),
    ],
)
async def test_a_name_that_its_note_does_not_repeat_as_it_is_has_a_note_of_its_own(name, line):
    records = [
        *RECORDS,
        NodeRecord("long", "Film", {"name": "film 1" * 12}),
        NodeRecord("nbsp", "Film", {"name": "Le\u00a0Jour"}),
    ]
    async with open_graph(MemoryBackend(records), limits=LINES) as graph:
        text = (await graph.bfs_query(name, 1)).text
    assert [found for found in text.split("\n") if found.startswith(line)]


@pytest.mark.parametrize(
    ("arguments", "following"),
    [
        ({"max_hops": 1, "limit": 2}, "; continue offset=2"),
        ({"max_hops": 1, "limit": 1, "offset": 1}, "; continue offset=2"),
        ({"path": ["<-acted in-"], "limit": 1}, "; continue offset=1"),
    ],
)
async def test_the_counts_say_where_the_next_page_begins(arguments, following):
    counts, after = await first_lines("bfs_query", {"seeds": ["film:1"], **arguments}, 2)
    assert counts.endswith(following)
    assert not after.startswith("note: Nodes")


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (
            {
                "seeds": ["film:1"],
                "path": ["<-acted in- Person"],
                "show": "ends",
                "fields": ["name"],
            }
            | {"sort_by": "-paths", "limit": 1},
            [
                "shown 2; continue offset=1",
                "note: sort_by: the next 1 has the same paths.",
                "[Person paths=1]",
                "person:1|Arletty",
            ],
        ),
        (
            {"seeds": ["Person:*"], "path": ["-->", "<--"], "show": "ends", "fields": ["name"]},
            ["seeds 2", "[2 Person]", "person:1|Arletty", "person:2|Jean Gabin"],
        ),
        (
            {"seeds": ["Film:*"], "path": ["<-acted in-"], "show": "walks", "fields": ["name"]},
            [
                "seeds 1; walks 2",
                "[walks] Film > Person",
                "film:1{Le Jour se lève} > person:1{Arletty}",
                "film:1 > person:2{Jean Gabin}",
            ],
        ),
        (
            {"seeds": ["Person:*"], "facets": ["name:1", "year"], "limit": 0},
            [
                "seeds 2: Person",
                "facet name: count 2, distinct 2, min Arletty, max Jean Gabin; Arletty 1",
                "facet year: count 0, missing 2, distinct 0",
            ],
        ),
        (
            {"seeds": ["Arletty"], "to": ["Jean Gabin"], "limit": 0},
            [
                "from person:1 (Person)",
                "to person:2 (Person)",
                'shortest 2; nodes 3: Film 1, Person 2; edges 2: "acted in"',
            ],
        ),
        (
            {"seeds": ["Person:*"], "along": ["-acted in->"], "limit": 0},
            [
                'seeds 2; hops 20; nodes 3: Film 1, Person 2; edges 2: "acted in"',
                "note: along was followed to its end, 1 edge away.",
                "along: -acted in->",
            ],
        ),
    ],
)
async def test_what_the_caller_knows_is_left_out(arguments, lines):
    assert [
        line for line in await first_lines("bfs_query", arguments, None) if ": facets: " not in line
    ] == lines


async def test_a_score_is_left_out_where_there_is_none():
    lines = await first_lines("search_entities", {"query": "Jean"}, None)
    assert lines == ["results: 1", "[Person] name|match", "person:2|Jean Gabin|prefix"]


async def test_a_budget_counts_what_is_sent():
    nodes = [NodeRecord(f"n:{i:04}", "Thing", {"name": f"thing {i}"}) for i in range(400)]
    edges = [EdgeRecord("n:0000", "near", n.id) for n in nodes]
    backend = MemoryBackend([*nodes, *edges])
    shown = []
    for answer_format in ("json", "lines"):
        limits = Limits(max_tokens=3_000, answer_format=answer_format)
        async with open_graph(backend, limits=limits) as graph:
            answer = await graph.bfs_query("n:0000", 1, topology_only=True)
        assert len(answer.text.encode()) <= 3 * 3_000
        shown.append(len(answer.content["nodes"]))
    assert shown[1] > 1.5 * shown[0]
