"""Conditions on properties as SQL, which narrows a listing of nodes (`protocol.md` 34).

A test is true for every row that meets its condition, and may be true for others: core compares the
property again. So a text that Postgres would compare in another way than `bfsql.models.comparison`
is a candidate, whatever the condition: one with a character other than printable ASCII, with outer
spaces, or that may be a list in JSON; and a number that is too long or too large for a double.
"""
# ruff: noqa: S608 - these texts are made of quoted names and of parts of this package

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from bfsql.models.comparison import Literal
from bfsql.models.condition import PropertyCondition
from bfsql.models.intervals import Intervals
from bfsql_postgres.comparisons import (
    CANDIDATE,
    IN_C,
    INDEXED_CHARACTERS,
    NUMERIC,
    ODD_TEXT,
    TIMES,
    TextValue,
    certain,
    doubles,
    folded_text,
    in_intervals,
    is_decidable,
    number,
    number_tests,
    text_tests,
    typed_test,
    unlike_test,
)
from bfsql_postgres.schema import Column, Layout, Nodes
from bfsql_postgres.sql import (
    Parameters,
    RowValue,
    bare_expression,
    collated,
    decode,
    fetched,
    identifier,
    literal,
    named,
    pattern,
    relation_name,
    storable,
    text,
)

_ODD_NUMBER = "^-?[0-9]+[.eE]"
"""JSON numbers that may be shown in other digits."""
_PREFILTERED = 20
"""Characters of a value that a candidate has to contain in their order, anything between them."""
_TRIGRAM = re.compile(r"[^\W_]{3}")
_STRINGS = frozenset({"text", "varchar", "bpchar"})
_WHOLE = "{} #>> '{{}}'"
"""The text of a column's whole JSON; null for that of `null`."""
_WEAK = frozenset({"total_mentions", "supporting_documents"})


@dataclass(frozen=True, slots=True)
class Test:
    """What a row has to meet, as SQL."""

    possible: str = ""
    """Passed by all rows that may meet the condition and are not of `decided`; empty for none."""
    decided: str | None = None
    """Passed only by rows that meet the condition, without a scan; None if no row is certain."""
    certain: str | None = None
    """In a scan: whether a row that passes `possible` meets the condition; None if never known."""
    column: tuple[str, str] | None = None
    """The name and the expression of a column that the others refer to, see `Pushdown.select`."""

    @property
    def exact(self) -> str | None:
        """Of rows that pass, which ones are certain to meet the condition; None if none is."""
        return self.decided or self.certain

    @property
    def either(self) -> str:
        """Passed by all rows that may meet the condition."""
        both = " OR ".join(filter(None, (self.decided, self.possible)))
        return f"({both})" if self.decided and self.possible else both


