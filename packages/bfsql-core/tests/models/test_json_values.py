"""Metadata as JSON text."""

import json
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bfsql.models.json_values import encode

TEXTS = st.text()
NUMBERS = st.one_of(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1 << 63, -(1 << 63), 1e-4, 9.99e-5, 1e15, 1e16, -0.0, 0.1 + 0.2]),
)
VALUES = st.one_of(TEXTS, NUMBERS, st.booleans(), st.none(), st.lists(TEXTS), st.lists(NUMBERS))


@given(st.dictionaries(TEXTS, VALUES))
@example({"every character": "".join(map(chr, [*range(0xD800), *range(0xE000, 0x11000)]))})
def test_metadata_is_written_as_json_writes_it(metadata):
    wanted = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
    assert encode(metadata) == wanted
    assert encode([metadata]) == f"[{wanted}]"


@pytest.mark.parametrize("odd", ["\ud800", "a\udfffb"])
def test_a_lone_surrogate_is_written_as_an_escape(odd):
    for metadata in ({"a": odd}, {odd: 1}, {"a": [odd]}):
        assert encode(metadata).isascii()
        assert json.loads(encode(metadata)) == metadata


def test_an_integer_of_more_digits_than_python_writes_is_hexadecimal():
    large = 10 ** (sys.get_int_max_str_digits() + 1)
    assert encode({"n": large}) == f'{{"n":"{large:#x}"}}'
