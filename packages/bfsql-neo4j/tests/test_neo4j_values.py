"""Metadata becomes properties that Neo4j can store, and is read back unchanged."""

import datetime as dt
import json
from decimal import Decimal
from enum import Enum
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql.answers.clean import clean_metadata
from bfsql_neo4j.values import DEEPEST, DOCUMENTS, from_properties, plain, to_properties
from bfsql_test_support.case_table import case_table

TEXTS = st.text(st.characters(), max_size=6)  # including lone surrogates
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(2**63 - 2, 2**63 + 2)
    | st.floats()
    | TEXTS
    | st.dates()
    | st.times()
    | st.datetimes()
    | st.datetimes(timezones=st.timezones())
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
KEYS = TEXTS | st.sampled_from(
    ["a", "a__json", "a__json__json", "__json", "", "\0", "id", DOCUMENTS]
)
METADATA = st.dictionaries(KEYS, VALUES, max_size=6)


def is_kept(value):
    """Whether Neo4j can store this as a property, by its rules and not by the module's."""
    if isinstance(value, list):
        kinds = {type(item) for item in value}
        return (
            len(kinds) <= 1 and not kinds & {list, bytes, type(None)} and all(map(is_kept, value))
        )
    if isinstance(value, str):
        return value.encode().decode() == value
    if type(value) is int:
        return -(2**63) <= value < 2**63
    return isinstance(value, bool | float | bytes | dt.date | dt.time)


@given(METADATA, st.sampled_from([(), ("id",), ("a", "id")]))
def test_whatever_goes_in_comes_out_as_answers_show_it(metadata, taken):
    properties = to_properties(metadata, taken)
    own = dict.fromkeys(taken, "the store's own")
    back = from_properties(properties | own, taken)
    for name, value in own.items():
        if metadata.get(name) is None:
            assert back.pop(name) == value
    # Answers number keys that become equal by cleaning, and count keys with nulls, too.
    told = {key: value for key, value in metadata.items() if value is not None}
    assert repr(clean_metadata(back)) == repr(clean_metadata(told))


@given(METADATA)
def test_every_property_is_one_that_neo4j_keeps(metadata):
    properties = to_properties(metadata, ("id",))
    assert "id" not in properties
    for key, value in properties.items():
        assert key
        assert "\0" not in key
        key.encode()
        assert is_kept(value)


@given(METADATA)
def test_going_in_changes_nothing_that_was_given(metadata):
    before = repr(metadata)
    to_properties(metadata)
    assert repr(metadata) == before


@case_table(
    ("value", "stored"),
    [
        ({"b": [1]}, '{"b":[1]}'),
        ([1, 1.5], "[1,1.5]"),
        ([True, 1], "[true,1]"),
        (["a", None], '["a",null]'),
        ([[1]], "[[1]]"),
        ([b"a"], '["YQ=="]'),
        (2**63, "9223372036854775808"),
        (Decimal("1E+40"), str(10**40)),
        ([dt.date(2024, 1, 2), "x"], '["2024-01-02","x"]'),
        ([float("nan"), "x"], '["NaN","x"]'),
    ],
)
def test_what_neo4j_cannot_keep_is_json_text(value, stored):
    assert to_properties({"k": value}) == {"k__json": stored}


class Colour(Enum):
    RED = "red"


@case_table(
    ("value", "stored"),
    [
        (1, 1),
        (1.0, 1.0),
        ([], []),
        (["b", "a"], ["b", "a"]),
        (("b",), ["b"]),
        ({"b", "a"}, ["a", "b"]),
        (Colour.RED, "red"),
        (Decimal("19.90"), 19.9),
        (Decimal("0.1000000000000000055511151231257827"), "0.1000000000000000055511151231257827"),
        (dt.timedelta(days=1, seconds=2), "P1DT2S"),
        (bytearray(b"\0"), b"\0"),
        ("\ud800", "\ufffd"),
        (dt.date(1066, 10, 14), dt.date(1066, 10, 14)),
        (
            dt.datetime(2024, 7, 1, tzinfo=ZoneInfo("Europe/Paris")),
            dt.datetime(2024, 7, 1, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        ),
        (
            dt.datetime(1880, 7, 1, tzinfo=ZoneInfo("Europe/Amsterdam")),
            dt.datetime(1880, 7, 1, tzinfo=ZoneInfo("Europe/Amsterdam")).isoformat(),
        ),
    ],
)
def test_what_neo4j_can_keep_is_kept_as_it_is(value, stored):
    properties = to_properties({"k": value})
    assert properties == {"k": stored}
    assert type(properties["k"]) is type(stored)


def test_names_that_no_property_can_have_stand_together():
    properties = to_properties({"": 1, "a\0b": [None], "\ud800": b"x", "fine": 2})
    assert properties.keys() == {"__json", "fine"}
    assert from_properties(properties) == {"": 1, "a\0b": [None], "\ud800": "eA==", "fine": 2}


def test_a_graph_that_no_loader_wrote_stays_as_it_is():
    properties = {
        "note__json": "not JSON",
        "number__json": 5,
        "config": 1,
        "config__json": '{"a": 1}',
        "__json": '{"config": "hidden"}',
    }
    assert from_properties(properties) == properties


@case_table("deep", ["list", "map", "itself"])
def test_what_is_nested_too_deeply_is_refused(deep):
    value = []
    for _ in range(DEEPEST + 1):
        value = {"k": value} if deep == "map" else [value]
    if deep == "itself":
        value.append(value)
    with pytest.raises(ValueError, match=f"deeper than {DEEPEST} levels, or contains itself"):
        to_properties({"k": value})


def test_huge_integers_survive_up_to_where_python_reads_them():
    metadata = {"k": 10**3999, "more": -(10**5000)}
    back = from_properties(to_properties(metadata))
    assert back == {"k": 10**3999, "more": f"{-(10**5000):#x}"}


def test_arrays_of_other_libraries_become_lists():
    class Array:
        def tolist(self):
            return [0.5, 1.5]

    assert plain(Array()) == [0.5, 1.5]
    assert json.loads(to_properties({"k": [Array()]})["k__json"]) == [[0.5, 1.5]]
