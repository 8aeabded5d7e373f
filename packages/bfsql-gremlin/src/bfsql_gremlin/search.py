"""Search: finds the entities that a typed text may mean, by what the engine has for it.

JanusGraph finds words, beginnings of words and misspelt words by a mixed index on names. Elsewhere
every name is compared, as long as the time of the call allows it; whole names and beginnings are
looked up first, which most engines can do by an index.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gremlin_python.process.traversal import P
from gremlin_python.process.traversal import TextP as PlainTextP

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.errors import StoreError, StoreUnavailable
from bfsql.models.json_values import distinct_texts, is_text
from bfsql.models.matching import LONGEST, NameQuery, aliases_of, allowed_errors, name_of
from bfsql.models.records import EntityStub, Omission
from bfsql_gremlin import queries
from bfsql_gremlin.connection import Client
from bfsql_gremlin.indexes import searched
from bfsql_gremlin.queries import GraphSchema
from bfsql_gremlin.serialization import TextP

SHARE = 0.5
"""Part of the time of a call that comparing every name may take."""


async def search(
    db: GraphDbInterface,
    client: Client,
    schema: GraphSchema,
    query: str,
    types: Sequence[str] | None,
) -> list[EntityStub]:
    """Candidates in the order of `bfsql.models.matching`, ties by the shorter name and the id.

    Args:
        db: The backend, for nodes and their names.
        client: The servers.
        schema: Its graph.
        query: What a person would call the entity, or its id.
        types: Types to include, None for all.
    """
    settings = client.settings
    text = query.strip()[:LONGEST]
    ids = distinct_texts((query, query.strip()))
    if text and is_text(text):
        ids += await _with_names(client, schema, text, types)
    nodes = {node.id: node.entity_type for node in await db.get_nodes_batch(ids)}
    keys = [*settings.name_property, *settings.alias_property]
    metadata = await db.metadata_for_nodes_batch(list(nodes), keys)
    asked = NameQuery(query)
    ranked = []
    for entity_id, entity_type in nodes.items():
        if types is not None and entity_type not in types:
            continue
        found = metadata.get(entity_id, {})
        names = [found[key] for key in settings.name_property if isinstance(found.get(key), str)]
        name = names[0] if names else name_of(found)
        values = [found.get(key) for key in settings.alias_property]
        others = [
            one for value in values for one in (value if isinstance(value, list) else [value])
        ]
        match = asked.match(entity_id, name, aliases_of({"synonyms": [*names[1:], *others]}))
        order = match.order if match else (99, 0)
        ranked.append((order, len(name or entity_id), entity_id, entity_type, name))
    return [EntityStub(i, kind, name) for _, _, i, kind, name in sorted(ranked)[:20]]


async def _with_names(
    client: Client, schema: GraphSchema, text: str, types: Sequence[str] | None
) -> list[str]:
    """Ids of vertices with the text as a name or a part of one; best comparisons first."""
    settings = client.settings
    indexed = sorted(schema.text_keys.intersection(searched(settings)))
    whole = P.within([*dict.fromkeys((text, text.lower(), text.title()))])
    if settings.search == "index" and indexed:
        exact = [(key, whole) for key in settings.name_property if key in schema.whole_keys]
        for tests in _by_index(text):
            pairs = exact + [(key, test) for key in indexed for test in tests]
            if found := await _ids(client, schema, queries.named(schema, pairs, types)):
                return found
        return []
    tests = [whole, PlainTextP.starting_with(text)]
    pairs = [(name, test) for name in settings.name_property for test in tests]
    found = await _ids(client, schema, queries.named(schema, pairs, types))
    if settings.search == "exact":
        return found
    words = [PlainTextP.regex(f"(?iu){_quoted(word)}") for word in text.split()[:16]]
    traversal = queries.with_texts(schema, searched(settings), words, types)
    try:
        async with call.time_limit(SHARE):
            found += await _ids(client, schema, traversal)
    except StoreUnavailable:
        raise
    except (TimeoutError, StoreError):
        reason = "only whole names and their beginnings were compared"
        call.omitted(Omission(text, "search", reason=reason))
    return found


async def _ids(client: Client, schema: GraphSchema, traversal: object) -> list[str]:
    rows = await client.rows(queries.identified(schema, traversal))
    return [schema.entity_id(row[0], row[2:]) for row in rows]


def _by_index(text: str) -> list[list[P]]:
    """Comparisons by a mixed index: words, then beginnings of words, then misspelt words."""
    words = re.findall(r"\w+", text.lower())[:16]
    if not words:
        return []
    long = [word for word in words if allowed_errors(word)]
    return [
        [TextP("textContains", " ".join(words))],
        [TextP("textContainsPrefix", " ".join(words))],
        [TextP("textContainsFuzzy", word) for word in long],
    ][: 3 if long else 2]


def _quoted(text: str) -> str:
    """A regular expression of Java that matches this text."""
    return "\\Q" + text.replace("\\E", "\\E\\\\E\\Q") + "\\E"
