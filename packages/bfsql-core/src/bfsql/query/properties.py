"""Properties as arguments name them: in conditions, facets, measures and sort keys.

    condition  = ["no"] scoped | scoped operator value ("|" value)*          (`protocol.md` 32)
    scoped     = [step "."] [scope "."] key
    operator   = one of `OPERATORS`
    facet      = scoped [":" number]                                     (`protocol.md` 37)
    measure    = "count" step | ("min" | "max" | "sum" | "mean") scoped
    sort key   = ["-"] [step "."] (key | number of the answer)

`==` is `=`, `<>` is `!=`, `=<` is `<=`, `=>` is `>=`. Key, scope and values may be quoted. The
scope is the longest known name before a dot; a type takes precedence over a predicate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial
from typing import NamedTuple, get_args

from bfsql.errors import ToolError, bad_value
from bfsql.masking import shorten
from bfsql.models import PathQuery
from bfsql.models.condition import OPERATORS, Condition, Operator, PropertyCondition, ScopedProperty
from bfsql.models.facet import MOST_VALUES, VALUES, Facet, Function, Measure
from bfsql.models.quotation import quoted
from bfsql.query.vocabulary import Names

SPELLINGS: dict[str, Operator] = dict(zip(OPERATORS, OPERATORS, strict=True))
SPELLINGS |= {"==": "=", "<>": "!=", "=<": "<=", "=>": ">="}
"""The operators in all spellings."""

DEGREE, PATHS, DISTINCT, MEASURE = "degree", "paths", "distinct", "measure"
"""The sort keys that are not properties."""

QUOTES = "\"'`"
QUOTED = re.compile(r"((?:\A|[=<>~|\[{(,:])\s*([\"'`]))(.*?)\2", re.DOTALL)
"""A text in quotes, which begin after an operator, a bar, a bracket, a comma or a colon."""

_ALTERNATIVE = re.compile(r"(?s)(\s*+(?:([\"'`]).*?\2[^|]*|(?![\"'`])[^|]*))(\||\Z)")
_PROPERTY = re.compile(r"(?s)(\s*(?:([\"'`]).*?\2)?[^=!<>~]*)([=!<>~]*)(.*)")
_NO = re.compile(r"\s*not?\s+(?=[^\s=!<>~])", re.IGNORECASE)
_BRACKET = re.compile(r"\s*[({]|[^\"'`]*\[")
_JOINED = re.compile(r"(?is)\A(?>.*?\s(?:and|or)\s).*[=<>~]|&&|\|\||,\s*[\w.:-]+\s*[=!<>~]")
_STEP = re.compile(r"\s*([0-9]+)\s*\.")
_STEP_OF_KEY = re.compile(r"\s*+([+-]?)\s*+([0-9]+)\s*+\.\s*+(?=\S)")
_DIRECTION = re.compile(r"(.*\S)\s+(asc|desc)(ending)?", re.IGNORECASE | re.DOTALL)
_MOST = re.compile(r"(.*\S)\s*:\s*([0-9]{1,9})\s*", re.DOTALL)
_MEASURE = re.compile(r"([a-z_]+)(?=[\s(]|\Z)", re.IGNORECASE)
_OF_STEP = re.compile(r"(count|min|max|sum|mean)[\s(]+[0-9].*", re.IGNORECASE | re.DOTALL)
_FUNCTIONS: dict[str, Function] = {one: one for one in get_args(Function)}
_FUNCTIONS |= {"count_distinct": "count", "distinct": "count", "minimum": "min", "maximum": "max"}
_FUNCTIONS |= {"total": "sum", "avg": "mean", "average": "mean"}

_OPERATORS_ARE = f"the operators are {' '.join(OPERATORS)}."
_IN_BRACKETS = (
    'Write each condition in brackets of its own: "Trial[year>=2010][status=a|b][no <-p- TYPE]"; '
    + _OPERATORS_ARE
)
_RIGHT = {
    "where": (
        'Write each condition as a string of its own: "year>=2010", '
        '"Trial.status=terminated|completed", "name~desmo", "no <-tests- Trial"; ' + _OPERATORS_ARE
    ),
    "facets": (
        'Name a property, perhaps with a type, a predicate or a step in front: "year", '
        '"Trial.phase", "2.year", "inhibits.confidence"; "year:100" shows more values.'
    ),
    "measure": (
        'Write "count 2" (the different nodes of step 2), or min, max, sum or mean with a step '
        'and a property: "max 2.year", "mean 1.inhibits.confidence".'
    ),
    "sort_by": (
        "Sort by a property or by degree, with - in front for descending: "
        '"year", "-degree"; with path also by "paths", and by a measure of the call: "-count 1".'
    ),
}
"""What would be right, by argument; in all others conditions stand in brackets."""


def _wrong(argument: str, text: str, why: str) -> ToolError:
    right = _RIGHT.get(argument, _IN_BRACKETS)
    return bad_value(f"{argument}: {quoted(text)} {why}. {right}", argument)


# --- quotes and numbers ---------------------------------------------------------------


def masked(text: str) -> str:
    """A text of the same length, with `_` for each character in quotes."""
    return QUOTED.sub(lambda one: f"{one[1]}{'_' * len(one[3])}{one[2]}", text)


def unquoted(text: str) -> str:
    """A text without outer blanks, and without the quotes around it."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in QUOTES:
        return text[1:-1]
    return text


