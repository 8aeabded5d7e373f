"""The steps of a path, as models write them (`asking.md` 6).

    "-studies-> Disease"        leaving edges of that predicate, to that type
    "<-tests- Trial"            entering edges
    "-interacts_with- Protein"  either way
    "-inhibits|activates->"     one of two predicates, any type
    "-->", "<-- Paper", "--"    any predicate
    "-is_a->{1,3}"              the same step once to three times

Names may contain any characters, so the longest known name wins wherever a name is expected.
Unambiguous variants are accepted: `>studies`, `<tests`, `^tests`, a bare `studies`,
`-[:STUDIES]->(Disease)`, several arrows in one string, a type in front, another case.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from bfsql.answers.clean import excerpt, plain
from bfsql.answers.notes import counted, listed
from bfsql.errors import ToolError
from bfsql.models import MAX_STEPS, EdgeDirection, Path, PathQuery, Pattern, Relation, Step
from bfsql.models.spelling import KnownNames
from bfsql.tools.arrows import ParsedStep, StepReader, step_error
from bfsql.tools.schema import Schema


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names that a path may use.

    Args:
        schema: Types and predicates of the graph.
        seed_types: Types of the seeds.
        relations: The relations of predicates between types in the graph's outline, if known.
        whole: Whether there are no other relations.
    """

    schema: Schema
    seed_types: frozenset[str] = frozenset()
    relations: Sequence[Relation] = ()
    whole: bool = False

    def leaving(self, types: Collection[str] | None) -> list[str]:
        """The relations of some types, as steps that start there, the most frequent first."""
        steps: dict[str, None] = {}
        for subject, predicate, other, _ in self.relations:
            if types is None or subject in types:
                steps[f"-{predicate}-> {other}"] = None
            if types is None or other in types:
                steps[f"<-{predicate}- {subject}"] = None
        return list(steps)

    def directions(self, predicates: Collection[str], types: Collection[str]) -> set[EdgeDirection]:
        """The directions in which relations of some predicates leave some types."""
        found: set[EdgeDirection] = set()
        for subject, predicate, other, _ in self.relations:
            if predicate in predicates:
                found |= {"out"} if subject in types else set()
                found |= {"in"} if other in types else set()
        return found


@dataclass(frozen=True, slots=True)
class PathArguments:
    """The arguments of a call that concern a path, as they were given."""

    path: Sequence[str]
    show: str | None
    count_distinct: int | None
    max_hops: int | None


class ResolvedPath(NamedTuple):
    """The query of a call with a path, and notes on its names."""

    query: PathQuery
    replaced: list[str]
    """Notes on names that were replaced by the names of the graph."""
    doubts: list[str]
    """Notes on names that a sample of the schema lacks, to explain an empty result."""


def path_query(
    of_path: PathArguments, vocabulary: Vocabulary, arguments: Mapping[str, Any]
) -> ResolvedPath:
    """Build the query of a call with a path from these and the other arguments.

    Raises:
        ToolError: The path cannot be read, or an argument does not agree with it.
    """
    path, replaced, doubts = parsed(of_path.path, vocabulary)
    last = len(path.steps)
    if of_path.max_hops not in (None, path.longest):
        raise ToolError(
            f"max_hops={of_path.max_hops} does not agree with path, whose longest walk has "
            f"{counted(path.longest, 'edge')}. Leave max_hops out, or give a path of that length.",
            kind="bad_value",
            argument="max_hops",
        )
    shown_step, walks = _shown_step(of_path.show, last)
    if of_path.count_distinct is not None and of_path.count_distinct > last:
        raise _no_step("count_distinct", of_path.count_distinct, last)
    query = PathQuery(
        path=path,
        show=shown_step,
        walks=walks,
        count_distinct=of_path.count_distinct,
        **arguments,
    )
    return ResolvedPath(query, replaced, doubts)


def without_steps(show: str | None, count_distinct: int | None) -> None:
    """Check that a call without a path has no arguments about steps.

    Raises:
        ToolError: An argument refers to steps.
    """
    for argument, value in (("show", show), ("count_distinct", count_distinct)):
        if value is not None:
            raise ToolError(
                f"{argument} speaks of the steps of a path. Give path as well, or leave "
                f"{argument} out.",
                kind="bad_value",
                argument=argument,
            )


def _shown_step(show: str | None, last: int) -> tuple[int | None, bool]:
    """The step whose nodes are shown, None for the last, and whether their walks are shown."""
    text = (show or "all").strip().casefold()
    if text in ("all", "ends"):
        return None, text == "all"
    if not text.isdecimal():
        raise ToolError(
            f'show must be "all" (the last step\'s nodes with their walks), "ends" (these nodes '
            f"alone) or the number of a step, from 0 (the seeds) to {last}, not {excerpt(show)}.",
            kind="bad_value",
            argument="show",
        )
    if len(text) > 1 or int(text) > last:
        raise _no_step("show", show, last)
    return int(text), False


def _no_step(argument: str, value: object, last: int) -> ToolError:
    return ToolError(
        f"{argument}={value}: path has {counted(last, 'step')}. Give a number from 0 (the seeds) "
        f"to {last}.",
        kind="bad_value",
        argument=argument,
    )


