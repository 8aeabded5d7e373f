"""Properties as arguments name them: in conditions, facets, measures and sort keys.

    condition  = ["no"] scoped | scoped operator value ("|" value)*          (`protocol.md` 32)
               | comparison                                              (`bfsql.query.expressions`)
    scoped     = [step "."] [scope "."] key
    operator   = one of `OPERATORS`
    facet      = (scoped | expression) [":" number]                      (`protocol.md` 37)
    measure    = [name "="] ("count" step ("[" condition | step "=" step "]")* | arithmetic of names
               | ("min" | "max" | "sum" | "mean" | "median" | "argmax" | "argmin" | "top" number)
                 (scoped | expression))
    sort key   = ["-"] [step "."] (key | expression | number of the answer)
    field      = key | name "=" expression

`==` is `=`, `<>` is `!=`, `=<` is `<=`, `=>` is `>=`. Key, scope and values may be quoted. The
scope is the longest known name before a dot; a type takes precedence over a predicate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, get_args

from bfsql.errors import ToolError, bad_value
from bfsql.masking import shorten
from bfsql.models import MAX_STEPS, PathQuery
from bfsql.models.condition import OPERATORS, Condition, Operator, PropertyCondition, ScopedProperty
from bfsql.models.expression import Computed, Operation, Part, Tree, base_keys, parts_of, replaced
from bfsql.models.facet import BEST, MOST_BEST, MOST_VALUES, TIES, VALUES, Facet, Function, Measure
from bfsql.models.pattern import StepComparison
from bfsql.models.quotation import listed, quoted
from bfsql.models.spelling import KnownNames
from bfsql.query.expressions import INSIDE, ExpressionReader, comparison, may_compute, whole_key
from bfsql.query.vocabulary import NO_NAMES, Names

SPELLINGS: dict[str, Operator] = dict(zip(OPERATORS, OPERATORS, strict=True))
SPELLINGS |= {"==": "=", "<>": "!=", "=<": "<=", "=>": ">="}
"""The operators in all spellings."""

DEGREE, PATHS, DISTINCT, MEASURE = "degree", "paths", "distinct", "measure"
"""The sort keys that are not properties."""

RESERVED = (DEGREE, PATHS, DISTINCT, MEASURE, "name", "id")
"""What a call may not call an expression or a measure, besides the names of the graph."""

QUOTES = "\"'`"
QUOTED = re.compile(rf"((?:\A|[=<>~|\[{{(,:])\s*([\"'`]))({INSIDE})\2")
"""A text in quotes, which begin after an operator, a bar, a bracket, a comma or a colon."""

_ALTERNATIVE = re.compile(rf"(\s*+(?:([\"'`]){INSIDE}\2[^|]*|(?![\"'`])[^|]*))(\||\Z)")
_PROPERTY = re.compile(rf"(?s)(\s*(?:([\"'`]){INSIDE}\2)?[^=!<>~]*)([=!<>~]*)(.*)")
_NO = re.compile(r"\s*not?\s+(?=[^\s=!<>~])", re.IGNORECASE)
_BRACKET = re.compile(r"\s*[({]|[^\"'`]*\[")
_JOINED = re.compile(r"(?is)\A(?>.*?\s(?:and|or)\s).*[=<>~]|&&|\|\||,\s*[\w.:-]+\s*[=!<>~]")
_STEP = re.compile(r"\s*([0-9]+)\s*\.")
_STEPS = re.compile(r"\s*([0-9]{1,9})\s*([=!<>]=?|<>|=[<>])\s*([0-9]{1,9})\s*")
_STEP_OF_KEY = re.compile(r"\s*+([+-]?)\s*+([0-9]+)\s*+\.\s*+(?=\S)")
_DIRECTION = re.compile(r"(.*\S)\s+(asc|desc)(ending)?", re.IGNORECASE | re.DOTALL)
_MOST = re.compile(r"(.*\S)\s*:\s*([0-9]{1,9})\s*", re.DOTALL)
_GIVEN_NAME = re.compile(r"\s*([^\W\d]\w*)\s*=(?![=>])\s*")
_MEASURE = re.compile(r"([a-z_]+)(?=[\s(]|\Z)", re.IGNORECASE)
_TOP = re.compile(r"([0-9]{1,9})[\s,]+(?=\S)")
_OF_STEP = re.compile(rf"({'|'.join(get_args(Function))})[\s(]+[0-9].*", re.IGNORECASE | re.DOTALL)
_FUNCTIONS: dict[str, Function] = {one: one for one in get_args(Function) if one != "computed"}
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
    "fields": 'Name properties or expressions: "volume = w * h", of walks "gap = 2.year - 1.year".',
    "measure": (
        'Write "count 2" (the different nodes of step 2), or min, max, sum, mean or median with a '
        'step and a property: "max 2.year", "mean 1.inhibits.confidence"; "argmax 2.year" is the '
        'node with the largest value, "top 3 2.year" the three with the largest.'
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
    """A text without outer blanks and the quotes around it, or the text of a JSON string."""
    text = text.strip()
    if text[:1] == '"' and '\\"' in text:
        with suppress(ValueError):
            return str(json.loads(text))
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
    if front.scope is None and key in names.computed:
        return ScopedProperty(names.computed[key], front.step)
    return _scoped(key, front, names, steps)


def _property(
    text: str, names: Names, steps: int | None, wrong: Callable[[str], ToolError]
) -> ScopedProperty:
    """A property, or an expression about the same nodes or edges, from its text."""
    tree = _tree(text, names, steps, wrong)
    if tree is None:
        return _scoped_property(text, names, steps, wrong)
    return _of_one_place(text, tree, wrong)


def _tree(
    text: str, names: Names, steps: int | None, wrong: Callable[[str], ToolError]
) -> Operation | None:
    """The expression that a text is; None if it names a property."""
    if not may_compute(text):
        return None
    part = partial(_part, names, steps, wrong)
    reader = ExpressionReader(text, part, wrong)
    try:
        tree = reader.whole()
    except ToolError:
        if reader.is_certain:
            raise
        return None
    if not isinstance(tree, Operation) or whole_key(text, part, names.keys):
        return None
    _check_keys(tree, names.keys, names.of_nodes, wrong)
    return tree


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
    if not absent and (tree := compared_properties(text, names, steps)):
        of = _of_one_place(text, tree, partial(_wrong, "where", text))
        scopes = of.step, of.type, of.predicate, of.scope
        edges = of.predicate is not None
        return Condition(of.key, "=", ("true",), text, *scopes, edges)
    front = _front(rest, names, steps, partial(_wrong, "where", rest))
    rest = f"no {front.rest}" if absent else front.rest
    one = property_condition(rest, "where", whole=text)
    if one.operator == "has" and front.scope is None and front.step is None:
        raise _wrong("where", text, "has no operator")
    of = _scoped(one.key, front, names, steps)
    if front.scope is None and one.key in names.computed:
        of = ScopedProperty(names.computed[one.key], front.step)
    scopes = of.step, of.type, of.predicate, front.written_scope or of.type or of.predicate
    return Condition(of.key, one.operator, one.values, text, *scopes, of.predicate is not None)


def compared_properties(text: str, names: Names, steps: int | None) -> Operation | None:
    """The comparison that a condition of `where` is, if one of its sides is computed.

    Arguments and errors are those of `condition`.
    """
    wrong = partial(_wrong, "where", text)
    part = partial(_part, names, steps, wrong)
    tree = _comparison(text, part, wrong, names.keys, steps=steps is not None)
    if tree and steps is not None:  # without a path, edges are meant as well
        _check_keys(tree, names.keys, names.of_nodes, wrong)
    return tree


def _comparison(
    text: str,
    part: Callable[[str], Tree],
    wrong: Callable[[str], ToolError],
    keys: Collection[str] | None,
    *,
    steps: bool = False,
) -> Operation | None:
    if not may_compute(text):
        return None
    if (found := comparison(text, part, wrong, alternatives, keys, steps=steps)) is None:
        return None
    if why := _fault("key", found.operator):
        raise wrong(why)
    return Operation(SPELLINGS[found.operator], (found.left, *found.rights))


def _own_part(written: str) -> Part:
    """The property of the node or the edge itself that a name stands for."""
    return Part(unquoted(written.removeprefix(".").strip()))


def _check_keys(
    tree: Tree,
    keys: Collection[str] | None,
    others: Collection[str],
    wrong: Callable[[str], ToolError],
) -> None:
    """Raise an error if an expression names neither a known key nor one of the others."""
    if keys is None:
        return
    for part in parts_of(tree):
        if part.predicate is None and part.key not in keys and part.key not in others:
            near = [same[0] for same in KnownNames(keys).nearest(part.key)]
            advice = f"; the nearest: {listed(near)}" if near else ""
            raise wrong(f"names the property {quoted(part.key)}, which no node has{advice}")


def _part(names: Names, steps: int | None, wrong: Callable[[str], ToolError], written: str) -> Tree:
    """The property that a name with its scopes stands for, or the expression of that name."""
    of = _scoped_property(written.removeprefix("."), names, steps, wrong)
    if isinstance(of.key, Computed):
        return replaced(of.key.tree, lambda part: part._replace(step=of.step))
    return Part(of.key, of.step, of.predicate, of.type)


def _of_one_place(text: str, tree: Tree, wrong: Callable[[str], ToolError]) -> ScopedProperty:
    """The computed property that an expression about the same nodes or edges is."""
    parts = set(parts_of(tree))
    types = {part.type for part in parts if part.type is not None}
    if not parts:
        raise wrong("names no property")
    if len({part.place for part in parts}) > 1 or len(types) > 1:
        raise wrong(
            "is about several nodes or edges. With a path, give each property its step in front, "
            'such as "2.year - 1.year > 5"; without one, name properties of the same node'
        )
    step, predicate = next(iter(parts)).place
    own = replaced(tree, lambda part: Part(part.key))
    return ScopedProperty(Computed(text, own), step, next(iter(types), None), predicate)


def property_condition(
    text: str,
    argument: str,
    *,
    whole: str | None = None,
    keys: Collection[str] | None = None,
    names: Collection[str] = ("name", "id"),
) -> PropertyCondition:
    """A condition on a property, from its text without a scope.

    Args:
        text: The text, as it stands in brackets.
        argument: The argument of the call that contains it, for errors.
        whole: The text as errors repeat it; None if it is the same.
        keys: The keys of nodes; None if they are not known, or it is about edges.
        names: What expressions may name besides these.

    Raises:
        ToolError: The text is not a condition.
    """
    wrong = partial(_wrong, argument, whole or text)
    absent, rest = _without_no(text)
    if not absent and (tree := _comparison(rest, _own_part, wrong, keys)):
        _check_keys(tree, keys, names, wrong)
        return PropertyCondition(Computed(text, tree), "=", ("true",))
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
    return Facet(label, _property(label, names, steps, wrong), most)


def measures(texts: Sequence[str], names: Names, steps: int) -> list[Measure]:
    """The measures of a call from their texts; arguments and errors as in `condition`."""
    found: list[Measure] = []
    for text in texts:
        found.append(_measure(text, names, steps, [one.name for one in found if one.name]))
    return found


def measure_label(text: str) -> str:
    """What heads the column of a measure."""
    found = _GIVEN_NAME.match(text)
    return found[1] if found else text


def _measure(text: str, names: Names, steps: int, before: Sequence[str]) -> Measure:
    """A measure from its text; `before` are the names of those before it."""
    wrong, name, written = partial(_wrong, "measure", text), "", text.strip()
    if given := _GIVEN_NAME.match(text):
        name, written = given[1], text[given.end() :].strip()
    found = _MEASURE.match(written)
    function = _FUNCTIONS.get(found[1].casefold()) if found else None
    if found is None or function is None or found[1] in before:
        if not name:
            *others, last = [one for one in get_args(Function) if one != "computed"]
            raise wrong(f"begins with none of {', '.join(others)} and {last}")
        return _of_measures(text, name, written, before, wrong)
    rest = written[found.end() :].strip()
    if function == "count":
        return _count(text, name, rest, names, steps, wrong)
    most = TIES
    if function == "top":
        top = _TOP.match(rest.removeprefix("("))
        most, rest = (int(top[1]), top.string[top.end() :]) if top else (0, rest)
        if not 1 <= most <= MOST_BEST:
            raise wrong(f'needs a number from 1 to {MOST_BEST} before its property: "top 3 1.year"')
    of, expression = _measured(rest, names, steps, wrong)
    if of is None and function in BEST:
        raise wrong("names nodes, and takes properties of one step alone")
    every = (of,) if of is not None else expression.parts if expression else ()
    step = max(one.step or 0 for one in every)
    return Measure(text, function, step, of, most, expression, name=name)


def _measured(
    text: str, names: Names, steps: int, wrong: Callable[[str], ToolError]
) -> tuple[ScopedProperty | None, Computed | None]:
    """What a measure is about: one step, or an expression over two, or over one and its edges."""
    if text.startswith("(") and not may_compute(text[1:]):
        text = text.removeprefix("(").strip().removesuffix(")").rstrip()
    tree = _tree(text, names, steps, wrong)
    parts = set(parts_of(tree)) if tree else set()
    if tree is None or len({part.place for part in parts}) < 2:
        of = _property(text, names, steps, wrong)
        if of.step is None:
            raise wrong("names no step before its property")
        return of, None
    of_steps = {part.step for part in parts}
    if None in of_steps or len(of_steps) > 2 or any(part.type for part in parts):
        raise wrong("takes properties of one or two steps, each with its step in front")
    if any(part.predicate and not part.step for part in parts):
        raise wrong("names edges of step 0, to which none leads")
    return None, Computed(text, tree)


def _of_measures(
    text: str, name: str, written: str, before: Sequence[str], wrong: Callable[[str], ToolError]
) -> Measure:
    def part(one: str) -> Part:
        if unquoted(one) not in before:
            known = listed(before) if before else "there is none"
            raise wrong(f"names {quoted(one)}, no function and no measure before it ({known})")
        return Part(unquoted(one))

    tree = ExpressionReader(written, part, wrong).whole()
    return Measure(text, "computed", 0, expression=Computed(written, tree), name=name)


def _count(  # noqa: PLR0917 - a measure in its parts
    text: str, name: str, rest: str, names: Names, steps: int, wrong: Callable[[str], ToolError]
) -> Measure:
    rest = rest.removeprefix("(").strip()
    found = re.match(r"[0-9]{1,9}", rest)
    inside = rest[found.end() :].strip() if found else rest
    brackets = re.fullmatch(r"(\[.*\])?\s*\)?", inside, re.DOTALL)
    if found is None or brackets is None:
        raise wrong("counts nodes, and needs the number of a step, perhaps with conditions on them")
    if int(found[0]) > steps:
        raise wrong(_no_step(steps))
    own = re.split(r"\]\s*\[", brackets[1][1:-1]) if brackets[1] else ()
    read = partial(property_condition, argument="measure", whole=text, keys=names.keys)
    conditions = [compared_steps(one, wrong) or read(one) for one in own]
    compared = [one for one in conditions if isinstance(one, StepComparison)]
    if len(compared) > 1 or any(not steps >= one.step != one.other <= steps for one in compared):
        raise wrong(f"takes one comparison, of two different steps from 0 (the seeds) to {steps}")
    return Measure(text, "count", int(found[0]), conditions=tuple(conditions), name=name)


def compared_steps(text: str, wrong: Callable[[str], ToolError]) -> StepComparison | None:
    """The comparison of the nodes of two steps that a condition is, if it is one."""
    if (found := _STEPS.fullmatch(text)) is None:
        return None
    if (sign := SPELLINGS.get(found[2])) not in ("=", "!="):
        raise wrong(f"compares by {found[2]}, and steps have only = and !=")
    return StepComparison(text, int(found[1]), int(found[3]), equal=sign == "=")


def on_measures(texts: Sequence[str], named: Sequence[str]) -> dict[str, PropertyCondition]:
    """By text: those of the conditions of `where` that are about measures with a name.

    Raises:
        ToolError: A condition is about measures and about properties.
    """
    found: dict[str, PropertyCondition] = {}
    for text in texts if named else ():
        with suppress(ToolError):
            one = property_condition(text, "where")
            if not base_keys({one.key}).isdisjoint(named):
                found[text] = one
    for text, one in found.items():
        if others := base_keys({one.key}).difference(named):
            why = f"is about measures, and {listed(sorted(others))} is none of this call"
            raise _wrong("where", text, why)
    return found


def computed_fields(
    fields: Sequence[str], steps: int | None = None, names: Names = NO_NAMES
) -> dict[str, Computed]:
    """By name: the expressions that `fields` gives one; each is about a node itself.

    With `steps`, the number of those of the path or 0, each is about the nodes of steps instead.

    Raises:
        ToolError: An expression cannot be read, or names a property that is not among `names`.
    """
    found: dict[str, Computed] = {}
    for text in fields:
        if (given := _GIVEN_NAME.match(text)) is None:
            continue
        wrong, name = partial(_wrong, "fields", text), given[1]
        part = partial(_part, NO_NAMES, steps or MAX_STEPS, wrong)
        tree = ExpressionReader(text[given.end() :].strip(), part, wrong).whole()
        own = {one.step for one in parts_of(tree)}
        if not own:
            raise wrong("names no property")
        if own != {None} and (None in own or isinstance(tree, Part)):
            raise wrong("needs an operator, and a step before each property if before one")
        _check_keys(tree, names.keys, names.of_nodes, wrong)
        if (None in own) == (steps is None):
            found[name] = Computed(text, tree)
    return found


def counted_steps(query: PathQuery) -> frozenset[int]:
    """The steps whose different nodes are counted for each shown node of a path's answer."""
    own = measures(query.measure, NO_NAMES, len(query.path.steps))
    steps = {one.step for one in own if one.function == "count" and not one.conditions}
    return frozenset(steps if query.count_distinct is None else {*steps, query.count_distinct})


