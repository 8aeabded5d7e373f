"""Types and predicates as a call names them, against those of the graph (`protocol.md` 13).

A value that the graph does not know is never an error, since recipes travel
from graph to graph: a note names it, and the closest known ones.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from bfsql.answers.notes import SHOWN, listed
from bfsql.tools.check import shown

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
    unknown: list[str] = []
    spelled = frozenset(known)
    folded: dict[str, list[str]] = {}
    for other in known:
        folded.setdefault(other.casefold(), []).append(other)
    for value in chain.from_iterable(_parts(joined, spelled) for joined in values):
        same = [value] if value in spelled else folded.get(value.casefold(), [])
        if len(same) != 1:
            unknown.append(value)
        elif same[0] != value:
            notes.append(f"{argument}: took {shown(same[0])} for {shown(value)}.")
        taken.append(same[0] if len(same) == 1 else value)
    notes += [_unknown(argument, value, folded, complete=complete) for value in unknown[:SHOWN]]
    if len(unknown) > SHOWN:
        notes.append(f"{argument}: {len(unknown) - SHOWN} more values match nothing either.")
    return list(dict.fromkeys(taken)), notes


def _parts(value: str, spelled: frozenset[str]) -> list[str]:
    """The values in one: `drug,gene` can only mean two where the graph knows just those."""
    parts = [part.strip() for part in value.split(",")]
    return parts if value not in spelled and spelled.issuperset(parts) else [value]


def _unknown(argument: str, value: str, folded: dict[str, list[str]], *, complete: bool) -> str:
    close = difflib.get_close_matches(value.casefold(), folded, n=NEAR)
    near = [other for name in close for other in folded[name]]
    where = "this graph" if complete else "the sample of this graph's schema"
    hint = (
        f"The closest are: {listed(near)}."
        if near
        else "describe_schema and schema_summary list what there is."
    )
    return f"{argument}: {where} has no {shown(value)}, so it matches nothing. {hint}"
