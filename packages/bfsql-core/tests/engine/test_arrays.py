"""Arrays of handles compared with Python's sets, for small, large and dense graphs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql import arrays
from bfsql.arrays import (
    Handles,
    are_among,
    distinct,
    distinct_numbers,
    is_sparse,
    places_in,
    places_of,
    within,
)
from bfsql.integers import Ring

SIZES = [50, 100_000, 3_000_000]


def drawn_numbers(size, most=60):
    return st.lists(st.integers(0, size - 1), max_size=most)


def array(numbers):
    return np.array(numbers, np.int32)


@given(st.data(), st.sampled_from(SIZES))
def test_a_set_of_handles_holds_what_was_put_in(data, size):
    ours, theirs = Handles(size), set()
    for _ in range(data.draw(st.integers(1, 4))):
        more = data.draw(drawn_numbers(size))
        ours.add(array(more))
        theirs.update(more)
        size = data.draw(st.sampled_from([size, 2 * size]))
        ours.cover(size)
        asked = [*data.draw(drawn_numbers(size)), *more]
        assert ours.has(array(asked)).tolist() == [number in theirs for number in asked]
        assert bool(ours) == bool(theirs)


@pytest.mark.parametrize("size", SIZES)
def test_a_set_that_grows_from_few_handles_to_many_holds_them_all(size):
    ours = Handles(size)
    kinds = set()
    for start in range(0, 400, 40):
        ours.add(np.arange(start, start + 40, dtype=np.int32) % size)
        kinds.add(is_sparse(start + 40, size))
        everything = np.arange(min(size, 1_000), dtype=np.int32)
        assert ours.has(everything).sum() == min(start + 40, size)
    assert kinds == ({True} if size == SIZES[-1] else {True, False} if size > 65_536 else {False})


def test_a_few_handles_are_found_among_many():
    size, few = SIZES[-1], [SIZES[-1] - 1, 700]
    ours, many = Handles(size, array(few)), np.arange(0, size, 100, dtype=np.int32)
    assert many[ours.has(many)].tolist() == [700]
    assert ours.has(array([*few, 5])).tolist() == [True, True, False]
    ours.add(array([900]))
    ours.cover(size + 10)
    assert many[ours.has(many)].tolist() == [700, 900]
    assert not Handles(size).has(many).any()
    places = places_of(array(few), many, size)
    assert many[places >= 0].tolist() == [700]
    assert places.max() == 1


@given(st.data(), st.sampled_from(SIZES))
def test_places_are_those_of_a_list(data, size):
    nodes = list(dict.fromkeys(data.draw(drawn_numbers(size))))
    wanted = data.draw(drawn_numbers(size)) + nodes
    place = {node: number for number, node in enumerate(nodes)}
    expected = [place.get(node, -1) for node in wanted]
    assert places_of(array(nodes), array(wanted), size).tolist() == expected
    in_order = {node: number for number, node in enumerate(sorted(nodes))}
    expected = [in_order.get(node, -1) for node in wanted]
    assert places_in(array(sorted(nodes)), array(wanted)).tolist() == expected


@given(st.data(), st.sampled_from(SIZES))
def test_distinct_numbers_are_those_of_a_set(data, size):
    numbers = data.draw(drawn_numbers(size))
    assert distinct_numbers(array(numbers)).tolist() == sorted(set(numbers))


@given(st.data(), st.sampled_from(SIZES))
def test_distinct_edges_are_those_of_a_set(data, size):
    number = st.integers(0, size - 1)
    predicate = st.integers(0, data.draw(st.sampled_from([3, 100, 2**31 - 1])))
    edges = data.draw(st.lists(st.tuples(number, predicate, number), max_size=30))
    edges += edges[::2]
    ring = Ring(*(array([edge[place] for edge in edges]) for place in range(3)))
    found = list(zip(*(column.tolist() for column in distinct(ring, size)), strict=True))
    assert sorted(found) == sorted(set(edges))
    assert len(found) == len(set(edges))


@given(st.data(), st.sampled_from(SIZES), st.integers(1, 40))
def test_edges_within_a_set_are_found_in_parts_of_any_length(data, size, length):
    number = st.integers(0, min(size, 9) - 1)
    edges = data.draw(st.lists(st.tuples(number, number, number), max_size=30))
    members = data.draw(st.sets(number))
    ring = Ring(*(array([edge[place] for edge in edges]) for place in range(3)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "_AT_ONCE", length)
        found = within(ring, Handles(size, array(sorted(members))))
    kept = [edge for edge in edges if edge[0] in members and edge[2] in members]
    assert list(zip(*(column.tolist() for column in found), strict=True)) == kept
    assert {column.dtype for column in found} == {np.dtype(np.int32)}


@pytest.mark.parametrize("wanted", [[], [3], [3, 90], list(range(2, 99, 4))])
@pytest.mark.parametrize("kind", [np.int8, np.int32])
def test_wanted_numbers_are_found_one_by_one_or_in_a_table(wanted, kind):
    numbers = np.array([*range(-2, 60), 3, 2], kind)
    assert are_among(numbers, wanted).tolist() == [n in wanted for n in numbers.tolist()]
    assert are_among(numbers[:0], wanted).tolist() == []
