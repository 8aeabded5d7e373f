"""Types and predicates as a call names them, against those of the graph (`protocol.md` 13).

A value that the graph does not know is never an error, since recipes travel
from graph to graph: a note names it, and the closest known ones.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from bfsql.answers.notes import listed

NEAR = 3
"""Known values that a note suggests."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The vocabulary of a graph."""

    entity_types: tuple[str, ...]
    predicates: tuple[str, ...]
    comprehensive: bool
    """Whether the two lists are complete."""


def matched(
    argument: str, values: Sequence[str], known: Sequence[str], *, complete: bool
) -> tuple[list[str], list[str]]:
    """The values in the graph's spelling, and notes on those that it does not have.

    Args:
        argument: The argument that they came in.
        values: As the call named them.
        known: What `describe_schema` lists.
        complete: Whether that list is.
    """
    taken: list[str] = []
    notes: list[str] = []
    spelled = frozenset(known)
    for value in values:
        if value in spelled:
            taken.append(value)
            continue
        same = [other for other in known if other.casefold() == value.casefold()]
        if len(same) == 1:
            notes.append(f"{argument}: took {same[0]!r} for {value!r}.")
            taken.append(same[0])
            continue
        taken.append(value)
        notes.append(_unknown(argument, value, known, complete=complete))
    return list(dict.fromkeys(taken)), notes


def _unknown(argument: str, value: str, known: Sequence[str], *, complete: bool) -> str:
    folded = {other.casefold(): other for other in known}
    near = [folded[n] for n in difflib.get_close_matches(value.casefold(), folded, n=NEAR)]
    where = "this graph" if complete else "the sample of this graph's schema"
    hint = (
        f"The closest are: {listed(near)}."
        if near
        else "describe_schema and schema_summary list what there is."
    )
    return f"{argument}: {where} has no {value!r}, so it matches nothing. {hint}"
