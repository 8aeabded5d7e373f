"""Answers in GraphBinary, whatever bytes a server sends."""

from hypothesis import given
from hypothesis import strategies as st

from bfsql.answers.clean import clean, encode
from bfsql_gremlin.serialization import serializer
from bfsql_gremlin.values import from_driver

HEADER = b"\x81\x01" + (200).to_bytes(4) + b"\x01" + bytes(8)
"""An answer without an id and with status 200, before its value."""
small = st.integers(0, 40).map(lambda n: n.to_bytes(4))
parts = st.one_of(st.binary(max_size=8), small, st.integers(0, 60).map(lambda n: bytes((n, 0))))


@given(st.lists(parts, max_size=20).map(b"".join))
def test_any_bytes_are_a_value_that_can_be_shown_or_are_refused(value):
    read = serializer("graphbinary").deserialize_message
    try:
        data = read(HEADER + value)["result"]["data"]
    except Exception:  # noqa: BLE001 - the connection reports it, of whatever kind it is
        return
    assert encode(clean(from_driver(data), "k"))
