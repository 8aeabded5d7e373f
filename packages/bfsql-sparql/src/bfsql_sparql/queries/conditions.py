"""Query text for conditions on properties, which narrows a listing of nodes (`protocol.md` 34).

A test is true for every literal that meets its condition, and may be true for others: core compares
the property again. Stores fold no accents, so a literal with a character other than printable
ASCII is a candidate for any condition on text, and so is every literal that contains JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bfsql.models.characters import is_ascii_line
from bfsql.models.intervals import CERTAIN_DATE, CERTAIN_NUMBER, Interval, Intervals, date_texts
from bfsql.models.rdf import JSON, WELL_KNOWN
from bfsql_sparql.queries.graph import iri, language_terms, of_any, text

if TYPE_CHECKING:
    from bfsql.models import PropertyCondition
    from bfsql_sparql.mapping import RdfMapping

_XSD = WELL_KNOWN["xsd"]
_BOOLEAN, _DOUBLE = iri(f"{_XSD}boolean"), iri(f"{_XSD}double")
_FLOATS = ", ".join(iri(_XSD + name) for name in ("double", "float", "decimal"))
_AS_WRITTEN = ", ".join(
    (
        *(iri(_XSD + name) for name in ("string", "date", "dateTime")),
        iri(f"{WELL_KNOWN['rdf']}langString"),
    )
)
"""Datatypes whose values are the texts of their literals."""

_NOT_ASCII = "[^ -~]"
"""Text that stores fold in another way."""
_ODD_TEXT = f"{_NOT_ASCII}|^ | $"
"""Text that differs from its folded form by more than the case of ASCII letters."""
_ODD_NUMBER = "^ |[^!-~]$|^[-+0-9.eE]*(_|[^ -~])|^[-+0-9.eE]{18,}$|[0-9.][eE][-+]?[0-9]{3}"
"""Text that may be a number but is not such a one, or that has more digits than a double."""
_SPECIAL = re.compile(r"[.*+?^${}()|\[\]\\]")
"""Characters of regular expressions that are not letters there."""
_COMPARED = 20
"""Characters at either end of a text that are compared with those of one that is not ASCII."""
_LARGEST = 1e300
_ROUNDING = 1e-6
"""The relative error of a number of the type float, which some stores print as a double."""

ABSENT = "FILTER NOT EXISTS"
"""The beginning of a filter that finds no nodes by itself."""

_LEAST = 1e-300
"""More than 0, since some stores order -0.0 before 0."""


def comparison(
    condition: PropertyCondition, names: Iterable[str], value: str, mapping: RdfMapping
) -> str:
    """A pattern for the nodes `?s` that may meet a condition.

    Args:
        condition: Any but `lacks`.
        names: The properties that the value may come from, as IRIs.
        value: Name of the variable for the literal, unique to each pattern.
        mapping: How to read triples.
    """
    found = of_any("s", names, value, mapping)
    test = _test(condition, f"?{value}")
    return f"{found} FILTER(isLiteral(?{value}){'' if test is None else f' && ({test})'})"


def absence(name: str, value: str, mapping: RdfMapping) -> str:
    """A filter for the nodes `?s` that may lack a property; a literal of JSON may be `null`."""
    present = f"isLiteral(?{value}) && DATATYPE(?{value}) != {iri(JSON)}"
    return f"{ABSENT} {{ {of_any('s', (name,), value, mapping)} FILTER({present}) }}"


def few_spellings(
    condition: PropertyCondition, names: Iterable[str], value: str, mapping: RdfMapping
) -> str:
    """A pattern for the nodes with a value in one of a few spellings, which an index finds.

    The spellings are those of the condition, as written and in lower, upper and title case.
    """
    terms: dict[str, None] = {}
    for written, literal in zip(condition.values, condition.literals, strict=True):
        cases = (written, written.lower(), written.upper(), written.title())
        for one in cases:
            terms |= dict.fromkeys(language_terms(one, mapping))
        if literal.number is not None:
            kinds = ("integer", "decimal", "double")
            terms |= dict.fromkeys(f"{text(written)}^^{iri(_XSD + kind)}" for kind in kinds)
        if literal.text in ("true", "false"):
            terms[f"{text(literal.text)}^^{_BOOLEAN}"] = None
    return f"VALUES ?{value} {{ {' '.join(terms)} }} {of_any('s', names, value, mapping)}"


def _test(condition: PropertyCondition, value: str) -> str | None:
    """What a literal has to meet; None if any may meet the condition."""
    intervals = condition.intervals
    if intervals is not None and condition.operator == "unlike":
        return f"{_unlike(intervals, value)} || DATATYPE({value}) IN ({_BOOLEAN}, {iri(JSON)})"
    if intervals is None or condition.is_negated:
        return None
    tests = [_contains(one, value) for one in intervals.parts]
    tests += [_text_test(one, value) for one in intervals.texts]
    tests += [_number_test(one, value) for one in intervals.numbers]
    tests += [_date_test(one, value) for one in intervals.moments]
    tests += [f"DATATYPE({value}) = {_BOOLEAN}"] * bool(intervals.flags)
    of_kind = f"NOT IN ({_AS_WRITTEN})" if intervals.parts else f"= {iri(JSON)}"
    tests.append(f"DATATYPE({value}) {of_kind}")
    return None if None in tests else " || ".join(dict.fromkeys(filter(None, tests)))


def _contains(part: str, value: str) -> str | None:
    if not part:
        return None
    odd = f"REGEX(STR({value}), {text(_NOT_ASCII)})"
    if not is_ascii_line(part):
        return odd
    return f"CONTAINS(LCASE(STR({value})), {text(part)}) || {odd}"


def _unlike(alike: Intervals, value: str) -> str:
    """A test of the kind of a literal: false only for one that can certainly be compared."""
    tests = []
    if alike.numbers:  # which a text of very many digits is not
        tests.append(f"STRLEN(STR({value})) < 100 && REGEX(STR({value}), {text(CERTAIN_NUMBER)})")
    if alike.moments:  # 2004.0 is no year
        of_date = f"DATATYPE({value}) NOT IN ({_FLOATS})"
        tests.append(f"{of_date} && REGEX(STR({value}), {text(CERTAIN_DATE)})")
    if alike.texts:
        tests.append(f"DATATYPE({value}) IN ({_AS_WRITTEN})")
    return f"!({' || '.join(tests)})"


def _text_test(texts: Interval, value: str) -> str | None:
    odd = f"REGEX(STR({value}), {text(_ODD_TEXT)})"
    is_ascii, lower = all(map(is_ascii_line, texts.ends)), f"LCASE(STR({value}))"
    if texts.is_point:
        is_equal = f"{lower} = {text(texts.low)}"
        return f"{is_equal} || {_accented(texts.low, value)}" if is_ascii else odd
    # One store orders texts of LCASE, but not those of STR, after all others.
    return f"{texts.test(f'STR({lower})', text)} || {odd}" if is_ascii else None


def _accented(folded: str, value: str) -> str:
    """A test of a text that is not ASCII, or has outer spaces: it may be another spelling.

    What is ASCII before its first other character begins the folded text, and what is ASCII after
    the last one ends it, because each ASCII letter folds to itself.
    """
    letters = [_SPECIAL.sub(r"\\\g<0>", letter) for letter in folded]
    begin, end = ("[ -~]*" if len(letters) > _COMPARED else "",) * 2
    for letter in reversed(letters[:_COMPARED]):
        begin = f"({letter}{begin})?"
    for letter in letters[-_COMPARED:]:
        end = f"({end}{letter})?"
    begins, ends = f"^ *{begin} *{_NOT_ASCII}", f"{_NOT_ASCII} *{end} *$"
    both = " && ".join(f"REGEX(LCASE(STR({value})), {text(one)})" for one in (begins, ends))
    # One store finds nothing by the expression "^ | $".
    spaces = f'STRSTARTS(STR({value}), " ") || STRENDS(STR({value}), " ")'
    return f"{spaces} || ({both})"


def _number_test(numbers: Interval, value: str) -> str | None:
    if not all(abs(one) < _LARGEST for one in numbers.ends):
        return None
    around = numbers.map(lambda low: low - _margin(low), lambda high: high + _margin(high))
    inside = around.test(f"{_DOUBLE}(STR({value}))", _double, " && ")
    of_number = f"IF(REGEX(STR({value}), {text(CERTAIN_NUMBER)}), {inside}, false)"
    return f"{of_number} || REGEX(STR({value}), {text(_ODD_NUMBER)})"


def _margin(number: float) -> float:
    return max(abs(float(number)) * _ROUNDING, _LEAST)


def _double(number: float) -> str:
    return f"{text(f'{number:.17e}')}^^{_DOUBLE}"


def _date_test(dates: Interval, value: str) -> str:
    day = date_texts(dates).test(f"SUBSTR(STR({value}), 1, 10)", text, " && ")
    is_date = f"REGEX(STR({value}), {text('^[0-9]{4}(-|$)')})"
    return f"({is_date} && {day}) || REGEX(STR({value}), {text(_ODD_TEXT)})"
