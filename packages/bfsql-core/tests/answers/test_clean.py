"""Values from a store become valid JSON without hidden characters, and ids stay unaltered."""

import array
import datetime as dt
import decimal
import enum
import json
import math
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql.answers.clean import HUGE, clean, clean_metadata, clean_text, encode
from bfsql.models.quotation import plain

UTC = dt.UTC
HIDDEN = "\x00\x07\x1b\x7f\x85\u061c\u200e\u200f\u202a\u202e\u2066\u2069"


class Colour(enum.Enum):
    RED = "red\u202e"


class Level(enum.IntEnum):
    HIGH = 3


class Mood(enum.StrEnum):
    GOOD = "good"


class Flags(enum.Flag):
    A = 1
    B = 2


class Text(str):
    __slots__ = ()


class Whole(int):
    def __str__(self) -> str:
        return "whole"


class Arraylike:
    """An object with `tolist`, like numpy's arrays and scalars."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def tolist(self) -> Any:
        return self.inner


class Itself:
    """An object whose `tolist` returns itself, like numpy's extended floats."""

    def tolist(self) -> Any:
        return self


class Plain:
    pass


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, None),
        (True, True),
        (0, 0),
        (2**70, str(2**70)),
        (-(10**400), str(-(10**400))),
        (HUGE, "[f: a number of 13288 bits]"),
        (-HUGE, "[f: a number of 13288 bits]"),
        (Whole(7), 7),
        (1.5, 1.5),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (Text("a\u202eb"), "ab"),
        (dt.date(2024, 2, 29), "2024-02-29"),
        (dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC), "2024-02-29T01:02:03+00:00"),
        (dt.time(1, 2), "01:02:00"),
        (dt.timedelta(days=2, seconds=3, microseconds=500_000), "P2DT3.5S"),
        (dt.timedelta(seconds=-3), "-P0DT3S"),
        (dt.timedelta.max, "P999999999DT86399.999999S"),
        (decimal.Decimal("1.10"), 1.1),
        (decimal.Decimal("0.123456789012345678901"), "0.123456789012345678901"),
        (decimal.Decimal(12), 12),
        (decimal.Decimal("1E+400"), "1E+400"),
        (decimal.Decimal("NaN"), "NaN"),
        (decimal.Decimal("sNaN"), "NaN"),
        (decimal.Decimal("-Infinity"), "-Infinity"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Mood.GOOD, "good"),
        (Flags.A | Flags.B, 3),
        ({"b", "a"}, ["a", "b"]),
        (frozenset({2, "1", True}), [True, 2, "1"]),
        ({b"ab", 1}, [1, "[f: 2 bytes of binary data]"]),
        ((1, (2, [3])), [1, [2, [3]]]),
        (range(3), [0, 1, 2]),
        (b"\x00\xff", "[f: 2 bytes of binary data]"),
        (bytearray(3), "[f: 3 bytes of binary data]"),
        (memoryview(b"12345678").cast("I"), "[f: 8 bytes of binary data]"),
        (array.array("d", [1.0, 2.0]), [1.0, 2.0]),
        (array.array("f", [0.0] * 768), "[f: 768 numbers]"),
        ([0.5] * 64, "[f: 64 numbers]"),
        ([0.5] * 63, [0.5] * 63),
        ((1,) * 100, "[f: 100 numbers]"),
        ([math.nan] * 100, "[f: 100 numbers]"),
        ([decimal.Decimal(1)] * 100, "[f: 100 numbers]"),
        ([True] * 64, [True] * 64),
        ([*[0.5] * 63, "x"], [*[0.5] * 63, "x"]),
        ([[0.5] * 64, [1]], ["[f: 64 numbers]", [1]]),
        (Arraylike([[1, 2]]), [[1, 2]]),
        (Arraylike(2.5), 2.5),
        (Arraylike([0.5] * 100), "[f: 100 numbers]"),
        (Arraylike([Arraylike(1), Arraylike(math.nan)]), [1, "NaN"]),
        (Itself(), "[f: nested too deeply to show]"),
        ({"x": {"vector": [1] * 100}}, {"x": {"vector": "[vector: 100 numbers]"}}),
    ],
    ids=lambda value: f"{type(value).__name__} {str(value)[:20] if is_steady(value) else ''}",
)
def test_a_value_becomes_json(value, wanted):
    made = clean(value, "f")
    assert made == wanted
    assert type(made) is type(wanted)
    assert json.loads(encode(made)) == wanted


def is_steady(value: object) -> bool:
    """Whether the text of a value is quick to make and the same in every process."""
    if isinstance(value, int):
        return abs(value) < 10**9
    return not isinstance(value, set | frozenset | memoryview)


def test_an_unknown_object_tells_no_address_since_that_changes_from_run_to_run():
    assert clean(Plain(), "f") == clean(Plain(), "f")
    assert "0x" not in clean(Plain(), "f")


def test_nesting_without_end_is_cut_and_says_so():
    value: Any = "core"
    for _ in range(5_000):
        value = {"a": [value]}
    text = encode(clean(value, "field")).decode()
    assert "nested too deeply to show" in text
    assert len(text) < 1_000


