"""The outline of a graph: types, relations and properties."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord, Property, Relation, outline_of, properties_of
from bfsql.models.outline import COMMON_VALUES, MOST_PROPERTIES, MOST_RELATIONS


def described(*values: Any) -> Property:
    """The property computed from nodes with these values."""
    [found] = properties_of(("T", {"x": value}) for value in values)["T"]
    return found


async def test_the_outline_of_a_graph_counts_its_types_and_relations():
    outline = await MemoryBackend(
        [
            NodeRecord("t1", "Trial", {"phase": 1}),
            NodeRecord("t2", "Trial", {"phase": 2}),
            NodeRecord("d", "Disease"),
            EdgeRecord("t1", "studies", "d"),
            EdgeRecord("t2", "studies", "d", {"since": "2001-05-01"}),
            EdgeRecord("t2", "follows", "t1"),
            EdgeRecord("t2", "follows", "nobody", {"since": "1901-05-01"}),
        ]
    ).outline()
    assert outline.node_counts == {"Disease": 1, "Trial": 2}
    assert outline.relations == [
        Relation("Trial", "studies", "Disease", 2),
        Relation("Trial", "follows", "Trial", 1),
    ]
    assert [p.name for p in outline.node_properties["Trial"]] == ["phase"]
    [since] = outline.edge_properties["studies"]
    assert (since.kind, since.minimum, since.maximum) == ("date", "2001-05-01", "2001-05-01")
    assert "follows" not in outline.edge_properties, "no node, no edge"
    assert not outline.sampled


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1, 2, 3, 1, 2, 3), Property("x", "number", 1, 3, ("1", "2", "3"))),
        (range(1998, 2026), Property("x", "number", 1998, 2025)),
        ((0.5, 1.0, 0.25), Property("x", "number", 0.25, 1.0)),
        ((Decimal("1.5"), 2), Property("x", "number", 1.5, 2.0)),
        ((1, 1.0, 2, 2), Property("x", "number", 1.0, 2.0)),
        (("b", "a", "b", "a"), Property("x", "text", values=("a", "b"))),
        (("Ann", "Bob", "Cy"), Property("x", "text")),
        (("a" * 41, "a" * 41), Property("x", "text")),
        ((True, False, True, True), Property("x", "flag", values=("false", "true"))),
        ((dt.date(2020, 1, 2), "2019-05-06"), Property("x", "date", "2019-05-06", "2020-01-02")),
        ((0.5, 1.0, 0.5, 1.0), Property("x", "number", 0.5, 1.0)),
        ((["a", "b"], ["a", "b"]), Property("x", "list", values=("a", "b"))),
        (([0.1, 0.2, 0.3],), Property("x", "list")),
        (({"a": 1}, {"a": 1}), Property("x", "object")),
        ((1, "one", 1, "one"), Property("x", "text", values=("1", "one"))),
        ((float("nan"), float("nan")), Property("x", "text", values=("nan",))),
    ],
)
def test_a_property_has_a_kind_and_a_range_or_the_values_that_repeat(values, expected):
    assert described(*values) == expected


def test_of_many_values_that_repeat_the_most_frequent_are_named_and_the_others_counted():
    values = [f"v{i:02}" for i in range(12) for _ in range(i + 2)]
    found = described(*values)
    assert found.values == tuple(f"v{i:02}" for i in range(4, 12))
    assert found.further_values == 4
    assert len(found.values) == COMMON_VALUES


def test_null_is_no_value():
    assert properties_of([("T", {"x": None})]) == {}


def test_relations_and_properties_are_bounded():
    many = MOST_RELATIONS + 5
    outline = outline_of(
        {"T": 1, "Gone": 0},
        {("T", f"p{i:04}", "T"): 1 for i in range(many)},
        [("T", {f"k{i:03}": i for i in range(MOST_PROPERTIES + 5)}), ("T", {"k044": 1})],
        sampled=True,
    )
    assert (len(outline.relations), outline.relations_left_out) == (MOST_RELATIONS, 5)
    assert {relation.edges for relation in outline.relations} == {None}, "a sample counts nothing"
    assert outline.relations[0].predicate == "p0000"
    assert outline.node_counts == {"T": 1}
    names = [p.name for p in outline.node_properties["T"]]
    assert len(names) == MOST_PROPERTIES
    assert names == sorted(names)
    assert "k044" in names, "the more frequent ones stay"
    assert outline.sampled
