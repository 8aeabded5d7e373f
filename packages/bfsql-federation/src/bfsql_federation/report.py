"""`bfsql federation`: which entities of the graphs met, and by which rule.

A wrong rule is seen here before a model sees what it made.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from contextlib import aclosing
from dataclasses import dataclass

import click

from bfsql.abc import ForwardingBackend
from bfsql.cli.configuration import Configuration
from bfsql.cli.configured import ConfiguredCommand, opened
from bfsql.cli.render import print_table
from bfsql.errors import ConfigurationError
from bfsql_federation.backend import FederationBackend


@dataclass(frozen=True)
class Meetings:
    """Where the graphs meet."""

    entities: dict[str, int]
    """The number of entities of each graph."""
    shared: dict[tuple[str, ...], int]
    """By the names of graphs, the number of entities that exactly these have."""
    rules: dict[str, int]
    """By rule, the number of ids that it made another one; "same id" for those of no rule."""
    largest: list[list[str]]
    """The entities with the most ids: the canonical one first, the others with their graphs."""


@click.group("federation")
def federation() -> None:
    """Several graphs as one."""


@federation.command("report", cls=ConfiguredCommand, examples=("bfsql federation report",))
def report(configuration: Configuration) -> None:
    """Show how many entities are in several graphs, by which rule, and the largest sets of ids."""
    found = asyncio.run(_report(configuration))
    print_table(("graph", "entities"), [(name, f"{n:,}") for name, n in found.entities.items()])
    shared = [(", ".join(names), f"{n:,}") for names, n in found.shared.items()]
    print_table(("entities in exactly these graphs", "number"), shared)
    print_table(
        ("ids that met by", "number"), [(rule, f"{n:,}") for rule, n in found.rules.items()]
    )
    print_table(("entity", "its ids"), [(one, ", ".join(some)) for one, *some in found.largest])


async def _report(configuration: Configuration) -> Meetings:
    async with opened(configuration) as graph:
        backend = graph.db
        while isinstance(backend, ForwardingBackend):
            backend = backend._inner  # noqa: SLF001 - cache and breaker stand before it
        if not isinstance(backend, FederationBackend):
            raise ConfigurationError(
                "bfsql federation report is about a federation: bfsql.toml with "
                '[backend] name = "federation".'
            )
        return await meetings(backend)


async def meetings(backend: FederationBackend) -> Meetings:
    """Where the graphs of a federation meet; reads the ids of all entities.

    Raises:
        EntitiesNotListed: A graph cannot list its entities.
    """
    identifiers = backend.identifiers
    own: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for member in backend.members:
        async with aclosing(member.db.nodes_stream()) as batches:
            async for batch in batches:
                for node in batch:
                    own[identifiers.canonical(node.id)].append((member.name, node.id))
    graphs = {one: tuple(dict.fromkeys(name for name, _ in some)) for one, some in own.items()}
    met = {one: some for one, some in own.items() if len(some) > 1}
    rules = Counter(
        identifiers.reason(spelt) or "same id" for some in met.values() for _, spelt in some
    )
    ranked = sorted(met, key=lambda one: (-len({spelt for _, spelt in met[one]}), one))
    return Meetings(
        {one.name: sum(one.name in some for some in graphs.values()) for one in backend.members},
        dict(Counter(graphs.values()).most_common()),
        dict(rules.most_common()),
        [[one, *(f"{i} ({name})" for name, i in met[one])] for one in ranked[:10]],
    )
