"""The indexes that search asks: found by name or by shape, and fit for use."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from bfsql.embedding import Embedder
from bfsql.errors import StoreError
from bfsql_neo4j.connection import place
from bfsql_neo4j.indexes import Index, fulltext_index, searched_properties
from bfsql_neo4j.queries import indexing
from bfsql_neo4j.settings import Neo4jSettings
from bfsql_neo4j.shape import Shape

log = logging.getLogger("bfsql")

PATIENCE = 10.0
"""Seconds that opening waits for an index that is still filled."""
_LOOK_EVERY = 0.2

Described = tuple[Index, dict[str, Any]]
"""An index and its options."""
Look = Callable[[], Awaitable[list[Described] | None]]
"""Asks for all indexes."""


async def fulltext(settings: Neo4jSettings, shape: Shape, look: Look) -> Index | None:
    """The full-text index that serves search, filled as far as waiting helps.

    Args:
        settings: How it is called, and which properties are names.
        shape: The labels of the graph.
        look: Asks the server for its indexes.

    Returns:
        None where none is wanted, or where there is nothing to search in.

    Raises:
        StoreError: There is none that can be used.
    """
    if settings.search != "index" or not shape.labels:
        return None
    index = await _filled(look, lambda have: fulltext_index(have, settings))
    if index is None:
        raise StoreError(
            f"{place(settings)} has no full-text index named {settings.fulltext_index!r}, and not "
            "one other over names that could serve. Without one there is no search. Create it with "
            f"{_statement(settings, shape)} or with bfsql index --backend neo4j --apply, or look "
            "at every name with --search contains, which is slow."
        )
    _check_state(index, settings)
    return index


async def vector(settings: Neo4jSettings, embedder: Embedder, look: Look) -> Index:
    """The vector index for an embedding function.

    Args:
        settings: How it is called; without a name, the only one there is.
        embedder: Probed, so that it knows the length of its vectors.
        look: Asks the server for its indexes.

    Raises:
        StoreError: There is none, several, or one for vectors of another length.
    """

    def chosen(have: Sequence[Index]) -> Index | None:
        all_of_them = [index for index in have if index.type == "VECTOR"]
        named = [index for index in all_of_them if index.name == settings.vector_index]
        if settings.vector_index is not None:
            return named[0] if named else None
        return all_of_them[0] if len(all_of_them) == 1 else None

    index = await _filled(look, chosen)
    have = [one for one in await look() or () if one[0].type == "VECTOR"]
    if index is None:
        names = ", ".join(repr(one.name) for one, _ in have) or "none"
        raise StoreError(
            f"An embedding is configured, and {place(settings)} has no vector index for it: there "
            f"are {names}. Name one by --vector-index, create one with bfsql index --backend neo4j "
            "--apply, or search by names alone by taking the embedding setting away."
        )
    _check_state(index, settings)
    options = next(options for one, options in have if one.name == index.name)
    length = (options.get("indexConfig") or {}).get("vector.dimensions")
    if length is not None and embedder.dimensions not in (None, length):
        raise StoreError(
            f"{embedder.name} makes vectors of {embedder.dimensions} dimensions, and the index "
            f"{index.name!r} of {place(settings)} is for {length}. Configure the model that the "
            "stored vectors were made with."
        )
    return index


async def _filled(look: Look, chosen: Callable[[Sequence[Index]], Index | None]) -> Index | None:
    end = time.monotonic() + PATIENCE
    while True:
        index = chosen([index for index, _ in await look() or ()])
        if index is None or index.state != "POPULATING":
            return index
        if time.monotonic() >= end:
            log.warning(
                "The index %r is still being filled (%.0f %%); until then search finds less "
                "than there is.",
                index.name,
                index.percent,
            )
            return index
        await asyncio.sleep(_LOOK_EVERY)


def _check_state(index: Index, settings: Neo4jSettings) -> None:
    if index.state == "FAILED":
        raise StoreError(
            f"The index {index.name!r} of {place(settings)} failed and cannot be asked. SHOW "
            "INDEXES YIELD name, failureMessage says why. Remove it with "
            f"{indexing.drop_index(index.name)} and create it again with bfsql index "
            "--backend neo4j --apply."
        )


def _statement(settings: Neo4jSettings, shape: Shape) -> str:
    names = [*settings.name_property, *settings.alias_property, *settings.description_property]
    properties = searched_properties(settings, shape.labels, names)
    return indexing.create_fulltext_index(
        settings.fulltext_index, sorted(shape.labels), properties or ["name"]
    )