@dataclass(frozen=True, slots=True)
class Pushdown:
    """Tests of one table of nodes.

    Args:
        layout: The graph.
        nodes: The table.
        single: Whether an entity is one row of this table, so that no other row adds to it.
        alias: The alias of its rows.
    """

    layout: Layout
    nodes: Nodes
    single: bool
    alias: str = "n"

    def test(self, condition: PropertyCondition, sent: Parameters) -> Test | None:
        """What a row has to meet; None if any row may belong to an entity that does."""
        if not self._is_known(condition.key):
            return None
        column, within = self._column(condition.key), self.nodes.properties
        inner = None if within is None else self._in_json(within, condition.key)
        if column is None:
            absent_everywhere = Test("TRUE" if condition.operator == "lacks" else "FALSE")
            return absent_everywhere if inner is None else self._json_test(inner, condition, sent)
        absent = self._absent(column)
        if condition.operator == "lacks":
            test = Test(absent)
        else:
            some = self._column_test(column, condition, sent)
            test = some or Test(f"{named(self.alias, column)} IS NOT NULL")
        if inner is None:
            return Test(decided=test.either) if self._is_exact(condition, column) else test
        if condition.operator == "lacks":
            return Test(f"{absent} AND {_lacking(inner)}")
        # A value that the column cannot hold, or that somebody else stored in JSON, is rare.
        possible = f"({test.possible} OR ({absent} AND {inner} IS NOT NULL))"
        return replace(test, possible=possible)

    def select(self, fields: str, where: str, tests: Sequence[Test] = ()) -> str:
        """Select fields of the rows that pass tests; a value in JSON is read once a row.

        Each mention of its expression would read the JSON again, and a sub-select for each row
        takes longer than a column of the table's rows.
        """
        first = " AND ".join([where, *(test.either for test in tests if not test.column)])
        rows = f"FROM {relation_name(self.nodes.relation)} AS {self.alias} WHERE {first}"
        if columns := dict(test.column for test in tests if test.column):
            then = " AND ".join(test.either for test in tests if test.column)
            own = (named(self.alias, one) for one in self.nodes.relation.columns.values())
            # To copy the others would add a twentieth to the time of a scan.
            known = [one for one in own if one in fields + then]
            known += [f"{expression} AS {name}" for name, expression in columns.items()]
            rows = f"FROM (SELECT {', '.join(known)} {rows} OFFSET 0) AS {self.alias} WHERE {then}"
        return f"SELECT {fields}\n{rows}"

    def unreadable_rows(self) -> str:
        """The condition of an index of the rows whose JSON the server cannot read; or empty."""
        within = self.nodes.properties
        return self._unreadable(within) if within is not None and within.is_json else ""

    def _is_exact(self, condition: PropertyCondition, column: Column) -> bool:
        """Whether only rows that meet the condition pass its test, that of a column alone."""
        if not self.single or column.is_json:
            return False
        if condition.operator in ("has", "lacks"):
            return True
        intervals = self._intervals(condition)
        return column.is_whole and len(intervals.numbers if intervals else ()) == len(
            condition.values
        )

    def values(self, keys: Collection[str]) -> tuple[RowValue, ...] | None:
        """The values of some properties; None if they depend on others."""
        if not all(map(self._is_known, keys)):
            return None
        found, within = list[RowValue](), self.nodes.properties
        if within is not None:
            whole, unreadable = named(self.alias, within), self._unreadable(within)
            for key in sorted(keys):
                value = f"({whole} -> {literal(key)})::text"
                if unreadable:
                    value = f"CASE WHEN {unreadable} THEN NULL ELSE {value} END"
                found.append(RowValue(key, value, "text", decode, column=whole))
            if unreadable:
                rest = f"CASE WHEN {unreadable} THEN {whole}::text END"
                found.append(RowValue("properties", rest, "text", role="lifted", column=whole))
        # The value of a column takes the place of one in JSON, which is before it.
        own = [(key, column) for key, column in self.nodes.metadata if key in keys]
        return (*found, *(fetched(self.alias, key, column) for key, column in own))

    def indexed(self, key: str, values: Sequence[Any]) -> list[str]:
        """What an index for conditions on a property is made of, by some of its values."""
        column, within = self._column(key), self.nodes.properties
        if not self._is_known(key) or "\\" in key:  # the server writes it in another way
            return []
        if column is not None and (column.type in NUMERIC or column.type in TIMES):
            return [identifier(column.name)]
        if column is not None and column.type not in _STRINGS:
            return []
        if column is not None:
            value = TextValue(text(self.alias, column))
        else:
            assert within is not None
            value = self._in_json(within, key)
        forms = [
            Literal.of(one if isinstance(one, str) else repr(one))
            for one in values
            if isinstance(one, str | int | float) and not isinstance(one, bool)
        ]
        short = [one for one in forms if len(one.text) <= INDEXED_CHARACTERS]
        found = []
        if any(one.number is None for one in short):
            found.append(folded_text(value))
        if any(one.number is not None or one.moment is not None for one in short):
            found.append(number(value))
        return found

    def folded_name(self) -> str | None:
        """What an index for conditions on names is made of, if these are in a column of text."""
        name = self.nodes.name
        if name is None or name.type not in _STRINGS:
            return None
        return folded_text(TextValue(text(self.alias, name)))

    # --- where a property is ------------------------------------------------------

    def _is_known(self, key: str) -> bool:
        """Whether all values of a property are in one column, or in JSON, under this key."""
        if not storable((key,), self.layout.codec) or (self.layout.mentions and key in _WEAK):
            return False
        own = [column for name, column in self.nodes.metadata if name == key]
        if own and (own[0].is_vector or own[0] == self.nodes.embedding or own[0].type == "bytea"):
            return False
        merged = {"synonyms", "other_types"} if not self.single else set()
        if self.nodes.properties is not None:
            if key.partition(".")[0] == "properties" or not self.nodes.properties.is_json:
                return False
            merged |= {"synonyms"} if own else set()
        return len(own) <= 1 and key not in merged

    def _column(self, key: str) -> Column | None:
        return next((column for name, column in self.nodes.metadata if name == key), None)

    def _in_json(self, column: Column, key: str) -> TextValue:
        """A value in a JSON object as text."""
        return self._json_text(column, f"{named(self.alias, column)} ->> {literal(key)}")

    def _json_text(self, column: Column, value: str) -> TextValue:
        unreadable, relation = self._unreadable(column), self.nodes.relation
        valid = {bare_expression(one.rows) for one in relation.indexes if one.valid and one.rows}
        if bare_expression(unreadable) not in valid:
            return TextValue(f"({value})", unreadable)
        # An estimate of EXISTS would be that of a scan which soon finds a row.
        source = f"FROM {relation_name(relation)} AS {self.alias} WHERE {unreadable}"
        return TextValue(f"({value})", unreadable, f"(SELECT count(*) > 0 {source})")

    def _unreadable(self, column: Column) -> str:
        """Whether functions reject a text that the type `json` accepts; empty if they never do.

        It may have escapes of NUL, of surrogates, or of what the database's encoding lacks.
        """
        if column.type == "jsonb":
            return ""
        escapes = ("u0000", "ud", "uD") if self.layout.codec == "utf-8" else ("u",)
        whole = f"({named(self.alias, column)}::text {IN_C})"
        # ~~ is LIKE, in which a backslash is written twice; to look for one character is faster.
        some = (f"{whole} ~~ ('%' || repeat(chr(92), 2) || '{one}%')" for one in escapes)
        return f"strpos({whole}, chr(92)) > 0 AND ({' OR '.join(some)})"

    def _absent(self, column: Column) -> str:
        """Whether a row has no value in a column, by an index if there is one."""
        if column.is_json:
            return f"{self._json_text(column, _WHOLE.format(named(self.alias, column)))} IS NULL"
        folded = folded_text(TextValue(text(self.alias, column)))
        indexed = column.type in _STRINGS and self._has_index(folded)
        return f"{folded if indexed else named(self.alias, column)} IS NULL"

    def _has_index(self, expression: str) -> bool:
        """Whether an index in sort order begins with an expression."""
        intervals = bare_expression(expression)
        indexes = [one for one in self.nodes.relation.whole_indexes if one.method == "btree"]
        return any(bare_expression(one.keys[0]) == intervals for one in indexes)

    # --- tests of values ----------------------------------------------------------

    def _intervals(self, condition: PropertyCondition) -> Intervals | None:
        """What a row has to have; None if any value may meet the condition."""
        found = condition.intervals
        if found is None or (condition.is_negated and condition.operator != "unlike"):
            return None
        ends = [end for one in found.texts for end in one.ends]
        return found if storable((*found.parts, *ends), self.layout.codec) else None

    def _json_test(self, value: TextValue, condition: PropertyCondition, sent: Parameters) -> Test:
        if condition.operator == "lacks":
            return Test(_lacking(value))
        intervals = self._intervals(condition)
        if intervals is None:
            return Test(f"{value} IS NOT NULL")
        is_unlike = condition.operator == "unlike"
        if not is_unlike and (test := self._indexed_test(value, intervals, sent)):
            return test
        column = sent.column(str(value))
        shown = TextValue(f"{self.alias}.{column}")
        unlike = Test(unlike_test(shown.value, intervals, is_json=True))
        test = unlike if is_unlike else self._text_test(shown, intervals, sent)
        return replace(test, column=(column, str(value)))

    def _column_test(
        self, column: Column, condition: PropertyCondition, sent: Parameters
    ) -> Test | None:
        """A test of a column; None if every value is a candidate."""
        intervals = self._intervals(condition)
        if intervals is None:
            return None
        if column.is_json:
            whole = self._json_text(column, _WHOLE.format(named(self.alias, column)))
            return self._json_test(whole, condition, sent)
        if condition.operator == "unlike":
            return self._unlike_test(column, intervals)
        return self._typed_test(column, intervals, sent)

    def _typed_test(self, column: Column, intervals: Intervals, sent: Parameters) -> Test | None:
        """A test of a column that is not JSON."""
        value, is_text = named(self.alias, column), bool(intervals.parts or intervals.texts)
        if (column.type in NUMERIC or column.type in TIMES) and not is_text:
            return Test(typed_test(value, column, intervals, sent))
        if column.is_text_array:
            item = TextValue(collated("item.value", column))
            test = self._text_test(item, intervals, sent).possible
            return Test(f"EXISTS (SELECT FROM unnest({value}) AS item (value) WHERE {test})")
        # NaN and the infinities are text, and so are other numbers that have a part.
        if column.type in NUMERIC or column.type == "float4" or column.element is not None:
            return None
        shown = TextValue(text(self.alias, column))
        if column.type not in _STRINGS and column.type != "bool":
            shown = TextValue(f"({fetched(self.alias, '', column).expression})")
        return self._indexed_test(shown, intervals, sent) or self._text_test(shown, intervals, sent)

    def _unlike_test(self, column: Column, alike: Intervals) -> Test | None:
        """A test of a column with `unlike`: `FALSE` if its type tells that no value meets it."""
        value = named(self.alias, column)
        if (column.is_whole and alike.numbers) or (column.type == "bool" and alike.flags):
            return Test("FALSE")
        if column.type in TIMES and alike.moments:
            return Test(f"NOT ({value} BETWEEN '0002-01-01' AND '9998-12-31')")
        if column.is_text_array:
            items = f"unnest({value}) AS item (value) WHERE item.value IS NOT NULL"
            test = unlike_test("item.value", alike, is_json=False)
            return Test(f"{value} IS NOT NULL AND NOT EXISTS (SELECT FROM {items} AND NOT {test})")
        no_text = column.type in {*NUMERIC, "float4", "bool"}
        if column.element is not None or (no_text and alike.dates):  # 2004.0 is no year
            return None
        return Test(unlike_test(f"{value}::text", alike, is_json=no_text))

    def _indexed_test(
        self, value: TextValue, intervals: Intervals, sent: Parameters
    ) -> Test | None:
        """A test of a text by indexes; None if one is missing."""
        folded, of = folded_text(value), number(value)
        of_text = intervals.parts or intervals.texts or intervals.dates
        needed = [folded] * bool(of_text) + [of] * bool(intervals.numbers)
        if not all(map(self._has_index, needed)):
            return None
        odd = f"{folded} = {literal(CANDIDATE)}"
        if intervals.parts:
            if value.unreadable or not self._is_in_trigrams(value.value):
                return None
            parts = " OR ".join(f"{value} ILIKE {_part(one, sent)}" for one in intervals.parts)
            return Test(odd, f"(({parts}) AND ({value} {IN_C}) !~ '{ODD_TEXT}')")
        equal, others = number_tests(of, intervals, sent)
        if of_text:
            texts, dates = text_tests(folded, intervals, sent, INDEXED_CHARACTERS)
            equal, others = [*equal, *texts], [*others, *dates, odd]
        if not is_decidable(intervals):
            return Test(f"({' OR '.join([*equal, *others])})")
        return Test(f"({' OR '.join(others)})", f"({' OR '.join(equal)})")

    def _text_test(self, value: TextValue, intervals: Intervals, sent: Parameters) -> Test:
        """A test of an expression whose value is text, without an index."""
        of_text, arms = f"lower({value} {IN_C})", list[str]()
        if intervals.parts:
            tests = [f"strpos({of_text}, {sent.text(one)}) > 0" for one in intervals.parts]
            tests.append(f"({value} {IN_C}) ~ '{ODD_TEXT}|{_ODD_NUMBER}'")
            arms.append(self._text_candidate(value.value, intervals.parts, tests, sent))
        elif intervals.texts or intervals.dates:
            tests = [*chain(*text_tests(of_text, intervals, sent))]
            tests.append(f"({value} {IN_C}) ~ '{ODD_TEXT}'")
            are_points = not intervals.dates and all(one.is_point for one in intervals.texts)
            parts = [one.low for one in intervals.texts] if are_points else []
            arms.append(self._text_candidate(value.value, parts, tests, sent))
        if intervals.numbers:
            arms.append(self._number_test(value, intervals, sent))
        known = certain(value, intervals) if is_decidable(intervals) else None
        return Test(f"({' OR '.join(arms)})", certain=known)

    def _number_test(self, value: TextValue, intervals: Intervals, sent: Parameters) -> str:
        """A test of an expression whose value is text, with numbers."""
        either = " OR ".join(chain(*number_tests("w.number", intervals, sent)))
        test = f"(SELECT {either} FROM (SELECT {number(value)} AS number OFFSET 0) AS w)"
        if not self.layout.catalogue.validates:
            return test
        valid = f"pg_input_is_valid({value}, 'double precision')"
        own, ends = f"{value}::double precision", map(doubles, intervals.numbers)
        double = " OR ".join(in_intervals(own, ends, sent, "float8"))
        return f"CASE WHEN {valid} THEN {double} WHEN {value} IS NOT NULL THEN {test} END"

    def _is_in_trigrams(self, value: str) -> bool:
        """Whether an index of trigrams finds parts of a column, in the server's usual folding."""
        return self.layout.catalogue.lowers_ascii and any(
            one.opclasses[0].endswith("_trgm_ops")
            and bare_expression(one.keys[0]) == bare_expression(value)
            for one in self.nodes.relation.whole_indexes
        )

    def _text_candidate(
        self, value: str, parts: Sequence[str], tests: Sequence[str], sent: Parameters
    ) -> str:
        """Whether a text passes a test; with `parts`, none is tried if it cannot contain one.

        A regular expression takes longer than anything else here. Removing characters from an
        ASCII text leaves the others in their order.
        """
        either = " OR ".join(tests)
        if not parts or self.layout.codec != "utf-8":
            return either
        orders = ["%".join(["", *map(pattern, part[:_PREFILTERED]), ""]) for part in parts]
        lower = f"lower({value} {IN_C})"
        may_be = [f"{lower} LIKE {sent.text(order)}" for order in orders]
        may_be.append(f"({value} {IN_C}) < ':'")  # a number, or a space
        may_be.append(f"(({value} {IN_C}) >= '[' AND ({value} {IN_C}) < ']')")
        return (
            f"octet_length({value}) <> length({value}) OR (({' OR '.join(may_be)}) AND ({either}))"
        )


def _part(text: str, sent: Parameters) -> str:
    """A pattern for a part of a text that an index of trigrams finds.

    The planner does not know the value of a sub-select, so that it keeps its plan, which takes
    longer to make than to find a few names. Without a trigram, it has to know that a scan is
    better.
    """
    value = sent.text(f"%{pattern(text)}%")
    return f"(SELECT {value})" if _TRIGRAM.search(text) else value


def _lacking(value: TextValue) -> str:
    """Whether a property in JSON is absent, or the server cannot read it."""
    return f"coalesce({value}, '{CANDIDATE}') = '{CANDIDATE}'"
