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
from bfsql.models.comparison import Literal, Moment
from bfsql.models.intervals import CERTAIN_DATE
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
_NUMBER = "^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,2})?$"
"""A number that every store converts to a double."""
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
_LOWER, _UPPER = ("=", ">", ">="), ("=", "<", "<=")
"""Operators with a lower, and with an upper bound."""


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
    operator = condition.operator
    if operator in ("has", "!="):
        return None
    if operator == "~":
        tests = [_contains(one, value) for one in condition.literals]
        tests.append(f"DATATYPE({value}) NOT IN ({_AS_WRITTEN})")
    elif operator == "unlike":
        tests = [_unlike(condition, value), f"DATATYPE({value}) IN ({_BOOLEAN}, {iri(JSON)})"]
    else:
        tests = [_compared(one, operator, value) for one in condition.literals]
        tests.append(f"DATATYPE({value}) = {iri(JSON)}")
    return None if None in tests else " || ".join(dict.fromkeys(filter(None, tests)))


def _contains(literal: Literal, value: str) -> str | None:
    if not literal.text:
        return None
    odd = f"REGEX(STR({value}), {text(_NOT_ASCII)})"
    if not is_ascii_line(literal.text):
        return odd
    return f"CONTAINS(LCASE(STR({value})), {text(literal.text)}) || {odd}"


def _unlike(condition: PropertyCondition, value: str) -> str:
    """A test of the kind of a literal: false only for one that can certainly be compared."""
    alike: dict[str, None] = {}
    for one in condition.literals:
        if one.number is not None:  # which a text of very many digits is not
            alike[f"STRLEN(STR({value})) < 100 && REGEX(STR({value}), {text(_NUMBER)})"] = None
        if one.moment is not None:
            of_date = f"DATATYPE({value}) NOT IN ({_FLOATS})"  # 2004.0 is no year
            alike[f"{of_date} && REGEX(STR({value}), {text(CERTAIN_DATE)})"] = None
        if one.number is None and one.moment is None:
            alike[f"DATATYPE({value}) IN ({_AS_WRITTEN})"] = None
    return f"!({' || '.join(alike)})"


def _compared(literal: Literal, operator: str, value: str) -> str | None:
    tests = []
    if literal.number is not None:
        tests.append(_number_test(literal.number, operator, value))
    if literal.moment is not None:
        tests.append(_date_test(literal.moment, operator, value))
    if not tests:
        tests.append(_text_test(literal.text, operator, value))
    return None if None in tests else " || ".join(filter(None, tests))


def _text_test(folded: str, operator: str, value: str) -> str | None:
    odd = f"REGEX(STR({value}), {text(_ODD_TEXT)})"
    lower, known = f"LCASE(STR({value}))", text(folded)
    if operator == "=":
        test = f"{lower} = {known} || {_accented(folded, value)}" if is_ascii_line(folded) else odd
    elif not is_ascii_line(folded):
        return None
    else:
        # One store orders texts of LCASE, but not those of STR, after all others.
        test = f"STR({lower}) {operator} {known} || {odd}"
    boolean = folded in ("true", "false")
    return f"{test} || DATATYPE({value}) = {_BOOLEAN}" if boolean else test


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


def _number_test(number: float, operator: str, value: str) -> str | None:
    if not abs(number) < _LARGEST:
        return None
    double = f"{_DOUBLE}(STR({value}))"
    margin = max(abs(float(number)) * _ROUNDING, _LEAST)
    bounds = []
    if operator in _LOWER:
        bounds.append(f"{double} >= {_double(number - margin)}")
    if operator in _UPPER:
        bounds.append(f"{double} <= {_double(number + margin)}")
    inside = f"IF(REGEX(STR({value}), {text(_NUMBER)}), {' && '.join(bounds)}, false)"
    return f"{inside} || REGEX(STR({value}), {text(_ODD_NUMBER)})"


def _double(number: float) -> str:
    return f"{text(f'{number:.17e}')}^^{_DOUBLE}"


def _date_test(moment: Moment, operator: str, value: str) -> str:
    """A test of the month of a date, which an offset may shift by a few days."""
    year = int(moment[0])
    first, last = (int(moment[1]), int(moment[1])) if len(moment) > 1 else (1, 12)
    month = f"SUBSTR(STR({value}), 1, 7)"
    bounds = [f"REGEX(STR({value}), {text('^[0-9]{4}(-|$)')})"]
    if operator in _LOWER:
        bounds.append(f"{month} >= {text(_month(year * 12 + first - 2))}")
    if operator in _UPPER:
        bounds.append(f"{month} <= {text(_month(year * 12 + last))}")
    return f"({' && '.join(bounds)}) || REGEX(STR({value}), {text(_ODD_TEXT)})"


def _month(number: int) -> str:
    """A month as text, from the number of months before it; at most one after the year 9999."""
    year, month = divmod(max(0, number), 12)
    return f"{year:04}-{month + 1:02}" if year <= 9_999 else "9999-13"
