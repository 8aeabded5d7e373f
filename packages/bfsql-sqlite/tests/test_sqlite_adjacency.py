"""Edges in packed arrays: they are read as written at every cut, and damage is detected."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql_sqlite import adjacency, edge_tables
from bfsql_sqlite.adjacency import WHOLE, Adjacency, NumberedEdgeFilter
from bfsql_sqlite.edge_tables import write_edges, write_types
from bfsql_sqlite.packed_arrays import Damaged
from bfsql_test_support.case_table import case_table

NODES, PREDICATES = 11, 3
TRIPLES = st.frozensets(
    st.tuples(
        # Some nodes have most of the edges.
        st.integers(0, NODES - 1) | st.just(4),
        st.integers(0, PREDICATES - 1),
        st.integers(0, NODES - 1) | st.just(7),
    ),
    max_size=60,
)


@pytest.fixture
def short_rows(monkeypatch):
    """Rows so short that a small graph has many of them."""
    for module in (adjacency, edge_tables):
        monkeypatch.setattr(module, "ENTRIES", 3)
        monkeypatch.setattr(module, "SPAN", 4)
    monkeypatch.setattr(edge_tables, "TYPE_ROW", 5)
    monkeypatch.setattr(adjacency, "BATCH_EDGES", 7)
    monkeypatch.setattr(adjacency, "CHUNK", 2)
    monkeypatch.setattr(adjacency, "_LISTS_AT_ONCE", 4)


def chunks(triples, length):
    for start in range(0, len(triples), length):
        yield np.array(triples[start : start + length], np.int32)


def written(triples, lacking=frozenset(), length=5):
    graph = sqlite3.connect(":memory:")
    graph.executescript(
        f"{edge_tables.TABLES} CREATE TABLE node (n INTEGER PRIMARY KEY, t INTEGER);"
        "CREATE TABLE type (t INTEGER PRIMARY KEY); INSERT INTO type VALUES (0), (1);"
        "CREATE TABLE predicate (p INTEGER PRIMARY KEY);"
    )
    graph.executemany("INSERT INTO predicate VALUES (?)", ((p,) for p in range(PREDICATES)))
    types = ((n, None if n in lacking else n % 2) for n in range(NODES))
    graph.executemany("INSERT INTO node VALUES (?, ?)", types)
    write_edges(
        graph,
        nodes=NODES,
        predicates=PREDICATES,
        leaving=chunks(sorted(triples), length),
        entering=chunks(sorted(triples, key=lambda one: (one[2], one[1], one[0])), length),
    )
    write_types(graph)
    assert Adjacency.of(graph).edges == len(triples)
    return graph


def ring(graph, nodes, part=WHOLE):
    edges = Adjacency.of(graph)
    assert len(edges.types(graph)) == NODES
    found = []
    for read in edges.plan(graph, np.array(nodes, np.int32), part):
        assert 0 < read.keywords["ranges"].total <= adjacency.BATCH_EDGES
        columns = read(graph)
        assert {column.dtype for column in columns} == {np.dtype(np.int32)}
        found += zip(*(column.tolist() for column in columns), strict=True)
    return found


def small_ring(edges, graph, nodes):
    found = edges.small_ring(graph, nodes)
    assert found is not None
    assert {column.dtype for column in found} == {np.dtype(np.int32)}
    return list(zip(*(column.tolist() for column in found), strict=True))


@given(
    triples=TRIPLES,
    asked=st.sets(st.integers(0, NODES - 1)),
    lacking=st.frozensets(st.integers(0, NODES - 1), max_size=3),
    length=st.integers(1, 9),
)
@settings(deadline=None)
@pytest.mark.usefixtures("short_rows")
def test_a_ring_has_each_edge_of_its_nodes_once(triples, asked, lacking, length):
    with closing(written(triples, lacking, length)) as graph:
        edges = Adjacency.of(graph)
        assert (edges.nodes, edges.edges) == (NODES, len(triples))
        assert edges.types(graph).tolist() == [-1 if n in lacking else n % 2 for n in range(NODES)]
        expected = sorted(one for one in triples if asked & {one[0], one[2]})
        assert sorted(ring(graph, list(asked))) == expected
        edges.types(graph)
        assert sorted(small_ring(edges, graph, list(asked))) == sorted(
            one for one in triples if (asked - lacking) & {one[0], one[2]}
        )


@given(
    triples=TRIPLES,
    asked=st.sets(st.integers(0, NODES - 1)),
    predicates=st.none() | st.sets(st.integers(0, PREDICATES - 1)),
    direction=st.sampled_from([None, "out", "in"]),
    small=st.sampled_from([0, 5, 100]),
    long=st.sampled_from([0, 2, 100]),
)
@settings(deadline=None)
@pytest.mark.usefixtures("short_rows")
def test_a_part_of_a_ring_is_what_is_left_of_the_whole(
    *, triples, asked, predicates, direction, small, long
):
    kept = {"out": {0}, "in": {2}, None: {0, 2}}[direction]
    expected = sorted(
        one
        for one in triples
        if asked & {one[end] for end in kept} and (predicates is None or one[1] in predicates)
    )
    numbers = None if predicates is None else np.array(sorted(predicates), np.int32)
    part = NumberedEdgeFilter(numbers, direction)
    with pytest.MonkeyPatch.context() as patch, closing(written(triples)) as graph:
        patch.setattr(adjacency, "SMALL", small)
        patch.setattr(adjacency, "LONG_LIST", long)
        assert sorted(ring(graph, list(asked), part)) == expected
        edges = Adjacency.of(graph)
        edges.types(graph)
        found = edges.small_ring(graph, list(asked), part)
        assert found is not None or small < 100
        if found is not None:
            columns = (column.tolist() for column in found)
            assert sorted(zip(*columns, strict=True)) == expected


def test_a_rare_predicate_of_a_hub_is_found_without_reading_the_hub():
    count, rare = 100_000, 5
    ends = np.arange(count)
    triples = np.stack([ends, np.where(ends < rare, 1, 2), ends * 0], 1).astype(np.int32)
    with closing(sqlite3.connect(":memory:")) as graph:
        graph.executescript(edge_tables.TABLES)
        write_edges(graph, nodes=count, predicates=3, leaving=[triples], entering=[triples])
        edges = Adjacency(count, count, 1, 3)
        statements = []
        graph.set_trace_callback(statements.append)
        part = NumberedEdgeFilter(np.array([1], np.int32), "in")
        [read] = edges.plan(graph, np.array([0], np.int32), part)
        assert read.keywords["ranges"].total == rare
        found = read(graph)
        assert found.subjects.tolist() == list(range(rare))
        assert len(statements) < 25


@given(triples=TRIPLES, asked=TRIPLES)
@settings(deadline=None)
@pytest.mark.usefixtures("short_rows")
@pytest.mark.parametrize("small", [0, 1, 100])
def test_edges_are_found_by_what_they_join(triples, asked, small):
    with pytest.MonkeyPatch.context() as patch, closing(written(triples)) as graph:
        patch.setattr(adjacency, "SMALL", small)
        edges = Adjacency.of(graph)
        expected = {one: e for e, one in enumerate(sorted(triples)) if one in asked}
        assert edges.numbers(graph, asked) == expected


def test_predicates_and_types_have_the_width_that_they_need():
    widths = [edge_tables.width(n).itemsize for n in (0, 128, 129, 32_768, 32_769, 1_000_000)]
    assert widths == [1, 1, 2, 2, 4, 4]


@case_table(
    "damage",
    [
        "UPDATE entries SET ends = substr(ends, 1, 4)",
        "UPDATE entries SET ends = 'text'",
        "UPDATE entries SET predicates = x'ffff'",
        "UPDATE entries SET ends = CAST(x'ffffffff' || substr(ends, 5) AS BLOB)",
        "UPDATE entries SET ends = CAST(zeroblob(length(ends) - 1) || x'7f' AS BLOB)",
        "DELETE FROM entries WHERE k = 5",
        "UPDATE offsets SET base = 'text'",
        "DELETE FROM offsets WHERE k = 0",
        "UPDATE offsets SET offsets = CAST(offsets || x'ffff' AS BLOB)",
        "UPDATE offsets SET base = base + 100",
        "UPDATE offsets SET base = -1",
        "UPDATE offsets SET offsets = substr(offsets, 5)",
        "DELETE FROM node_types",
        "UPDATE node_types SET types = CAST(x'7f' || substr(types, 2) AS BLOB)",
    ],
)
@pytest.mark.usefixtures("short_rows")
def test_damage_is_an_error_of_the_file(damage):
    triples = frozenset((n, n % 3, 10 - n) for n in range(11))
    with closing(written(triples)) as graph:
        assert len(ring(graph, list(range(NODES)))) == 11
        graph.execute(damage)
        with pytest.raises(Damaged):
            [ring(graph, [node]) for node in range(NODES)]
        if damage != "DELETE FROM entries WHERE k = 5":  # entering edges, which this does not read
            with pytest.raises(Damaged):
                ring(graph, list(range(NODES)))
        edges = Adjacency(NODES, 11, 2, PREDICATES)
        with pytest.raises(Damaged):  # noqa: PT012 - either may raise
            edges.types(graph)
            small_ring(edges, graph, list(range(NODES)))


@pytest.mark.usefixtures("short_rows")
def test_lists_that_overlap_are_an_error_of_the_file():
    with closing(written(frozenset((n, n % 3, 10 - n) for n in range(11)))) as graph:
        graph.execute("UPDATE offsets SET base = base - 2 WHERE k = 1")
        with pytest.raises(Damaged):
            ring(graph, list(range(NODES)))
