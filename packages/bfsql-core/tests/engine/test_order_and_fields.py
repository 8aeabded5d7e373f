"""`sort_by` compared with a plain sort, and `fields` with the whole answer."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql import Graph, Limits, MemoryBackend, open_graph
from bfsql.errors import ToolError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.models.parts import only
from bfsql_test_support import graph_strategies, tool_calls
from bfsql_test_support.backends.columns import ColumnsOverMemory
from bfsql_test_support.backends.in_memory import CountingBackend

WHOLE = Limits(max_tokens=0)
VALUES = st.sampled_from([None, 3, 10.0, -1, "10", "9", "Äb", "ab", "B", True, [7, 2], ["c", "A"]])


def place(value, *, descending):
    """The sort key of a value: numbers, then text, then missing values."""
    plain = {"Äb": "ab", "B": "b", True: "true", "10": 10, "9": 9}
    values = value if isinstance(value, list) else [value]
    if value is None:
        return 2, 0
    first = max if descending else min
    values = [plain.get(v, v) if isinstance(v, str | bool) else v for v in values]
    if isinstance(values[0], str):
        return 1, first(v.lower() for v in values)
    return 0, first(values)


@settings(max_examples=60)
@given(st.lists(VALUES, min_size=1, max_size=9), st.booleans(), st.integers(1, 4))
async def test_an_answer_is_sorted_before_its_page_is_cut(values, descending, limit):
    nodes = [NodeRecord(f"n{i}", "T", {"x": v}) for i, v in enumerate(values)]
    edges = [EdgeRecord("n0", "e", n.id) for n in nodes]
    order = sorted(range(len(values)), key=lambda i: place(values[i], descending=False)[0])
    kinds = {kind: [] for kind in (0, 1, 2)}
    for i in order:
        kinds[place(values[i], descending=descending)[0]].append(i)
    for places in kinds.values():
        places.sort(key=lambda i: place(values[i], descending=descending)[1], reverse=descending)
    expected = [f"n{i}" for places in kinds.values() for i in places]
    async with open_graph(MemoryBackend([*nodes, *edges]), limits=WHOLE) as graph:
        found, following = [], {"offset": 0, "limit": limit}
        while following:
            page = await tool_calls.read(
                graph,
                "bfs_query",
                seeds=["n0"],
                max_hops=1,
                sort_by="-x" if descending else "x",
                **following,
            )
            found += [node["id"] for node in page["nodes"]]
            following = tool_calls.continuation(page)
            told = any("numbers come first" in note for note in page.get("notes", ()))
            assert told == bool(kinds[0] and kinds[1])
    assert found == expected


@settings(max_examples=30)
@given(graph_strategies.graphs_with_seeds(), st.integers(1, 3), st.booleans())
async def test_degree_is_the_number_of_edges_within_the_answer(case, hops, descending):
    graph, seeds = case
    sort_by = "-degree" if descending else "degree"
    async with open_graph(MemoryBackend(graph.records), limits=WHOLE) as opened:
        answer = await tool_calls.read(
            opened, "bfs_query", seeds=seeds, max_hops=hops, sort_by=sort_by
        )
    touching = [{edge["subject"], edge["object"]} for edge in answer["edges"]]
    degree = {n["id"]: sum(n["id"] in ends for ends in touching) for n in answer["nodes"]}
    sign = -1 if descending else 1
    assert {node["id"]: node["degree"] for node in answer["nodes"]} == degree
    assert list(degree) == sorted(degree, key=lambda i: (sign * degree[i], i))


@pytest.mark.parametrize(
    ("sort_by", "why"),
    [("paths", "needs path"), ("-distinct", "needs path"), ("-", "names no property")],
)
async def test_what_an_answer_cannot_be_sorted_by_is_an_error(sort_by, why):
    async with open_graph(MemoryBackend([NodeRecord("n0", "T", {})])) as graph:
        with pytest.raises(ToolError, match=why):
            await graph.bfs_query("n0", 1, sort_by=sort_by)


async def test_spellings_of_an_order_are_taken_and_a_property_that_nothing_has_is_reported():
    nodes = [NodeRecord(f"n{i}", "T", {"year": i}) for i in range(3)]
    edges = [EdgeRecord("n0", "e", n.id) for n in nodes]
    async with open_graph(MemoryBackend([*nodes, *edges])) as graph:
        for given_ in ({"order_by": "-year"}, {"sort_by": "year DESC"}, {"sort_by": "- year"}):
            answer = await tool_calls.read(graph, "bfs_query", seeds=["n0"], max_hops=1, **given_)
            assert [n["id"] for n in answer["nodes"]] == ["n2", "n1", "n0"]
        answer = await tool_calls.read(graph, "bfs_query", seeds=["n0"], max_hops=1, sort_by="yaer")
        assert 'the property "yaer"' in answer["notes"][0]


class Narrow(CountingBackend):
    """Records the metadata keys that are requested."""

    def __init__(self, records):
        super().__init__(records)
        self.keys = []

    async def metadata_for_nodes_batch(self, ids, keys=None):
        self.keys.append((len(ids), keys))
        return only(await super().metadata_for_nodes_batch(ids), keys)


async def test_a_large_answer_is_filtered_and_sorted_by_one_key_each():
    count = 6_000
    years = random.Random(1).sample(range(count), count)
    nodes = [NodeRecord(f"n{i}", "T", {"year": y, "text": "x"}) for i, y in enumerate(years)]
    edges = [EdgeRecord("n0", "e", n.id) for n in nodes]
    backend = Narrow([*nodes, *edges])
    async with open_graph(backend) as graph:
        answer = await tool_calls.read(
            graph,
            "bfs_query",
            seeds=["n0"],
            max_hops=1,
            where=["T.year>=100", "T.year<4000"],
            sort_by="-year",
            fields=["year"],
            limit=3,
        )
    assert [node["metadata"] for node in answer["nodes"]] == [
        {"year": year} for year in (3_999, 3_998, 3_997)
    ]
    assert [keys for _, keys in backend.keys] == [{"year"}]


@settings(max_examples=50)
@given(
    graph_strategies.graphs_with_seeds(),
    st.lists(st.sampled_from(graph_strategies.FIELDS), min_size=1, max_size=3, unique=True),
    graph_strategies.detailing(),
)
async def test_fields_show_a_part_of_the_whole_answer(case, fields, detailing):
    graph, seeds = case
    async with open_graph(MemoryBackend(graph.records), limits=WHOLE) as opened:
        call = {"seeds": seeds, "max_hops": 2, **detailing}
        whole = await tool_calls.read(opened, "bfs_query", **call)
        part = await tool_calls.read(opened, "bfs_query", **call, fields=fields)
    shown = set()
    for kind in ("nodes", "edges"):
        for thing in whole[kind]:
            if "metadata" in thing:
                known = {k: v for k, v in thing["metadata"].items() if k in fields}
                shown |= set(known)
                thing["metadata"] = known
                if kind == "edges" and not known:
                    del thing["metadata"]
        assert part[kind] == whole[kind]
    told = [note for note in part.get("notes", ()) if note.startswith("fields: ")]
    absent = {key for note in told for key in fields if re.search(rf" {key}[ ,.]", note)}
    full = not detailing.get("topology_only") and any("metadata" in n for n in whole["nodes"])
    if full:
        assert absent == set(fields) - shown
    survey = [note for note in told if "topology_only shows no metadata" in note]
    assert bool(survey) == detailing.get("topology_only", False)


async def test_the_shown_nodes_of_a_path_are_sorted_before_their_page_is_cut():
    nodes = [NodeRecord(i, i[0].upper(), {"rank": int(i[1])}) for i in ("s0", "a1", "a2", "a3")]
    edges = [
        EdgeRecord("s0", p, i) for i, ps in (("a1", "xy"), ("a3", "xyz"), ("a2", "x")) for p in ps
    ]
    async with open_graph(MemoryBackend([*nodes, *edges])) as graph:
        for sort_by, first in (
            ("-paths", "a3"),
            ("paths", "a2"),
            ("-rank", "a3"),
            ("degree", "a2"),
        ):
            answer = await graph.bfs_query(
                ["s0"], path=["--> A"], sort_by=sort_by, limit=1, show="ends"
            )
            assert [node["id"] for node in answer.content["nodes"]] == [first]
        kept = await graph.bfs_query(
            ["s0"], path=["--> A"], where=["rank>=2", "1.rank<3"], fields=["rank"], show="ends"
        )
    assert [(n["id"], n["metadata"]) for n in kept.content["nodes"]] == [("a2", {"rank": 2})]


async def test_a_misspelt_sort_key_is_told_the_nearest_property_on_every_store_cold_and_warm():
    records = [NodeRecord(f"n{n}", "T", {"year": n, "name": f"no {n}"}) for n in range(5)]
    records += [EdgeRecord("n0", "e", f"n{n}") for n in range(1, 5)]
    told = set()
    for backend in (MemoryBackend(records), ColumnsOverMemory(records, 2)):
        async with open_graph(backend) as cached:
            for graph in (Graph(backend, "", Limits(), None), cached, cached):
                for call in ({}, {"path": ["-e->"]}):
                    call |= {"seeds": ["n0"], "sort_by": "-yaer"}
                    told.add((await tool_calls.asked(graph, "bfs_query", **call)).notes[-1])
            other = await cached.bfs_query(["n0"], sort_by="colour")
    [note] = told
    assert note.startswith('sort_by: no node of the answer has the property "yaer"')
    assert note.endswith(" The nearest: year.")
    assert other.notes[-1].endswith("describe_entity shows which properties an entity has.")