class SortBy(NamedTuple):
    """A sort key and its direction."""

    key: str
    """A property, one of the four numbers, or the text of a measure."""
    descending: bool


def sort_by(text: str, counted: Collection[str], names: Names, step: int | None) -> SortBy:
    """Parse a `sort_by` argument.

    Args:
        text: `year` or `-year`; `year desc` is also accepted.
        counted: Those of the four numbers that the answer has, and the labels of its measures.
        names: What an expression may name.
        step: The step whose nodes are sorted; None in a call without a path.

    Raises:
        ToolError: The text names a number that the answer does not have, or an expression cannot
            be read, or is about other nodes.
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
    if key in names.computed:
        return SortBy(names.computed[key], descending)
    steps = None if step is None else MAX_STEPS
    if key not in counted and (tree := _tree(key, names, steps, partial(_wrong, "sort_by", text))):
        of = _of_one_place(key, tree, partial(_wrong, "sort_by", text))
        if of.predicate is not None or of.step not in (None, step):
            raise _wrong("sort_by", text, f"is not about the nodes that are sorted, step {step}")
        return SortBy(of.key, descending)
    return SortBy(key, descending)


def sorted_step(text: str) -> tuple[int | None, str]:
    """The step that a sort key names, if any, and the key without it."""
    found = _STEP_OF_KEY.match(text)
    if found is None:
        return None, text
    return whole_number(found[2]), found[1] + text[found.end() :]
