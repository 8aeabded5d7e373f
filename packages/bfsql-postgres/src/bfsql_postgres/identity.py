"""Ids that are in several tables of nodes: one thing told twice, or two things by accident."""

from __future__ import annotations

import logging

from bfsql_postgres import queries
from bfsql_postgres.layout import Layout
from bfsql_postgres.pool import Pool

SECONDS = 2.0
"""What the look for them may take."""
NAMED = 3
"""Pairs of tables that are told."""

log = logging.getLogger("bfsql.postgres")


async def told_of_shared_ids(pool: Pool, layout: Layout) -> str:
    """Which tables share ids, with an example and a cure; nothing where none do.

    It is no error, since two tables may tell of the same things. A look at some ids of each table
    finds tables that both count from 1.

    Args:
        pool: Where the statement runs.
        layout: Where the graph is.
    """
    if len(layout.nodes) < 2:  # noqa: PLR2004 - one table shares with none
        return ""
    try:
        rows = await pool.fetch(queries.shared(layout), seconds=SECONDS)
    except TimeoutError:
        log.info("Whether tables of nodes share ids could not be seen within %g s.", SECONDS)
        return ""
    examples = {tuple(sorted((one, other))): entity_id for one, other, entity_id in rows}
    if not examples:
        return ""
    tables = [f"{nodes.relation.schema}.{nodes.relation.name}" for nodes in layout.nodes]
    told = [
        f"the id {entity_id!r} is in {tables[one]} and in {tables[other]}"
        for (one, other), entity_id in sorted(examples.items())[:NAMED]
    ]
    return (
        f"Ids are shared between tables of nodes: {', '.join(told)}. An id is one node, with the "
        f"type of the first table and the edges of both. Where that mixes up different things, "
        "serve views whose ids carry a prefix (SELECT 'person:' || id::text AS id, ...), those of "
        "the edges too."
    )
