"""The two lists: sorted, and what nodes and edges say."""

from __future__ import annotations

from collections.abc import Iterable

from bfsql.abc import adapted
from bfsql.conformance.reading.looking import sample, some_edges
from bfsql.conformance.rule import expect, rule
from bfsql.conformance.trial import Trial


@rule(
    "types-sorted",
    "entity_types is sorted, each once",
    source="the backend contract: entity_types gives every value that occurs, sorted",
    mode="reading",
)
async def types_sorted(trial: Trial) -> None:
    """By code point."""
    async with trial.opened() as db:
        _sorted("entity_types", await db.entity_types())


@rule(
    "predicates-sorted",
    "predicates is sorted, each once",
    source="the backend contract: predicates gives every value that occurs, sorted",
    mode="reading",
)
async def predicates_sorted(trial: Trial) -> None:
    """By code point."""
    async with trial.opened() as db:
        _sorted("predicates", await db.predicates())


@rule(
    "types-match",
    "entity_types lists the types that nodes have",
    source="protocol 9: entity_types() lists the values that occur as entity_type",
    mode="reading",
)
async def types_match(trial: Trial) -> None:
    """In the same spelling; an open-world graph may list fewer."""
    async with trial.opened() as db:
        listed = set(await db.entity_types())
        if not await adapted(db).comprehensive():
            trial.odd("The backend says that the two lists are not comprehensive.")
            return
        for node in await db.get_nodes_batch(await sample(trial, db)):
            expect(
                node.entity_type in listed,
                f"{node.id!r} is of type {node.entity_type!r}, which entity_types lacks.",
            )


@rule(
    "predicates-match",
    "predicates lists the predicates that edges have",
    source="protocol 23: one spelling, the one that describe_schema lists",
    mode="reading",
)
async def predicates_match(trial: Trial) -> None:
    """In the same spelling; an open-world graph may list fewer."""
    async with trial.opened() as db:
        listed = set(await db.predicates())
        if not await adapted(db).comprehensive():
            trial.odd("The backend says that the two lists are not comprehensive.")
            return
        for edge in await some_edges(trial, db):
            expect(edge[1] in listed, f"{edge} has a predicate that predicates lacks.")


def _sorted(method: str, names: Iterable[str]) -> None:
    names = list(names)
    expect(all(isinstance(name, str) for name in names), f"{method} gave {names}, not texts.")
    expect(sorted(set(names)) == names, f"{method} gave {names}; sorted, each once, is due.")
