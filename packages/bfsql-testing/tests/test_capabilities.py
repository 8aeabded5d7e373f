"""What a store does not keep is removed from the kit's graphs; the rest is compared."""

import pytest

from bfsql.models import EdgeRecord, NodeRecord
from bfsql_testing.conformance import EVERYTHING, Kind, storable
from bfsql_testing.conformance.capabilities import kinds_of
from bfsql_testing.conformance.graphs import GONE, GRAPHS, VALUES, dangling, values


def test_a_store_that_keeps_everything_gets_every_record():
    for graph in GRAPHS.values():
        assert storable(graph(), EVERYTHING) == graph()


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (Kind.BINARY, {"bytes"}),
        (Kind.NULLS_IN_LISTS, {"nulls"}),
        (Kind.EMPTY_LISTS, {"nothing"}),
        (Kind.MIXED_LISTS, {"mixed", "deep"}),
        (Kind.EMBEDDINGS, {"embedding"}),
        (Kind.NUL_CHARACTERS, {"nul"}),
        (Kind.HUGE_INTEGERS, {"huge", "very_huge"}),
        (Kind.NON_FINITE, {"nan", "infinite"}),
    ],
)
def test_a_kind_that_a_store_does_not_keep_is_taken_out(kind, keys):
    reduced = storable(values(), EVERYTHING - {kind})
    [everything] = [r for r in reduced if isinstance(r, NodeRecord) and r.id == "all"]
    assert set(VALUES) - set(everything.metadata) == keys


def test_a_store_without_dangling_edges_gets_none():
    reduced = storable(dangling(), EVERYTHING - {Kind.DANGLING_EDGES})
    assert [r for r in reduced if isinstance(r, EdgeRecord)] == [EdgeRecord("d:1", "treats", "d:2")]
    assert GONE in {
        e for r in dangling() if isinstance(r, EdgeRecord) for e in (r.subject, r.object)
    }


def test_lists_that_a_store_keeps_unordered_are_compared_sorted():
    reduced = storable(values(), EVERYTHING - {Kind.ORDERED_LISTS})
    [everything] = [r for r in reduced if isinstance(r, NodeRecord) and r.id == "all"]
    assert everything.metadata["texts"] == ["a", "b"]


def test_every_kind_of_value_occurs_in_the_kits_graphs():
    structural = {
        Kind.ORDERED_LISTS, Kind.LONG_IDS, Kind.ODD_KEYS, Kind.EDGE_METADATA, Kind.EVIDENCE,
        Kind.DANGLING_EDGES, Kind.PARALLEL_EDGES, Kind.OTHER_TYPES,
    }  # fmt: skip
    assert set(kinds_of(VALUES)) | structural == set(Kind)