def alternatives(text: str) -> list[str]:
    """The values between bars outside of quotes, which begin at the beginning of a value."""
    values, place, bar = list[str](), 0, "|"
    while bar:
        found = _ALTERNATIVE.match(text, place)
        if found is None:  # a quote that is never closed opens nothing, and neither do others
            return [part.strip() for part in text.split("|")]
        values.append(found[1].strip())
        place, bar = found.end(), found[3]
    return values


def whole_number(digits: str) -> int:
    """A number of steps: nine digits are more than any, and Python reads at most some thousand."""
    return int(digits.lstrip("0")[:9] or 0)


# --- scopes ---------------------------------------------------------------------------


class _Front(NamedTuple):
    """What a text names before a property, and the text after it."""

    step: int | None
    scope: str | None
    written_scope: str | None
    rest: str


def _front(text: str, names: Names, steps: int | None, wrong: Callable[[str], ToolError]) -> _Front:
    step, found = None, _STEP.match(text)
    if found and (steps is not None or names.known_names.one(found[1]) is None):
        step, text = whole_number(found[1]), text[found.end() :]
        if steps is None:
            raise wrong("names a step of a path, but this call has no path")
        if step > steps:
            raise wrong(_no_step(steps))
    for place, front in reversed([*names.known_names.before(text, ".")]):
        written = unquoted(front)
        if (scope := names.known_names.one(written)) is not None:
            return _Front(step, scope, written, text[place + 1 :])
    return _Front(step, None, None, text)


def _no_step(steps: int) -> str:
    return f"names a step that the path does not have: its steps are 1 to {steps}"


def _scoped(key: str, front: _Front, names: Names, steps: int | None) -> ScopedProperty:
    key, scope = names.key(key, front.scope, steps)
    if scope is None or scope in names.types:
        return ScopedProperty(key, front.step, scope)
    return ScopedProperty(key, front.step, predicate=scope)


def _scoped_property(
    text: str, names: Names, steps: int | None, wrong: Callable[[str], ToolError]
) -> ScopedProperty:
    """A property from its text: `year`, `Trial.year`, `2.year`, `1.inhibits.confidence`."""
    front = _front(text, names, steps, wrong)
    if not (key := unquoted(front.rest)):
        raise wrong("names no property")
    return _scoped(key, front, names, steps)


# --- conditions -----------------------------------------------------------------------


def condition(text: str, names: Names, steps: int | None) -> Condition:
    """A condition from its text.

    Args:
        text: The text as written in a call.
        names: The names that a scope may use.
        steps: The number of steps of the path; None in a call without a path.

    Raises:
        ToolError: The text is not a condition.
    """
    absent, rest = _without_no(text)
    front = _front(rest, names, steps, partial(_wrong, "where", rest))
    rest = f"no {front.rest}" if absent else front.rest
    one = property_condition(rest, "where", whole=text)
    if one.operator == "has" and front.scope is None and front.step is None:
        raise _wrong("where", text, "has no operator")
    of = _scoped(one.key, front, names, steps)
    scopes = of.step, of.type, of.predicate, front.written_scope or of.type or of.predicate
    return Condition(of.key, one.operator, one.values, text, *scopes, of.predicate is not None)


def property_condition(text: str, argument: str, *, whole: str | None = None) -> PropertyCondition:
    """A condition on a property, from its text without a scope.

    Args:
        text: The text, as it stands in brackets.
        argument: The argument of the call that contains it, for errors.
        whole: The text as errors repeat it; None if it is the same.

    Raises:
        ToolError: The text is not a condition.
    """
    wrong = partial(_wrong, argument, whole or text)
    absent, rest = _without_no(text)
    found = _PROPERTY.match(rest)
    assert found is not None
    key, operator, written = found[1].strip(), found[3], found[4]
    if why := _fault(key, operator):
        raise wrong(why)
    if not operator:
        return PropertyCondition(unquoted(key), "lacks" if absent else "has")
    if absent:
        why = "has both no and an operator; != is the opposite of =, and a key with no is quoted"
        raise wrong(why)
    if _JOINED.search(masked(f"={written}")):
        why = 'joins several conditions: all of them hold anyway, and "a|b" is one of two values'
        raise wrong(why)
    values = alternatives(written)
    if "" in values:
        raise wrong(f'has no value after {operator}; empty text is written ""')
    return PropertyCondition(unquoted(key), SPELLINGS[operator], tuple(map(unquoted, values)))


