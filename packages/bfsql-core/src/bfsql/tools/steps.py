"""The arguments of a call that concern the steps of a path (`protocol.md` 30)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bfsql.answers.notes import counted
from bfsql.errors import ToolError, bad_value
from bfsql.models import Path, PathQuery, PropertyCondition, ScopedRelation, StepComparison
from bfsql.models.pattern import SHOWN
from bfsql.models.quotation import excerpt
from bfsql.query.expressions import may_compute
from bfsql.query.patterns import wrong_step
from bfsql.query.properties import computed_fields, sorted_step

ROWS = 50
"""Number of walks on a page of `show: "walks"` where `limit` is left out (`protocol.md` 38)."""


@dataclass(frozen=True, slots=True)
class PathArguments:
    """The arguments of a call that concern a path, as they were given."""

    path: Sequence[str]
    show: str | None
    count_distinct: int | None
    measure: Sequence[str]
    max_hops: int | None
    having: tuple[PropertyCondition, ...] = ()
    """Conditions on named measures."""


def path_query(of_path: PathArguments, path: Path, arguments: Mapping[str, Any]) -> PathQuery:
    """Build the query of a call with a path from these and the other arguments.

    Args:
        of_path: The arguments that concern the path.
        path: The steps that `of_path.path` names.
        arguments: The other arguments of the query.

    Raises:
        ToolError: An argument does not agree with the path.
    """
    last = len(path.steps)
    if of_path.max_hops not in (None, path.longest):
        raise bad_value(
            f"max_hops={of_path.max_hops} does not agree with path, whose longest walk has "
            f"{counted(path.longest, 'edge')}. Leave max_hops out, or give a path of that length.",
            "max_hops",
        )
    if of_path.count_distinct is not None and of_path.count_distinct > last:
        raise _no_step("count_distinct", of_path.count_distinct, last)
    are_rows = (of_path.show or "").strip().casefold() == "walks"
    if any(SHOWN in (one.step, one.other) for one in arguments["comparisons"]):
        shown = None if are_rows else _shown_step(of_path.show, last)[0]
        shown = last if shown is None else shown
        comparisons = [one.showing(shown) for one in arguments["comparisons"]]
        arguments = {**arguments, "comparisons": comparisons}
    _check_steps(arguments, last)
    _check_fields(arguments["fields"], last if are_rows else 0)
    of_query = {
        **arguments,
        "path": path,
        "count_distinct": of_path.count_distinct,
        "measure": list(of_path.measure),
        "having": of_path.having,
    }
    step, sort_by = None, arguments["sort_by"]
    if sort_by is not None and not may_compute(sort_by.lstrip(" +-")):
        step, of_query["sort_by"] = sorted_step(sort_by)
        if step is not None and step > last:
            raise _no_step("sort_by", excerpt(sort_by), last)
    if are_rows:
        return _row_query(of_query, step, last)
    shown_step, walks = _shown_step(of_path.show, last)
    query = PathQuery(show=shown_step, walks=walks, **of_query)
    if step not in (None, query.shown_step):
        raise bad_value(
            f"sort_by orders the shown nodes, which are those of step {query.shown_step}, and "
            f"names step {step}. Give show={step} for the nodes of that step, or "
            'show="walks" for walks in their order.',
            "sort_by",
        )
    return query


def _row_query(of_query: dict[str, Any], step: int | None, last: int) -> PathQuery:
    """The query of a call that shows walks, ordered by the nodes of a step if it names one."""
    for argument in ("count_distinct", "measure"):
        if of_query[argument] not in (None, []):
            raise bad_value(
                f'{argument} is about shown nodes, and show="walks" shows walks. Leave one of the '
                "two out.",
                argument,
            )
    if step is None:
        step = 0 if of_query["sort_by"] is None else last
    if of_query["limit"] is None:
        of_query["limit"] = ROWS
    return PathQuery(row_step=step, **of_query)


def _check_steps(arguments: Mapping[str, Any], last: int) -> None:
    """Check that the conditions name steps of the path.

    Raises:
        ToolError: There is no such step, or steps are compared with two different ones.
    """
    comparisons: Sequence[StepComparison] = arguments["comparisons"]
    relations: Sequence[ScopedRelation] = arguments["relations"]
    steps = [(one.text, number) for one in comparisons for number in (one.step, one.other)]
    for one in comparisons:
        if one.step == one.other and one.expression is None:
            raise wrong_step(one.text, "compares a step with itself")
    for text, number in [*steps, *((one.text, one.step or 0) for one in relations)]:
        if number > last:
            raise wrong_step(text, f"names a step that the path does not have: it has 0 to {last}")
    of_two = [one for one in comparisons if one.step != one.other]
    for one in of_two:
        if not one.steps:
            raise wrong_step(one.text, "names the edges of two steps; of one of them name nodes")
    if of_two and not frozenset.intersection(*(one.steps for one in of_two)):
        raise wrong_step(
            of_two[-1].text,
            "compares with another step than the other comparisons; all of them name one step in "
            "common, such as 0 (the seeds)",
        )


def _check_fields(fields: Sequence[str], steps: int) -> None:
    """Check that `fields` names steps that there are, of walks that are shown."""
    if computed_fields(fields, steps) and not steps:
        raise bad_value(
            'fields: expressions over steps need path and show="walks", or measure: "max 2.w-1.w".',
            "fields",
        )


def without_steps(where: Mapping[str, Any], **arguments: object) -> None:
    """Check that a call without a path has no arguments about steps.

    Raises:
        ToolError: An argument refers to steps.
    """
    _check_fields(where["fields"], 0)
    numbered = [one.text for one in where["relations"] if one.step is not None]
    for text in (*(one.text for one in where["comparisons"]), *numbered):
        raise wrong_step(text, "names a step of a path, but this call has no path")
    for argument, value in arguments.items():
        if value not in (None, []):
            raise bad_value(
                f"{argument} refers to the steps of a path. Give path as well, or leave "
                f"{argument} out.",
                argument,
            )


def _shown_step(show: str | None, last: int) -> tuple[int | None, bool]:
    """The step whose nodes are shown, None for the last, and whether their walks are shown."""
    text = (show or "all").strip().casefold()
    if text in ("all", "ends"):
        return None, text == "all"
    if not text.isdecimal():
        raise bad_value(
            f'show must be "all" (the last step\'s nodes with their walks), "ends" (these nodes '
            f'alone), "walks" (one row a walk) or the number of a step, from 0 (the seeds) to '
            f"{last}, not {excerpt(show)}.",
            "show",
        )
    if len(text) > 1 or int(text) > last:
        raise _no_step("show", show, last)
    return int(text), False


def _no_step(argument: str, value: object, last: int) -> ToolError:
    return bad_value(
        f"{argument}={value}: path has {counted(last, 'step')}. Give a number from 0 (the seeds) "
        f"to {last}.",
        argument,
    )
