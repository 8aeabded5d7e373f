"""Neo4j: nodes by type and condition, compared with the statement written by hand.

Texts are equal without case and accents. A statement by hand that means the same compares those of
ASCII itself and returns the others, to be compared by its client. All texts are ASCII here, so that
a statement that ignores only case returns the same nodes, and is compared with, too.
"""

from __future__ import annotations

from contextlib import aclosing
from functools import partial

from neo4j import AsyncDriver
from timing import WALL, side_by_side

from bfsql.models import Node, PropertyCondition
from bfsql_neo4j import Neo4jBackend

BY_HAND: dict[str, tuple[PropertyCondition | None, str]] = {
    "a whole type": (None, ""),
    "a number": (
        PropertyCondition("total_mentions", "=", ("8",)),
        "WHERE n.total_mentions = $value",
    ),
    "a range": (
        PropertyCondition("total_mentions", ">=", ("5",)),
        "WHERE n.total_mentions >= $value",
    ),
    "a text": (
        PropertyCondition("name", "=", ("kakalo kaka 40",)),
        "WHERE CASE WHEN n.name =~ '[ -~]*' THEN toLower(n.name) = $value ELSE true END",
    ),
    "a text, only case": (
        PropertyCondition("name", "=", ("kakalo kaka 40",)),
        "WHERE toLower(n.name) = $value",
    ),
    "part of a text": (
        PropertyCondition("name", "~", ("mi",)),
        "WHERE toLower(n.name) CONTAINS $value",
    ),
    "a list": (
        PropertyCondition("synonyms", "=", ("x-40",)),
        (
            "WHERE any(x IN n.synonyms "
            "WHERE CASE WHEN x =~ '[ -~]*' THEN toLower(x) = $value ELSE true END)"
        ),
    ),
    "a list, only case": (
        PropertyCondition("synonyms", "=", ("x-40",)),
        "WHERE any(x IN n.synonyms WHERE toLower(x) = $value)",
    ),
}


async def report(backend: Neo4jBackend, driver: AsyncDriver, turns: int) -> None:
    """Print a line for each condition, among a fifth of the nodes.

    Args:
        backend: An open backend.
        driver: The driver of its database.
        turns: Turns of each comparison.
    """
    print("\nnodes of a type, wall time       by hand      ours   ratio     nodes   (goal: 1.3 x)")
    for what, (given, where) in BY_HAND.items():
        conditions, value = [], None
        if given is not None:
            conditions = [given]
            value = given.literals[0].number or given.values[0]
        ours = partial(_by_the_backend, backend, conditions)
        by_hand = partial(_by_hand, driver, where, value)
        pair = await side_by_side(what, ours, by_hand, turns, WALL)
        line = f"{pair.what:30}{pair.floor * 1000:8.1f} ms{pair.ours * 1000:7.1f} ms"
        print(f"{line}{pair.ratio:8.2f}{len((await by_hand()).splitlines()):10,}")


async def _by_the_backend(backend: Neo4jBackend, conditions: list[PropertyCondition]) -> bytes:
    stream = backend.nodes_stream(entity_types=["paper"], conditions=conditions)
    async with aclosing(stream) as batches:
        return _sorted([node async for nodes in batches for node in nodes])


async def _by_hand(driver: AsyncDriver, where: str, value: str | float | None) -> bytes:
    text = f"MATCH (n:paper) {where} RETURN collect([n.entity_id, labels(n)[0]])"
    async with driver.session(default_access_mode="READ", fetch_size=-1) as session:
        [[found]] = [record async for record in await session.run(text, value=value)]
    return _sorted([Node(*row) for row in found])


def _sorted(nodes: list[Node]) -> bytes:
    return "\n".join(sorted(f"{node.id} {node.entity_type}" for node in nodes)).encode()