def test_null_values_are_dropped_at_the_top_level_only():
    metadata = {"a": None, "b": {"c": None}, "d": [None]}
    assert clean_metadata(metadata) == {"b": {"c": None}, "d": [None]}


def test_keys_are_sorted_at_every_level_as_they_go_out():
    metadata = {"b": 1, "\x01a": {"z": 1, "\u202ey": 2}, "B": 3}
    assert encode(clean_metadata(metadata)) == b'{"B":3,"a":{"y":2,"z":1},"b":1}'


@pytest.mark.parametrize(
    ("metadata", "wanted"),
    [
        ({1: "number", "1": "text"}, {"1": "number", "1 (2)": "text"}),
        ({"a": 1, "a\x00": 2, "\u202ea": 3}, {"a": 1, "a (2)": 2, "a (3)": 3}),
        ({"a": 1, "a (2)": 2, "a\x00": 3}, {"a": 1, "a (2)": 3, "a (2) (2)": 2}),
        ({"x\ud800": 1, "x" + chr(0xDFFF): 2}, {"x\ufffd": 1, "x\ufffd (2)": 2}),
        ({None: 1, (1, 2): 2, True: 3}, {"(1, 2)": 2, "None": 1, "True": 3}),
    ],
)
def test_keys_that_become_the_same_text_are_distinguished(metadata, wanted):
    made = clean_metadata(metadata)
    assert sorted(made.values()) == sorted(metadata.values()), "nothing is lost"
    assert set(made) == set(wanted)
    assert list(made) == sorted(made)
    assert clean({"inner": metadata}, "f")["inner"] == made
    assert json.loads(encode(made)) == made


def test_what_could_hide_or_reorder_text_is_removed_and_layout_stays():
    assert clean_text(f"a{HIDDEN}b\tc\nd") == "ab\tc\nd"
    assert clean_text("\U0001f469\u200d\U0001f4bb \u00e9\u0301 \u4e2d") == (
        "\U0001f469\u200d\U0001f4bb \u00e9\u0301 \u4e2d"
    )
    assert clean_text("a\ud83d b\ude00") == "a\ufffd b\ufffd"


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary(max_size=5)
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.timedeltas()
    | st.decimals()
    | st.uuids()
    | st.fractions()
    | st.complex_numbers()
    | st.sampled_from([*Colour, *Level, *Mood, Flags.A, ...])
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(st.characters()) | st.integers() | st.none(), inner, max_size=4)
        | st.builds(Arraylike, inner)
    ),
    max_leaves=12,
) | st.sets(st.text() | st.integers() | st.floats(allow_nan=False) | st.booleans(), max_size=5)


@given(st.dictionaries(st.text(st.characters()), values, max_size=5))
def test_any_metadata_becomes_valid_json_the_same_way_twice(metadata):
    made = clean_metadata(metadata)
    text = encode(made)
    assert json.loads(text) == made
    assert encode(clean_metadata(made)) == text, "cleaning what is clean changes nothing"
    assert not set(text.decode()) & set(HIDDEN)
    assert encode(clean_metadata(dict(reversed(metadata.items())))) == text


texts = st.text(st.characters(exclude_categories=["Cs"]))
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | texts | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=15,
)


@given(documents)
def test_anything_encoded_comes_back_as_it_was(document):
    text = encode(document)
    if not contains_infinity(document):
        assert json.loads(text) == document


def contains_infinity(document: object) -> bool:
    return any(math.isinf(f) for f in floats(document))


def floats(document: object) -> list[float]:
    match document:
        case float():
            return [document]
        case list():
            return [f for item in document for f in floats(item)]
        case dict():
            return [f for item in document.values() for f in floats(item)]
        case _:
            return []


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_never_break_it(value):
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert isinstance(json.loads(encode([value]), parse_constant=refuse)[0], str)


def test_json_goes_out_compact_as_utf8():
    document = {"id": "\u00e9\u4e2d\U0001f600", "n": [1, 2.5, None, True]}
    assert encode(document).decode() == '{"id":"\u00e9\u4e2d\U0001f600","n":[1,2.5,null,true]}'


@given(st.text(st.sampled_from('a"\\\n\t\x00\x1b\x7f\x9f\u061c\u200f\u202e\u2066\u2069\U0001f600')))
def test_ids_with_hidden_characters_go_out_escaped_and_come_back_the_same(name):
    text = encode({"id": name}).decode()
    assert all(c.isprintable() for c in text)
    assert json.loads(text) == {"id": name}


def test_every_bidirectional_character_is_escaped():
    every = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert encode(every).isascii()


def test_a_lone_surrogate_does_not_stop_an_answer():
    assert json.loads(encode({"i\ud800": ["\udfff", ("x",)]})) == {"i\ufffd": ["\ufffd", ["x"]]}


def test_an_id_in_a_sentence_is_quoted_only_where_it_would_hide_text():
    assert plain("RxNorm:3251") == "RxNorm:3251"
    assert plain("a\u202eb\n") == '"a\\u202eb\\n"'
    assert plain("a\ud800") == '"a\ufffd"'
