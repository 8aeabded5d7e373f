"""Patterns, steps and relation conditions, as models write them (`protocol.md` 34, 36).

    pattern    = types ("[" condition "]")* | types ":*"        types = "*" | type ("|" type)*
    step       = arrow [pattern | name of entities]
    condition  = property | ["no"] step+ [comparison number]

Unambiguous variants are taken: braces and parentheses with conditions, several conditions in one
bracket, another case, `Trial.phase=3`, a relation copied from the schema with its count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple, TypeAlias, cast

from bfsql.errors import ToolError, UnknownType, bad_value
from bfsql.models import (
    MAX_STEPS,
    EdgeDirection,
    Path,
    Pattern,
    Property,
    PropertyCondition,
    RelationCondition,
    ScopedRelation,
    Step,
    StepComparison,
)
from bfsql.models.expression import Computed, Part, parts_of, replaced
from bfsql.models.name_keys import ANY_TYPE, NAME
from bfsql.models.pattern import SHOWN, Comparison
from bfsql.models.quotation import excerpt, plain
from bfsql.models.spelling import KnownNames
from bfsql.query.expressions import may_compute
from bfsql.query.properties import (
    QUOTED,
    SPELLINGS,
    compared_properties,
    compared_steps,
    condition,
    masked,
    property_condition,
)
from bfsql.query.steps import StepReader, WrittenEnd, WrittenStep, step_error
from bfsql.query.vocabulary import Vocabulary, nearest, read_as

MOST_CONDITIONS = 200
"""Most conditions in the brackets of a call, as many as `where` may have."""
NO_ENTITIES: Mapping[str, frozenset[str]] = {}
PropertiesByOwner: TypeAlias = Mapping[str, Sequence[Property]]
"""The properties of types or of predicates."""

_NO = re.compile(r"\s*(?:(?:no|not)\s+(?=\S)|!\s*(?=<?-))", re.IGNORECASE)
_STEP_NUMBER = re.compile(r"\s*([0-9]{1,9})\s*+\.?\s*+(?=<?-|(?i:not?\s+<?-))")
_ARROW = re.compile(r"\s*(?:[<>^-])")
_BARE = re.compile(r"\s*(\S+)\s[^=!<>~]*")
_ARITHMETIC = re.compile(r"\s[-+*/]\s")
_WHOLE_ARROW = re.compile(r"-.*-")
_LATER_ARROW = re.compile(r"\s(?:<-\S*|-\S+)-")
_NUMBER = re.compile(r"((?<!-)>=?|(?<!->)==?|!=|<[=>]?|=[<>])\s*([0-9]{1,15})\s*$")
_COMPARED = re.compile(r"\s(?:[=<>!]=?|<>|=[<>])\s*((?![->])\S+|-?\d\S*)\s*$")
_PERHAPS_RELATION = re.compile(r"[^=!<>~]*(?:<?-|<>|$)|\s*(?:[<>^]|\d+\s*[=!<>])")
"""The beginning of a condition on relations or steps; one on a property may begin so, too."""
_SHARP = re.compile(r"\[|->|<-(?=[^\d.])|--|(?:^|\s)-[^\s-](?:[^<>]{0,200}?\S)?-(?=[\s\[{(]|$)")
"""What arrows have and no expression has."""
_BARE_RIGHT = re.compile(r"(?<!-)[<>]=?\s*([^\W\d][\w .:-]*?)\s*$")
_BETWEEN = re.compile(r"-([^-<>]+)(?=-)")
_OUTSIDE = re.compile(
    r"(?:^|\s)(?:where\s+)?(?:\w+\.)?((\w+)\s*(?:[=~]|[!<>]=|<>|[<>](?!-))\s*[^\s<>=-].*?)"
    r"(?=\s+<?-|\s*$)",
    re.IGNORECASE,
)
"""A condition on a property outside of brackets, with what introduces it."""
_JOINT = re.compile(
    r"(?:,|&&|\band\b)\s*(?=(?:[\w.:-]+|\"[^\"]*\"|'[^']*'|`[^`]*`)\s*[=!<>~])", re.IGNORECASE
)
"""What joins two conditions in one bracket: a property and an operator follow."""


def may_be_pattern(text: str) -> bool:
    """Whether a seed is written like a pattern: with conditions, or as all of a type."""
    return text.endswith(("]", "*", "}", ")"))


def may_relate(text: str) -> bool:
    """Whether a condition takes a vocabulary: one on relations, steps or two properties may."""
    if may_compute(text):
        return True
    negated = _NO.match(text)
    return _PERHAPS_RELATION.match(text, negated.end() if negated else 0) is not None


class Where(NamedTuple):
    """The conditions of `where` by their kind."""

    properties: list[str]
    """Conditions on properties, as written."""
    relations: list[ScopedRelation]
    comparisons: list[StepComparison]


class PatternReader:
    """Reads patterns, paths and conditions, in the spelling of the graph.

    Args:
        vocabulary: The names that they may use.
        entities: By name, the ids of the entities at which steps may end.
        argument: The argument of the call that contains the texts, for errors.

    Attributes:
        replaced: Notes on names that were replaced by the names of the graph.
        doubts: Notes on names that a sample of the schema lacks, to explain an empty result.
        unknown: Texts in place of types that are none, and may be names of entities.
        words: Notes on words that were read as properties, and may be meant as texts.
        asks_keys: Whether the keys of nodes, which are not known, may tell what a text means.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        entities: Mapping[str, frozenset[str]] = NO_ENTITIES,
        argument: str = "path",
    ) -> None:
        self.replaced: list[str] = []
        self.doubts: list[str] = []
        self.unknown: list[str] = []
        self.words: list[str] = []
        self.asks_keys = False
        self._vocabulary, self._outline = vocabulary, vocabulary.outline
        self._entities, self._argument = entities, argument
        self._count = 0
        self._predicates, self._types = vocabulary.predicates, vocabulary.types

    # --- patterns -------------------------------------------------------------------

    def pattern(self, text: str, types: Collection[str] = ()) -> Pattern | None:
        """The set of entities that a seed names; None if the text is not a pattern.

        They are of `types`, if there are any and the text names none.

        Raises:
            ToolError: The text begins like a pattern and cannot be read as one.
        """
        found = self._reader(text).pattern()
        if found is None:
            return self._dotted(text)
        (names, brackets, _), rest = found
        every = not brackets and re.fullmatch(r":\s*\*", rest)
        if (rest and not every) or not (names or brackets or every):
            return None
        return self._pattern(self._in_graph_spelling(names) or frozenset(types) or None, brackets)

    def _dotted(self, text: str) -> Pattern | None:
        """The set of a seed like `Trial.phase=3`."""
        for place, front in self._types.before(text, "."):
            kind = self._types.one(front)
            if kind is not None and re.search(r"[=<>~]", text[place:]):
                one = self._condition(text[place + 1 :], text)
                self._check_value(one, text, self._outline.node_properties, [kind])
                return self._with_names(Pattern(frozenset([kind]), (one,)))
        return None

    def _in_graph_spelling(self, types: Iterable[str]) -> frozenset[str]:
        return frozenset(self._types.spellings(name)[0] for name in types)

    def _pattern(self, types: frozenset[str] | None, brackets: Iterable[str]) -> Pattern:
        """The pattern with these types and the conditions in its brackets."""
        properties: list[PropertyCondition] = []
        relations: list[RelationCondition] = []
        for content in brackets:
            if relation := self.relation(content, types):
                self._add_conditions(1)
                relations.append(relation.condition)
            else:
                properties += self._properties(content, self._outline.node_properties, types)
        each = tuple(dict.fromkeys(properties)), tuple(dict.fromkeys(relations))
        return self._with_names(Pattern(types, *each))

    def _with_names(self, pattern: Pattern) -> Pattern:
        """The pattern with `name` for keys that mean it, and only the types where they do."""
        named = self._vocabulary.schema.name_keys.types_of
        for one in pattern.conditions:
            if isinstance(one.key, Computed):
                parts = {p: Part(NAME) for p in one.key.parts if named(p.key, pattern.types)}
                tree = replaced(one.key.tree, partial(_or_itself, parts))
                computed = replace(one, key=Computed(one.key, tree))
                conditions = [computed if c is one else c for c in pattern.conditions]
                pattern = replace(pattern, conditions=tuple(conditions))
            elif types := named(one.key, pattern.types):
                conditions = [replace(c, key=NAME) if c is one else c for c in pattern.conditions]
                of = pattern.types if ANY_TYPE in types else types
                pattern = replace(pattern, types=of, conditions=tuple(conditions))
        return pattern

    def _properties(
        self, content: str, known: PropertiesByOwner, owners: Collection[str] | None
    ) -> list[PropertyCondition]:
        """The conditions in one bracket, on properties that are known of some owners."""
        joints = (found.span() for found in _JOINT.finditer(masked(content)))
        ends = [0, *(place for span in joints for place in span), len(content)]
        parts = [content[start:stop] for start, stop in list(pairwise(ends))[::2]]
        self._add_conditions(len(parts))
        of_nodes = known is self._outline.node_properties
        conditions = [self._condition(part, of_nodes=of_nodes) for part in parts]
        for one, part in zip(conditions, parts, strict=True):
            self._check_value(one, part, known, owners)
        return conditions

    def _condition(
        self, text: str, whole: str | None = None, *, of_nodes: bool = True
    ) -> PropertyCondition:
        keys = self._vocabulary.keys if of_nodes else None
        self.asks_keys |= of_nodes and keys is None and may_compute(text)
        names = self._vocabulary.scopes.of_nodes
        self._note_property(text, keys)
        return property_condition(text, self._argument, whole=whole, keys=keys, names=names)

    def _note_property(self, text: str, keys: Collection[str] | None) -> None:
        """Note that a word on the right is read as a property, which may be meant as text."""
        found = _BARE_RIGHT.search(text) if keys else None
        if found is not None and found[1] in (keys or ()):
            self.words.append(
                f"{self._argument}: read {excerpt(found[1])} in {excerpt(text)} as the property of "
                f'that name; as a text it stands in quotes: "{found[1]}".'
            )

    def _check_value(
        self,
        one: PropertyCondition,
        text: str,
        known: PropertiesByOwner,
        owners: Collection[str] | None,
    ) -> None:
        """Raise an error if a condition, of some owners or of all, compares two properties."""
        if one.operator not in ("<", "<=", ">", ">=") or QUOTED.search(text):
            return
        of_nodes = known is self._outline.node_properties
        for owner in known if owners is None else owners:
            ordered = {p.name for p in known.get(owner, ()) if p.kind in ("number", "date")}
            numbers = {p.name for p in known.get(owner, ()) if p.kind == "number"}
            for value in one.values:
                near = KnownNames(ordered - {one.key}).nearest(value) if one.key in numbers else []
                if of_nodes and self._vocabulary.keys and near and value not in ordered:
                    raise self._error(
                        f"{excerpt(text)} compares numbers with the text {excerpt(value)}. The "
                        f"nearest property is {plain(near[0][0])}; a text stands in quotes."
                    )
                if value != one.key and ordered.issuperset((one.key, value)):
                    both = f"{plain(one.key)} and {plain(value)}"
                    raise self._error(
                        f"{excerpt(text)} may compare two properties, {both}, or a property with "
                        f'a text. Write "{plain(one.key)} {one.operator} .{plain(value)}" for the '
                        f'properties, or the text in quotes, "{plain(value)}".'
                    )

    def _add_conditions(self, count: int) -> None:
        """Count conditions in brackets.

        Raises:
            ToolError: There are too many.
        """
        self._count += count
        if self._count > MOST_CONDITIONS:
            raise self._error(
                f"more than {MOST_CONDITIONS} conditions are in brackets. Join the values of "
                'one property by a bar, "year=2001|2002", or make several calls.'
            )

    # --- conditions -----------------------------------------------------------------

    def relation(self, text: str, types: Collection[str] | None = None) -> ScopedRelation | None:
        """A relation condition; None if the text is a condition on a property.

        Args:
            text: The condition, perhaps with a type or a step in front.
            types: The types of the nodes to which it applies, if it names none; None for any.

        Raises:
            ToolError: The relation cannot be read, or names something that the graph has not.
        """
        return None if self._computes(text) else self._relation(text, types)

    def _relation(self, text: str, types: Collection[str] | None) -> ScopedRelation | None:
        negated = _NO.match(text)
        rest = text[negated.end() :] if negated else text
        number, bare = _STEP_NUMBER.match(rest), _BARE.fullmatch(rest) if negated else None
        scope: frozenset[str] | None = None
        if number:
            rest = rest[number.end() :]
            if not negated and (negated := _NO.match(rest)):
                rest = rest[negated.end() :]
        elif not (_ARROW.match(rest) or (bare and self._predicates.nearest(bare[1]))):
            front = self._reader(rest).pattern()
            if front is None or front[0].brackets or not _ARROW.match(front[1]):
                self._check_front(text, rest)
                return None
            scope, rest = self._in_graph_spelling(front[0].types) or None, front[1]
        counted = _NUMBER.search(rest)
        doubts = len(self.doubts)
        try:
            path = self.path([rest[: counted.start()] if counted else rest], scope or types)
        except ToolError:
            compared = _COMPARED.search(rest)
            if not counted and compared and _WHOLE_ARROW.search(rest, 0, compared.start()):
                raise self._error(
                    f"{excerpt(text)} compares with {excerpt(compared[1])}, but nodes at the end "
                    'are counted: write a whole number, as in "<-tests- Trial >= 3".'
                ) from None
            raise
        if self.doubts[doubts:]:  # a name that nothing has would decide for all nodes
            hint = "A condition takes only names that describe_schema lists."
            raise bad_value(f"{self.doubts[-1]} {hint}", self._argument)
        if negated and counted:
            raise self._error(f'{excerpt(text)} has both "no" and a number. Leave out one of them.')
        compared_with: tuple[Comparison, int] = ("=", 0) if negated else (">=", 1)
        if counted:
            compared_with = cast("Comparison", SPELLINGS[counted[1]]), int(counted[2])
        one = RelationCondition(tuple(path.steps), *compared_with)
        return ScopedRelation(text, one, int(number[1]) if number else None, scope)

    def _computes(self, text: str) -> bool:
        """Whether a text may be an expression, so that its dashes are signs and not arrows."""
        begins = _NO.match(text) or _ARROW.match(text)
        if begins or not may_compute(text) or _SHARP.search(masked(text)):
            return False
        names = [found[1].strip() for found in _BETWEEN.finditer(text)]
        known = next(filter(self._predicates.spellings, names), None)
        if known is not None and _ARITHMETIC.search(text):
            self.replaced.append(
                f"{self._argument}: {excerpt(text)} was read as a relation, since this graph has "
                f"{excerpt(known)}. A property of that name stands in quotes."
            )
        return known is None

    def _check_front(self, text: str, rest: str) -> None:
        """Raise an error if a relation follows a text that is not a type.

        An operator before the first arrow makes the text a condition on a property.
        """
        arrow, comparison = _LATER_ARROW.search(rest), re.search(r"[=~[]|[<>](?!-)|!", rest)
        if arrow is None or (comparison and comparison.start() < arrow.start()):
            return
        name = rest[: arrow.start()].strip()
        if (words := name.split())[1:] and words[-1].casefold() in ("no", "not"):
            first = " ".join(["no", *words[:-1]])
            raise self._error(f'{excerpt(text)} has "no" after its type: write "{first} -p->".')
        raise self._error(
            f"{excerpt(text)} names a type before its relation that this graph does not have: "
            f'{excerpt(name)}.{nearest(self._types, name)} Without a type it is "no -p->" or '
            '"-p-> >= 2".'
        )

    def where(self, texts: Sequence[str], steps: int | None = None) -> Where:
        """The conditions of `where` by their kind.

        Args:
            texts: The conditions.
            steps: The most steps that they may name; None in a call without a path.

        Raises:
            ToolError: A relation cannot be read, or names something that the graph has not.
        """
        found = Where([], [], [])
        for text in texts:
            if one := compared_steps(text, partial(wrong_step, text)):
                found.comparisons.append(one)
            elif pair := self._pair(text, steps):
                found.comparisons.append(pair)
            elif relation := self.relation(text):
                found.relations.append(relation)
            else:
                self._note_property(text, self._vocabulary.keys)
                self._check_where(text)
                found.properties.append(text)
        return found

    def _pair(self, text: str, steps: int | None) -> StepComparison | None:
        """The comparison of two steps, or of a step and its edges, that a condition computes."""
        if not self._computes(text):
            return None
        self.asks_keys |= self._vocabulary.keys is None
        tree = compared_properties(text, self._vocabulary.scopes, steps)
        places = {part.place for part in parts_of(tree)} if tree else ()
        if tree is None or len(places) < 2:
            return None
        if any(part.type for part in parts_of(tree)):
            raise wrong_step(text, "names a type beside steps, whose types stand in path")
        if steps is None:
            raise self._error(
                f"{excerpt(text)} computes with edges and nodes, which needs a path. Without one, "
                "name properties of nodes, or of the edges of one predicate."
            )
        of_steps = sorted({SHOWN if step is None else step for step, _ in places})
        if len(of_steps) > 2:
            raise wrong_step(text, "names three steps or more, and an expression names two")
        return StepComparison(text, of_steps[0], of_steps[-1], expression=Computed(text, tree))

    def _check_where(self, text: str) -> None:
        """Raise an error if a condition on properties compares two of them."""
        try:
            one = condition(text, self._vocabulary.scopes, MAX_STEPS)
        except ToolError:  # its error needs the number of steps
            return
        owners = None if one.scope is None else (one.scope,)
        if not one.of_edges:
            self._check_value(one, text, self._outline.node_properties, owners)
        if one.type is None:
            self._check_value(one, text, self._outline.edge_properties, owners)

    def _error(self, sentence: str) -> ToolError:
        return bad_value(f"{self._argument}: {sentence}", self._argument)

    # --- paths ----------------------------------------------------------------------

    def path(self, texts: Sequence[str], start: Collection[str] | None = None) -> Path:
        """The path of strings with one or several steps each.

        Args:
            texts: The strings.
            start: The types of the nodes where it starts; None for any.

        Raises:
            ToolError: A step cannot be read, names something that the graph does not have, or
                has an ambiguous direction; or there are too many steps.
        """
        try:
            return self._path(texts, start)
        except ToolError as error:
            raise self._correction(texts, start) or error from None

    def _correction(self, texts: Sequence[str], start: Collection[str] | None) -> ToolError | None:
        """The error of a path that lacks a relation, or brackets around a condition, if it does."""
        text = " ".join(" ".join(texts).split())
        whole = re.sub(r"^([^[<>-]+)\[(.*?)\]", r"\1 where \2", text)
        found = _OUTSIDE.search(whole)
        if found is None or self._predicates.spellings(found[2]):
            return None
        front, inside, rest = whole[: found.start()], f"[{found[1]}]", whole[found.end() :]
        steps = [one for one in self._vocabulary.leaving(start) if one.endswith(f" {front}")]
        reader, right = PatternReader(self._vocabulary, self._entities, self._argument), ""
        for begin in (*steps[:6], front, f"{front} *"):
            with suppress(ToolError):
                right = f' Write "{plain(reader._path([begin + inside + rest], start).text)}".'
                break
        if front and not right:
            return None
        what = f"{excerpt(text)} lacks a relation, or brackets around a condition.{right}"
        return step_error(f"{self._argument}: {what}", argument=self._argument)

    def _path(self, texts: Sequence[str], start: Collection[str] | None) -> Path:
        written: list[WrittenStep] = []
        for text in texts:
            reader = self._reader(text, before=len(written))
            written += reader.steps()
            self.unknown += reader.unknown
        if len(written) > MAX_STEPS:
            raise self._too_long(f"has {len(written)} steps in a row; the limit is {MAX_STEPS}.")
        steps: list[Step] = []
        first, at = Pattern(), start
        for one in written:
            front = self._end(one, one.front, at)
            if front != Pattern():
                if steps:
                    steps[-1] = _narrowed(steps[-1], front, one)
                else:
                    first = front
                at = front.types or at
            steps.append(self._step(one, at))
            at = steps[-1].types
        path = Path(tuple(steps), first)
        if path.longest > MAX_STEPS:
            raise self._too_long(
                f"may take {path.longest} steps in all; the limit is {MAX_STEPS}. "
                "Lower the upper bound in {m,n}."
            )
        return path

    def _too_long(self, why: str) -> ToolError:
        return step_error(f"{self._argument} {why}", "too_large", self._argument)

    def _reader(self, text: str, before: int = 0) -> StepReader:
        names = self._vocabulary, self._entities
        return StepReader(text, *names, before=before, argument=self._argument)

    def _step(self, one: WrittenStep, at: Collection[str] | None) -> Step:
        """A step that starts at nodes of the given types; None for any."""
        predicates = self._spelled(one, one.predicates, "predicate", at)
        end = self._end(one, one.end, at)
        known = self._outline.edge_properties
        edges = [c for text in one.brackets for c in self._properties(text, known, predicates)]
        step = Step(predicates, one.direction, end, one.least, one.most, tuple(edges))
        return self._directed(one, step, at) if one.bare else step

    def _end(self, one: WrittenStep, end: WrittenEnd, at: Collection[str] | None) -> Pattern:
        """The nodes at one end of a step."""
        if end.entities:
            return Pattern(ids=frozenset().union(*map(self._entities.__getitem__, end.entities)))
        return self._pattern(self._spelled(one, end.types, "type", at), end.brackets)

    def _directed(self, one: WrittenStep, step: Step, at: Collection[str] | None) -> Step:
        """A step without a direction in the only possible one.

        Raises:
            ToolError: Both directions are possible.
        """
        directions, predicates = self._vocabulary.directions, step.predicates or frozenset()
        back: dict[EdgeDirection, EdgeDirection] = {"out": "in", "in": "out"}
        possible = directions(predicates, at)
        possible &= {back[way] for way in directions(predicates, step.types)}
        if len(possible) == 1:
            return replace(step, direction=possible.pop())
        leaving, entering = replace(step, direction="out"), replace(step, direction="in")
        raise one.error(
            "has no direction, and both are possible: "
            f"{excerpt(leaving.text)} (leaving) or {excerpt(entering.text)} (entering)."
        )

    def _spelled(
        self, one: WrittenStep, names: Sequence[str], what: str, at: Collection[str] | None
    ) -> frozenset[str] | None:
        """Types or predicates in the spelling of the graph; None if a step names none."""
        known, spelled = self._types if what == "type" else self._predicates, []
        for name in names:
            same = known.spellings(name)
            if len(same) == 1:
                if same[0] != name:
                    self.replaced.append(read_as(self._argument, name, same[0]))
            elif same or self._vocabulary.schema.comprehensive:
                raise self._unknown(one, name, what, at)
            else:
                self.doubts.append(
                    f"{self._argument}: the sample of this graph's schema has no {what} "
                    f"{excerpt(name)}.{nearest(known, name)}"
                )
            spelled += same or [name]
        return frozenset(spelled) or None

    def _unknown(
        self, one: WrittenStep, name: str, what: str, at: Collection[str] | None
    ) -> ToolError:
        """The error of a type or predicate that the graph does not have."""
        leaving = self._vocabulary.leaving(at)[:6]
        where = "" if at is None else f" at {_or(at)}"
        advice = nearest(self._types if what == "type" else self._predicates, name)
        if leaving:
            advice += f" Relations{where}: {', '.join(map(excerpt, leaving))}."
        advice = advice or " describe_schema lists them."
        error = one.error(f"names a {what} that this graph does not have: {excerpt(name)}.{advice}")
        if what == "predicate":
            return error
        self.unknown.append(name)
        return UnknownType(str(error), self._argument, name)


def _or_itself(parts: Mapping[Part, Part], one: Part) -> Part:
    return parts.get(one, one)


def wrong_step(text: str, why: str) -> ToolError:
    """Create the error of a condition of `where` on steps."""
    return bad_value(
        f'where: {excerpt(text)} {why}. Steps are compared like "2 != 0" (the node of step 2 is '
        'not the seed) or "3 = 0" (a cycle).',
        "where",
    )


def _narrowed(step: Step, front: Pattern, one: WrittenStep) -> Step:
    """The step before the one that has this pattern in front."""
    end = step.end
    types = front.types if end.types is None else end.types & (front.types or end.types)
    if types is not None and not types:
        raise one.error(
            f"starts at {_or(front.types or ())}, but the step before it ends at "
            f"{_or(step.types or ())}. Make them agree, or leave out the type before the step."
        )
    conditions = tuple(dict.fromkeys((*end.conditions, *front.conditions)))
    relations = tuple(dict.fromkeys((*end.relations, *front.relations)))
    return replace(step, end=Pattern(types, conditions, relations, end.ids))


def _or(names: Collection[str]) -> str:
    return " or ".join(map(plain, sorted(names)))
