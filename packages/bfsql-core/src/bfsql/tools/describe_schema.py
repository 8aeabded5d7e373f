"""Orientation: the schema of the graph or of a neighbourhood, and the edges of an entity."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from bfsql import answers, call
from bfsql.abc import DEFAULT_NEXT_STEPS, NormalizedBackend
from bfsql.answers import Answer
from bfsql.answers.notes import Missing, counted, dangling, left_out
from bfsql.answers.schema_text import NO_SCHEMA_TEXT, WHOLE, outline_text, relations_around
from bfsql.call import Limits
from bfsql.engine.numbered import columns_of
from bfsql.engine.plan import Bounds
from bfsql.engine.traverse import directions_of, relations_of, traverse
from bfsql.errors import FirstRingTooLarge
from bfsql.integers import NodeSet
from bfsql.models import SchemaDescription
from bfsql.models.name_keys import ANY_TYPE
from bfsql.models.quotation import SHOWN
from bfsql.query.vocabulary import Schema
from bfsql.schema_statistics import evenly_spaced
from bfsql.tools.budget import Budget
from bfsql.tools.descriptions import usage_notes
from bfsql.tools.resolve import NameResolver
from bfsql.tools.schema import GraphSchema, key_notes

COUNT_SECONDS = 5.0
"""Seconds that a description may spend on counting edges, at most half of the remaining time."""
MOST_DIRECTIONS = 100
"""Maximum number of predicates and directions in a description."""

COUNTING = Missing(
    "relations and properties are still being counted; describe_schema shows them in some seconds."
)
EMPTY = "The graph has no nodes and no edges at present. While it is being loaded, ask again."
UNCOUNTED = Missing(
    "edges: not counted in time. bfs_query with a path reads those of one predicate."
)


async def whole_schema(
    db: NormalizedBackend, known: GraphSchema, description: str, limits: Limits
) -> Answer:
    """Describe the contents of the graph, beginning with the operator's description."""
    schema = await call.within(known.lists())
    steps = await call.within(db.next_steps()) or DEFAULT_NEXT_STEPS
    outline, counting = await known.sound_outline()
    whole = outline_text(outline, limits.stripped) if outline else NO_SCHEMA_TEXT
    if schema.empty and schema.comprehensive:
        whole = replace(whole, notes=[EMPTY])
    elif counting:
        whole = replace(whole, notes=[*whole.notes, COUNTING])
    types, predicates = schema.entity_types, schema.predicates
    budget = Budget.of(limits)
    own = (key for key, of in schema.name_keys.types.items() if ANY_TYPE not in of)
    named = " ".join(key_notes(schema.name_keys, islice(own, SHOWN)))
    usage = usage_notes(limits.answer_format, schema, outline, patterns=db.lists_entities())
    usage = f"{usage} {named}".rstrip()

    def document(share: int) -> dict[str, Any]:
        """The schema with a share of its lists up to `WHOLE`, and above that of its texts."""
        parts = [evenly_spaced(v, -(-len(v) * share // WHOLE)) for v in (types, predicates)]
        thin = share < WHOLE
        shown = NO_SCHEMA_TEXT if thin else whole.part(share - WHOLE)
        notes = [_thinned_note(parts, schema, budget)] if thin else shown.notes
        return answers.schema_document(
            SchemaDescription(
                graph_description=description,
                comprehensive=schema.comprehensive and not thin,
                entity_types=parts[0],
                predicates=parts[1],
                next_steps=steps,
                tool_usage_notes=usage,
            ),
            notes,
            shown,
        )

    share = budget.longest(2 * WHOLE, lambda n: answers.encode(document(n)))
    return answers.document_answer(document(share))


async def schema_around(names: NameResolver, seeds: Sequence[str], limits: Limits) -> Answer:
    """Describe the relations of the edges that touch some entities.

    Raises:
        ToolError: There is no such entity, or its edges could not be read.
    """
    columns = columns_of(names.db)
    found, failed = await names.entities(columns, seeds)
    if failed:
        raise await names.error("seeds", failed)
    bounds = Bounds.of(columns, limits.max_nodes, limits.max_edges)
    around = NodeSet.of({node.id: node for node in found.values()}.values())
    reach = await traverse(columns, around, 1, bounds)
    relations = await relations_of(reach)
    numbers = Counter(reach.types.tolist())
    node_counts = {columns.type_names[number]: count for number, count in numbers.items()}
    whole = relations_around(relations)

    def document(share: int) -> dict[str, Any]:
        shown = whole.part(share)
        notes = [*names.notes, *shown.notes, *dangling(*reach.dangling.counts), *left_out()]
        return answers.neighbourhood_document(around.texts, node_counts, relations, shown, notes)

    share = Budget.of(limits).longest(WHOLE, lambda n: answers.encode(document(n)))
    return answers.document_answer(document(share), names.notes)


async def directions(
    db: NormalizedBackend, entity_id: str, limits: Limits
) -> tuple[dict[str, int], list[str]]:
    """The edges of an entity, counted by predicate and direction, and notes on uncounted ones."""
    columns, left = columns_of(db), call.remaining()
    bounds = Bounds.of(columns, limits.max_nodes, limits.max_edges)
    seconds = COUNT_SECONDS if left is None else min(COUNT_SECONDS, left / 2)
    try:
        async with asyncio.timeout(seconds):
            seeds = NodeSet.of([node for node in await columns.find([entity_id]) if node])
            reach = await traverse(columns, seeds, 1, bounds)
    except (TimeoutError, FirstRingTooLarge):
        return {}, [UNCOUNTED]
    edges, notes = directions_of(reach, seeds), list(dangling(*reach.dangling.counts))
    if len(edges) <= MOST_DIRECTIONS:
        return edges, notes
    cut = (
        f"edges: the {MOST_DIRECTIONS} most frequent of {len(edges)} predicates and directions; "
        "describe_schema(seeds=[...]) counts the others by relation."
    )
    notes.append(Missing(cut))
    return dict(islice(edges.items(), MOST_DIRECTIONS)), notes


def _thinned_note(parts: Sequence[Sequence[str]], schema: Schema, budget: Budget) -> str:
    return Missing(
        f"The lists are samples, thinned for {budget.bound.name}: {len(parts[0])} of "
        f"{counted(len(schema.entity_types), 'entity type')} and {len(parts[1])} of "
        f"{counted(len(schema.predicates), 'predicate')}. schema_summary in an answer lists those "
        "of a neighbourhood; describe_schema(seeds=[...]) shows its relations."
    )