def parsed(texts: Sequence[str], vocabulary: Vocabulary) -> tuple[Path, list[str], list[str]]:
    """Parse strings with one or several steps each.

    Returns:
        The path, notes on replaced names, and notes on names that may not exist.

    Raises:
        ToolError: A step cannot be read, names something that the graph does not have, or has
            an ambiguous direction; or there are too many steps.
    """
    raw: list[ParsedStep] = []
    names = _StepNames(vocabulary)
    for text in texts:
        raw += StepReader(text, names.known_predicates, names.known_types, len(raw)).steps()
    if len(raw) > MAX_STEPS:
        raise step_error(f"path has {len(raw)} steps; at most {MAX_STEPS} are taken.", "too_large")
    steps: list[Step] = []
    start: frozenset[str] | None = None
    at: Collection[str] | None = vocabulary.seed_types or None
    for one in raw:
        front = names.types(one, one.front, at)
        if front is not None:
            if steps:
                steps[-1] = _narrowed(steps[-1], front, one)
            else:
                start = front
            at = front
        steps.append(names.step(one, at))
        at = steps[-1].types
    path = Path(tuple(steps), Pattern(start))
    if path.longest > MAX_STEPS:
        raise step_error(
            f"path may take {path.longest} steps in all; at most {MAX_STEPS} are taken. Lower the "
            "upper bound in {m,n}.",
            "too_large",
        )
    return path, names.replaced, names.doubts


def _narrowed(step: Step, front: frozenset[str], one: ParsedStep) -> Step:
    """The step before the one that has these types in front."""
    types = front if step.types is None else step.types & front
    if not types:
        raise step_error(
            f"{one.name} starts at {_or(front)}, but the step "
            f"before it ends at {_or(step.types or ())}. Make them agree, or leave the type in "
            "front out.",
        )
    return replace(step, end=replace(step.end, types=types))


class _StepNames:
    """Converts the names of steps to the spelling of the graph and collects notes on them."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.known_predicates = KnownNames(vocabulary.schema.predicates)
        self.known_types = KnownNames(vocabulary.schema.entity_types)
        self.replaced: list[str] = []
        self.doubts: list[str] = []

    def step(self, one: ParsedStep, at: Collection[str] | None) -> Step:
        """A step that starts at nodes of the given types; None for any."""
        known = self.known_predicates
        predicates = self._spelled(one, one.predicates, known, "predicate", at)
        types = self.types(one, one.types, at)
        step = Step(predicates, one.direction, Pattern(types), one.least, one.most)
        return self._directed(one, step, at) if one.bare else step

    def types(
        self, one: ParsedStep, names: Sequence[str], at: Collection[str] | None
    ) -> frozenset[str] | None:
        """The types of a step; None for any."""
        return self._spelled(one, names, self.known_types, "type", at)

    def _directed(self, one: ParsedStep, step: Step, at: Collection[str] | None) -> Step:
        """A step without a direction in the only possible one.

        Raises:
            ToolError: Both directions are possible.
        """
        vocabulary, predicates = self._vocabulary, step.predicates or frozenset()
        possible: set[EdgeDirection] = {"out", "in"}
        if vocabulary.whole and at is not None:
            possible &= vocabulary.directions(predicates, at)
        if vocabulary.whole and step.types is not None:
            ways = vocabulary.directions(predicates, step.types)
            possible &= {"in" if way == "out" else "out" for way in ways}
        if len(possible) == 1:
            return replace(step, direction=possible.pop())
        leaving, entering = replace(step, direction="out"), replace(step, direction="in")
        raise step_error(
            f"{one.name} names no direction, and both may be "
            f"meant: {excerpt(leaving.text)} (leaving) or {excerpt(entering.text)} (entering)."
        )

    def _spelled(
        self,
        one: ParsedStep,
        names: Sequence[str],
        known: KnownNames,
        what: str,
        at: Collection[str] | None,
    ) -> frozenset[str] | None:
        """Types or predicates in the spelling of the graph; None if a step names none."""
        spelled = []
        for name in names:
            same = known.spellings(name)
            if len(same) == 1:
                if same[0] != name:
                    self.replaced.append(f"path: took {excerpt(same[0])} for {excerpt(name)}.")
                spelled.append(same[0])
                continue
            if same or self._vocabulary.schema.comprehensive:
                near = [spellings[0] for spellings in known.nearest(name)]
                raise self._unknown(one, name, what, near, at)
            nearest = _nearest(difflib.get_close_matches(name, known.names))
            self.doubts.append(
                f"path: the sample of this graph's schema has no {what} {excerpt(name)}.{nearest}"
            )
            spelled.append(name)
        return frozenset(spelled) or None

    def _unknown(
        self,
        one: ParsedStep,
        name: str,
        what: str,
        near: Sequence[str],
        at: Collection[str] | None,
    ) -> ToolError:
        leaving = self._vocabulary.leaving(at)[:6]
        where = "" if at is None else f" at {_or(at)}"
        advice = _nearest(near)
        if leaving:
            advice += f" Relations{where}: {', '.join(map(excerpt, leaving))}."
        return step_error(
            f"{one.name} names a {what} that this graph does "
            f"not have: {excerpt(name)}.{advice or ' describe_schema lists what there is.'}"
        )


def _nearest(names: Sequence[str]) -> str:
    return f" The nearest: {listed(names)}." if names else ""


def _or(names: Collection[str]) -> str:
    return " or ".join(map(plain, sorted(names)))
