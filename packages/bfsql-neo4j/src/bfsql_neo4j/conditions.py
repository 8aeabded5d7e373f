"""Conditions on properties in Cypher, decided in three values (`protocol.md` 34).

The server decides a condition where its functions certainly agree with
`PropertyCondition.holds`, and answers null where they may not: text with characters outside of
ASCII, which `holds` folds; numbers of more than 53 bits; times; values written as JSON text. These
nodes come with their properties, and `holds` decides. Cypher's AND, OR, NOT and any() keep null
apart from true and false, and its comparisons of values of different types are null, not errors.

Some conditions also have a cheap expression that is false only for nodes that cannot meet it, and
is compared first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from bfsql.models import PropertyCondition
from bfsql.models.comparison import Moment
from bfsql.models.intervals import Interval, Intervals
from bfsql.models.json_properties import SUFFIX
from bfsql.models.json_values import is_text
from bfsql_neo4j.cypher import NodeFilter, quoted
from bfsql_neo4j.schema import GraphSchema
from bfsql_neo4j.values import DOCUMENTS, can_name

OTHER_TYPES = "other_types"
"""The key of the labels of a node besides its type."""

_DAY_PARTS = 3

# Text of these characters is folded by toLower() and trim().
_PLAIN = r"'[ -~\\t\\n]*'"
_DECIMAL = "'-?[0-9]{1,15}([.][0-9]{1,15})?'"
_LIKE_A_NUMBER = r"'(?s)\\s*[-+.0-9].*'"
# A day that every month has, perhaps with a time that has no offset from UTC.
_DAY = (
    "'(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"
    "(T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?Z?)?'"
)


def node_filter(
    schema: GraphSchema, conditions: Sequence[PropertyCondition], shown: Collection[str]
) -> NodeFilter:
    """All conditions as one filter.

    Args:
        schema: The schema of the graph.
        conditions: The conditions.
        shown: The id properties that are metadata, too, because they are names.
    """
    each = [_Condition(schema, one, shown, at) for at, one in enumerate(conditions)]
    clauses, bound = "", ["n"]
    for one in each:
        if one.binding:
            kept = f" WHERE {one.filter}" if one.filter else ""
            clauses += f"WITH {', '.join([*bound, one.binding])}{kept} "
            bound.append(one.value)
    return NodeFilter(
        clauses,
        " AND ".join(f"({one.verdict})" for one in each) or "true",
        {name: value for one in each for name, value in one.parameters.items()},
    )


class _Condition:
    """A condition in Cypher, with the parts of a `NodeFilter`."""

    def __init__(
        self, schema: GraphSchema, condition: PropertyCondition, shown: Collection[str], number: int
    ) -> None:
        self._condition, self._intervals = condition, condition.intervals or Intervals()
        self._prefix = f"p{number}_"
        self.value = f"v{number}"
        self.binding = ""
        self.filter, self.verdict = "", "null"
        self.parameters: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        key = condition.key
        is_stored = can_name(key) and not key.endswith(SUFFIX) and key != DOCUMENTS
        is_decidable = condition.intervals or condition.operator in ("has", "lacks")
        is_decidable = is_stored and is_decidable and schema.dialect.procedures
        if not (is_decidable and all(map(is_text, condition.values))):
            return
        value, json = f"n.{quoted(key)}", f"n.{quoted(key + SUFFIX)}"
        if key == OTHER_TYPES:
            # The type itself is a label, too.
            if condition.intervals and not condition.is_negated:
                every = self._of_items(f"labels(n) + coalesce([] + {value}, [])")
                self.verdict = f"CASE WHEN {json} IS NULL THEN {every} AND null END"
            return
        self.binding = f"{value} AS {self.value}"
        is_id = key in schema.every_id_property  # JSON text beside an id is the metadata
        decided = self._decided(json, is_id=is_id, is_hidden=is_id and key not in shown)
        self.verdict = f"NOT ({decided})" if condition.operator == "lacks" else decided
        if quick := self._quick():
            self.filter = f"coalesce({quick}, {json} IS NOT NULL)"
            if is_id:
                self.filter = f"({self.filter} OR {json} IS NOT NULL)"

    # --- the verdict ----------------------------------------------------------

    def _decided(self, json: str, *, is_id: bool, is_hidden: bool) -> str:
        """Whether it holds; for `lacks`, whether the property is present."""
        met = "true"
        if self._condition.intervals:
            met = f"{'NOT ' * self._condition.is_negated}{self._of_value()}"
        return (
            f"CASE {f'WHEN {json} IS NOT NULL THEN null ' * is_id}"
            f"WHEN {self.value} IS NULL THEN CASE WHEN {json} IS NULL THEN false END "
            f"ELSE ({met}){' AND null' * is_hidden} END"
        )

    def _of_value(self) -> str:
        """Whether one of the values of the property compares with one of the literals."""
        value, intervals = self.value, self._intervals
        number, flag = "null", "null"
        if not intervals.parts:
            number = self._in_numbers(value)
            flag = f"toString({value}) IN {self._parameter(intervals.flags)}"
        branches = [
            f"WHEN -1.7e308 < {value} < 1.7e308 THEN {number}",
            f"WHEN {value} =~ {_PLAIN} THEN {self._of_text(value)}",
            f"WHEN {value} IN [true, false] THEN {flag}",
        ]
        if intervals.texts:  # the more likely kind of value first
            branches[:2] = reversed(branches[:2])
        if intervals.moments:
            branches.insert(0, f"WHEN toStringOrNull({value}) =~ {_DAY} THEN {self._of_day()}")
        return f"CASE {' '.join(branches)} ELSE {self._of_items(f'[] + {value}')} END"

    def _of_items(self, values: str) -> str:
        """Whether an item of a list compares; only texts are decided: bytes look like numbers."""
        item = f"CASE WHEN x =~ {_PLAIN} THEN {self._of_text('x')} END"
        return f"any(x IN {values} WHERE {item})"

    def _of_text(self, text: str) -> str:
        intervals = self._intervals
        tests = [f"toLower({text}) CONTAINS {self._parameter(part)}" for part in intervals.parts]
        tests += [self._in(f"trim(toLower({text}))", one) for one in intervals.texts]
        if intervals.numbers or intervals.dates:
            number = self._in_numbers(f"toFloatOrNull({text})")
            tests.append(
                f"CASE WHEN {text} =~ {_DECIMAL} THEN {number} "
                f"WHEN {text} =~ {_LIKE_A_NUMBER} THEN null ELSE false END"
            )
        return _any(tests)

    def _of_day(self) -> str:
        """Whether a date compares with one of the literals, by as many parts as that has."""
        tests = ["null"] * bool(self._intervals.texts)
        for one in self._intervals.moments:
            parts = max(map(len, one.ends), default=1)
            day = f"left(toStringOrNull({self.value}), {3 * parts + 1})"
            test = self._in(day, one.map(_date_text))
            tests.append(test if parts <= _DAY_PARTS else "null")
        return _any(tests)

    def _in_numbers(self, value: str) -> str:
        """Whether a number is in one of the intervals; null if another one may have it."""
        exact = [one for one in self._intervals.numbers if one.is_exact]
        tests = ["null"] * (
            len(exact) < len(self._intervals.numbers) or bool(self._intervals.dates)
        )
        for least, most, is_open in exact:
            # To Neo4j, -0.0 is smaller than 0: the literal 0 is the span of both.
            low, high = (0.0, -0.0) if is_open else (-0.0, 0.0)
            ends = Interval(low if least == 0 else least, high if most == 0 else most, is_open)
            # With a text this is null, but with = false.
            tests.append(f"({ends.test(value, self._parameter) or 'true'})")
        return _any(tests)

    def _in(self, value: str, one: Interval) -> str:
        if one.is_point:
            return f"{value} = {self._parameter(one.low)}"
        return f"({one.test(value, self._parameter) or 'true'})"

    # --- the filter -----------------------------------------------------------

    def _quick(self) -> str | None:
        """False if it cannot hold, null if there is no value; None if nothing is cheaper."""
        value, (_, texts, numbers, _, dates, _) = self.value, self._intervals
        if self._condition.is_negated:
            return None
        if numbers and not (texts or dates) and all(one.is_exact for one in numbers):
            return f"{self._in_numbers(value)}, {value} IS NOT NULL OR null"
        if not texts or numbers or dates or not all(one.is_point for one in texts):
            return None
        items = f"any(x IN [] + {value} WHERE {self._begins('x')}), {value} IS NOT NULL OR null"
        return f"CASE WHEN {value} >= '' THEN {self._begins(value)} ELSE coalesce({items}) END"

    def _begins(self, text: str) -> str:
        """Whether it begins like a literal, or with a character that folding may change.

        Text that begins with a visible character of ASCII begins with it when folded, too. The
        value is compared with the ends of intervals, from above; what is not text leads to null.
        """
        letters = {one.low[:1] for one in self._intervals.texts}
        initials = {case for one in letters if one and one.isascii() for case in (one, one.upper())}
        above, arms = f"{text} > '~'", list[str]()
        for initial in sorted(initials, reverse=True):
            after = chr(ord(initial) + 1)
            if after not in initials and after <= "~":
                arms.append(f"WHEN {text} >= {self._parameter(after)} THEN {above}")
            arms.append(f"WHEN {text} >= {self._parameter(initial)} THEN true")
            above = "false"
        if not arms:
            return f"({text} < '!' OR {above})"
        return f"CASE {' '.join(arms)} ELSE {text} < '!' END"

    def _parameter(self, value: Any) -> str:
        """A parameter named by its place, since the server plans each text once."""
        name = self._names.setdefault(repr(value), f"{self._prefix}{len(self._names)}")
        self.parameters[name] = value
        return f"${name}"


def _date_text(moment: Moment) -> str:
    year, *others = moment
    return "-".join([f"{year:04}", *(f"{part:02}" for part in others)])


def _any(tests: Iterable[str]) -> str:
    return f"({' OR '.join(tests) or 'false'})"