def _fault(key: str, operator: str) -> str | None:
    """What is wrong with a key and the operator after it, if anything."""
    is_unknown = operator not in ("", *SPELLINGS)
    bracket = "has a bracket where a property is named; a name with a bracket is quoted"
    faults = {
        "is empty": not key and not operator,
        "has no operator": not operator and " " in key and key[0] not in QUOTES,
        bracket: _BRACKET.match(key),
        'has half an arrow, but a relation needs a whole one: "-p-> TYPE"': (
            operator.startswith(">") and key.endswith("-")
        ),
        'asks for a regular expression; "name~desmo" finds a part of text': (
            "~" in operator and is_unknown
        ),
        f'has an unknown operator: "{shorten(operator, 80)}"': is_unknown,
        "names no property before the operator": not key,
    }
    return next((why for why, holds in faults.items() if holds), None)


def _without_no(text: str) -> tuple[bool, str]:
    """Whether a text begins with `no`, and the text after it."""
    found = _NO.match(text)
    return (True, text[found.end() :]) if found else (False, text)


# --- facets, measures, sort keys --------------------------------------------------------


def facet(text: str, names: Names, steps: int | None) -> Facet:
    """A facet from its text; arguments and errors as in `condition`."""
    wrong, label, most = partial(_wrong, "facets", text), text.strip(), VALUES
    if found := _MOST.fullmatch(text):
        label, most = found[1].strip(), int(found[2])
        if most > MOST_VALUES:
            raise wrong(f"requests {most} values, and at most {MOST_VALUES:,} are shown")
    return Facet(label, _scoped_property(label, names, steps, wrong), most)


def measure(text: str, names: Names, steps: int) -> Measure:
    """A measure from its text; arguments and errors as in `condition`."""
    wrong, found = partial(_wrong, "measure", text), _MEASURE.match(text.strip())
    function = _FUNCTIONS.get(found[1].casefold()) if found else None
    if found is None or function is None:
        raise wrong("begins with none of count, min, max, sum and mean")
    rest = found.string[found.end() :].lstrip().removeprefix("(")
    rest = rest.strip().removesuffix(")").rstrip()
    if function == "count":
        if not re.fullmatch(r"[0-9]{1,9}", rest):
            raise wrong("counts nodes, and needs the number of a step alone")
        if int(rest) > steps:
            raise wrong(_no_step(steps))
        return Measure(text, function, int(rest))
    of = _scoped_property(rest, names, steps, wrong)
    if of.step is None:
        raise wrong("names no step before its property")
    return Measure(text, function, of.step, of)


def counted_steps(query: PathQuery) -> frozenset[int]:
    """The steps whose different nodes are counted for each shown node of a path's answer."""
    measures = [measure(text, Names((), ()), len(query.path.steps)) for text in query.measure]
    steps = {one.step for one in measures if one.function == "count"}
    return frozenset(steps if query.count_distinct is None else {*steps, query.count_distinct})


class SortBy(NamedTuple):
    """A sort key and its direction."""

    key: str
    """A property, one of the four numbers, or the text of a measure."""
    descending: bool


def sort_by(text: str, counted: Collection[str]) -> SortBy:
    """Parse a `sort_by` argument.

    Args:
        text: `year` or `-year`; `year desc` is also accepted.
        counted: Those of the four numbers that the answer has, and the texts of its measures.

    Raises:
        ToolError: The text names a number that the answer does not have.
    """
    key, descending = text.strip(), False
    if found := _DIRECTION.fullmatch(key):
        key, descending = found[1], found[2].lower() == "desc"
    if key[:1] in "+-":
        key, descending = key[1:].strip(), descending or key[0] == "-"
    if not key:
        raise _wrong("sort_by", text, "names no property")
    known = {" ".join(one.split()): one for one in counted}
    key = known.get(" ".join(key.split()), key)
    if key not in counted and (key in (PATHS, DISTINCT, MEASURE) or _OF_STEP.fullmatch(key)):
        needs = "path" if key == PATHS or PATHS not in counted else "measure"
        raise _wrong("sort_by", text, f"needs {needs}, which this call does not have")
    return SortBy(key, descending)


def sorted_step(text: str) -> tuple[int | None, str]:
    """The step that a sort key names, if any, and the key without it."""
    found = _STEP_OF_KEY.match(text)
    if found is None:
        return None, text
    return whole_number(found[2]), found[1] + text[found.end() :]
