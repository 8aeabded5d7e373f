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
from bfsql.models.comparison import Literal
from bfsql.models.json_properties import SUFFIX
from bfsql.models.json_values import is_text
from bfsql_neo4j.cypher import NodeFilter, quoted
from bfsql_neo4j.schema import GraphSchema
from bfsql_neo4j.values import DOCUMENTS, can_name

OTHER_TYPES = "other_types"
"""The key of the labels of a node besides its type."""

_OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "~", "has", "lacks", "unlike")
_EXACT = 2**53
"""Below this, a number compares equally as an integer and as a double."""
_DAY_PARTS = 3
_WIDTHS = (4, 7, 10)  # of a year, a month and a day in ISO 8601

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
        self._operator = condition.operator
        self._literals, self._of_flags = condition.literals, condition.of_flags
        self._prefix = f"p{number}_"
        self.value = f"v{number}"
        self.binding = ""
        self.filter, self.verdict = "", "null"
        self.parameters: dict[str, Any] = {}
        self._characters: dict[str, int] = {}
        key = condition.key
        is_stored = can_name(key) and not key.endswith(SUFFIX) and key != DOCUMENTS
        is_decidable = is_stored and self._operator in _OPERATORS and schema.dialect.procedures
        if not (is_decidable and all(map(is_text, condition.values))):
            return
        value, json = f"n.{quoted(key)}", f"n.{quoted(key + SUFFIX)}"
        if key == OTHER_TYPES:
            # The type itself is a label, too.
            if self._operator not in ("has", "lacks", "!=", "unlike"):
                every = self._of_items(f"labels(n) + coalesce([] + {value}, [])")
                self.verdict = f"CASE WHEN {json} IS NULL THEN {every} AND null END"
            return
        self.binding = f"{value} AS {self.value}"
        is_id = key in schema.every_id_property  # JSON text beside an id is the metadata
        decided = self._decided(json, is_id=is_id, is_hidden=is_id and key not in shown)
        self.verdict = f"NOT ({decided})" if self._operator == "lacks" else decided
        if quick := self._quick():
            self.filter = f"coalesce({quick}, {json} IS NOT NULL)"
            if is_id:
                self.filter = f"({self.filter} OR {json} IS NOT NULL)"

    # --- the verdict ----------------------------------------------------------

    def _decided(self, json: str, *, is_id: bool, is_hidden: bool) -> str:
        """Whether it holds; for `lacks`, whether the property is present."""
        met = "true"
        if self._operator not in ("has", "lacks"):
            met = f"{'NOT ' * (self._operator in {'!=', 'unlike'})}{self._of_value()}"
        return (
            f"CASE {f'WHEN {json} IS NOT NULL THEN null ' * is_id}"
            f"WHEN {self.value} IS NULL THEN CASE WHEN {json} IS NULL THEN false END "
            f"ELSE ({met}){' AND null' * is_hidden} END"
        )

    def _of_value(self) -> str:
        """Whether one of the values of the property compares with one of the literals.

        With `unlike`, any result of a comparison will do.
        """
        value = self.value
        branches = [
            f"WHEN -1.7e308 < {value} < 1.7e308 THEN {self._of_number()}",
            f"WHEN {value} =~ {_PLAIN} THEN {self._of_text(value)}",
            f"WHEN {value} IN [true, false] THEN {self._of_flag()}",
        ]
        if any(map(_is_words, self._literals)):  # the more likely kind of value first
            branches[:2] = reversed(branches[:2])
        if self._operator != "~" and any(one.moment for one in self._literals):
            branches.insert(0, f"WHEN toStringOrNull({value}) =~ {_DAY} THEN {self._of_day()}")
        return f"CASE {' '.join(branches)} ELSE {self._of_items(f'[] + {value}')} END"

    def _of_items(self, values: str) -> str:
        """Whether an item of a list compares; only texts are decided: bytes look like numbers."""
        item = f"CASE WHEN x =~ {_PLAIN} THEN {self._of_text('x')} END"
        return f"any(x IN {values} WHERE {item})"

    def _of_text(self, text: str) -> str:
        tests = []
        for place, literal in enumerate(self._literals):
            if self._operator == "~":
                tests.append(f"toLower({text}) CONTAINS {self._parameter(place, literal.text)}")
            elif _is_words(literal):
                tests.append(self._compared(f"trim(toLower({text}))", place, literal.text))
            else:
                number = "null"
                if (known := _exact(literal)) is not None:
                    number = self._compared_number(f"toFloatOrNull({text})", place, known)
                tests.append(
                    f"CASE WHEN {text} =~ {_DECIMAL} THEN {number} "
                    f"WHEN {text} =~ {_LIKE_A_NUMBER} THEN null ELSE false END"
                    if literal.number is not None
                    else f"CASE WHEN {text} =~ {_LIKE_A_NUMBER} THEN null ELSE false END"
                )
        return _any(tests)

    def _of_number(self) -> str:
        if self._operator == "~":
            return "null"
        tests = []
        for place, literal in enumerate(self._literals):
            if (known := _exact(literal)) is not None:
                tests.append(self._compared_number(self.value, place, known))
            elif not _is_words(literal):
                tests.append("null")
        return _any(tests)

    def _of_flag(self) -> str:
        if self._operator == "~":
            return "null"
        if self._operator in ("<", ">", "unlike"):
            return str(self._operator == "unlike" and self._of_flags).lower()
        texts = [literal.text for literal in self._literals]
        return f"toString({self.value}) IN {self._parameter('flags', texts)}"

    def _of_day(self) -> str:
        """Whether a date compares with one of the literals, by as many parts as that has."""
        tests = []
        for place, literal in enumerate(self._literals):
            moment = literal.moment
            if moment is not None and len(moment) <= _DAY_PARTS:
                width = _WIDTHS[len(moment) - 1]
                day = f"left(toStringOrNull({self.value}), {width})"
                tests.append(self._compared(day, f"{place}_day", literal.text))
            elif moment is not None or _is_words(literal):
                tests.append("null")
        return _any(tests)

    def _compared(self, value: str, place: int | str, literal: Any) -> str:
        if self._operator == "unlike":
            return "true"
        return f"{value} {self._operator.removeprefix('!')} {self._parameter(place, literal)}"

    def _compared_number(self, value: str, place: int, number: float) -> str:
        if self._operator == "unlike":
            return "true"
        # To Neo4j, -0.0 is smaller than 0: the literal 0 is the span of both.
        least = self._parameter(f"{place}_least", number or -0.0)
        most = self._parameter(f"{place}_most", number)
        if self._operator in ("=", "!="):
            return f"({value} >= {least} AND {value} <= {most})"
        return f"{value} {self._operator} {least if self._operator in ('<', '>=') else most}"

    # --- the filter -----------------------------------------------------------

    def _quick(self) -> str | None:
        """False if it cannot hold, null if there is no value; None if nothing is cheaper."""
        value = self.value
        numbers = [_exact(literal) for literal in self._literals]
        if self._operator not in ("!=", "~", "has", "lacks", "unlike") and None not in numbers:
            tests = [
                self._compared_number(value, place, number)
                for place, number in enumerate(numbers)
                if number is not None
            ]
            return f"{_any(tests)}, {value} IS NOT NULL OR null"
        if self._operator != "=" or not all(map(_is_words, self._literals)):
            return None
        items = f"any(x IN [] + {value} WHERE {self._begins('x')}), {value} IS NOT NULL OR null"
        return f"CASE WHEN {value} >= '' THEN {self._begins(value)} ELSE coalesce({items}) END"

    def _begins(self, text: str) -> str:
        """Whether it begins like a literal, or with a character that folding may change.

        Text that begins with a visible character of ASCII begins with it when folded, too. The
        value is compared with the ends of intervals, from above; what is not text leads to null.
        """
        letters = {literal.text[:1] for literal in self._literals}
        initials = {case for one in letters if one and one.isascii() for case in (one, one.upper())}
        above, arms = f"{text} > '~'", list[str]()
        for initial in sorted(initials, reverse=True):
            after = chr(ord(initial) + 1)
            if after not in initials and after <= "~":
                arms.append(f"WHEN {text} >= {self._character(after)} THEN {above}")
            arms.append(f"WHEN {text} >= {self._character(initial)} THEN true")
            above = "false"
        if not arms:
            return f"({text} < '!' OR {above})"
        return f"CASE {' '.join(arms)} ELSE {text} < '!' END"

    def _character(self, character: str) -> str:
        """A parameter named by its place, since the server plans each text once."""
        place = self._characters.setdefault(character, len(self._characters))
        return self._parameter(f"character{place}", character)

    def _parameter(self, place: int | str, value: Any) -> str:
        name = f"{self._prefix}{place}"
        self.parameters[name] = value
        return f"${name}"


def _is_words(literal: Literal) -> bool:
    """Whether it compares with text only."""
    return literal.number is None and literal.moment is None


def _exact(literal: Literal) -> int | float | None:
    """Its number, if doubles and integers compare with it alike."""
    number = literal.number
    return number if number is not None and abs(number) < _EXACT else None


def _any(tests: Iterable[str]) -> str:
    return f"({' OR '.join(tests) or 'false'})"
