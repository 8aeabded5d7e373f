"""What the graph contains, and what the words of the answers mean."""

from __future__ import annotations

from bfsql.answers.clean import clean_text
from bfsql.rest.api import MOST_IN_BATCH, Api
from bfsql.rest.asked import Asked
from bfsql.rest.context import context
from bfsql.rest.reply import Reply, replied


async def schema(api: Api, asked: Asked) -> Reply:
    """`GET /schema`: the vocabulary, advice, and where batches are taken."""
    asked.only("The schema", ())
    types, predicates = await api.vocabulary()
    return replied(
        {
            "description": clean_text(api.graph.description),
            "comprehensive": await api.comprehensive(),
            "entity_types": types,
            "predicates": predicates,
            "next_steps": clean_text(await api.next_steps()),
            "batch": {
                "entities": "/entities/batch",
                "relations": "/relations/batch",
                "limit": MOST_IN_BATCH,
                "max_bytes": api.max_request_bytes,
            },
        }
    )


async def terms(api: Api, asked: Asked) -> Reply:
    """`GET /context`: the JSON-LD context."""
    asked.only("The context", ())
    types, predicates = await api.vocabulary()
    return replied(context([*types, *predicates]))
