"""Values of properties, and values of conditions, that stores are likely to compare wrongly."""

from collections.abc import Sequence
from typing import Any

from bfsql.models import GraphRecord, NodeRecord
from bfsql.models.condition import Operator, PropertyCondition

INJECTIONS = ["'; DROP TABLE x; --", '" } SERVICE <http://evil.example/> { ?s ?p ?o } #']
NUMBERS: list[Any] = [
    0, -1, 7, 2004, 2**53 + 1, 10**17 + 1, 10**30, 10**350, 0.1, 1.5, 15.0, 1e22, 1e-7, -0.0,
    5e-324,
]  # fmt: skip
TEXTS = [
    "", " ", "a", "A", "abc", " Abc ", "a\x07bc", "abc\n", "ABC d", "Ünal", "unal", "\u017f",
    "K", "ß", "straße", "STRASSE", "ﬁx", "fix", "Å", "İ", "I", "i", "x\u00ad", "\u00a012", "[",
    "[1]", "{}", '{"a": 1}', "true", "TRUE", "null", "NaN", "Infinity", "%", "_", "\\", "a'b", "$1",
    *INJECTIONS, "12", " 12 ", "12.", ".5", "+5", "1e400", "1e-400", "1e5", "e",
    "0.1000000000000000055511", "١٢", "\U0001d7cf2", "12 apples", "9" * 30, "1" * 400, "1" * 401,
    "1-2", "1.2.3", "-", ".", "-.", "5-", "+", "2004", "2004 ", "2004-05", "2004-05-06",
    "2004-05-06T00:30+02:00", "2004-12-31 23:30-02:00", "2005-01-01t00:30:00+99:59",
    "2004-05-06T10:20", "2004-05-06T10:20:30.5Z", "2004-13-01", "0001-01-01", "9999-12-31", "0000",
    "2004-01-01", "x" * 201, "x" * 200 + "y", "x" * 3000, "\u2028", "a\tb", "1.5", "15.0",
]  # fmt: skip
VALUES: list[Any] = [
    *NUMBERS, *TEXTS, True, False, [], ["abc", 12], [["a"], None], [1.5, "2004-05-06"],
    {"a": 1}, {}, ["ÜNAL"],
]  # fmt: skip
NOT_UNICODE: list[Any] = ["a\0b", "\ud800abc", ["\u0000"]]
"""Values that only some stores hold."""
LITERALS = [
    "", "abc", "ABC D", "ünal", "ss", "STRASSE", "fix", "k", "s", "i", "a", "e", "[1]", '{"a": 1}',
    "true", "false", "infinity", "nan", "%", *INJECTIONS, "\\", "'", "\ud800", "a\0b", "x" * 201,
    "1" * 401, "1e400", "12", ".5", "0", "-1", "15.0", "1.50", "0.1", "1e22", "10000000000000001",
    "9" * 30, "1" * 350, "142", "2003", "2004", "2005", "2004-04", "2004-05", "2004-05-06",
    "2004-12-31", "2005-01-01", "2004-05-06T10:20", "2004-05-06T10:20:30.25",
    "2004-12-31T23:00-02:00", "0001-01-01", "9999-12-31", "z", "λ",
]  # fmt: skip
OPERATORS: tuple[Operator, ...] = ("=", "!=", "<", "<=", ">", ">=", "~", "unlike", "has", "lacks")


def every_condition(key: str, literals: Sequence[str] = LITERALS) -> list[PropertyCondition]:
    """A condition for each operator and literal, and some with several literals."""
    of_literals = [
        PropertyCondition(key, operator, (literal,))
        for operator in ("=", "<", ">", ">=", "~", "unlike")
        for literal in literals
    ]
    several = [
        PropertyCondition(key, operator, ("abc", "12", "2004-05")) for operator in OPERATORS[:-2]
    ]
    return [*of_literals, *several, *(PropertyCondition(key, one) for one in OPERATORS[-2:])]


def nodes_of(values: Sequence[Any]) -> list[GraphRecord]:
    """A node for each value, under several keys."""
    return [
        NodeRecord(f"n{i}", "TU"[i % 2], {"x": value, "name": value, "synonyms": value})
        for i, value in enumerate(values)
    ]
