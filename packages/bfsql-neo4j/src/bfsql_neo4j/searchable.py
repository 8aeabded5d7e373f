"""The indexes that search asks: found by name or by shape, and fit for use."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from bfsql.embedding import Embedder
from bfsql.errors import StoreError
from bfsql_neo4j.connection import place
from bfsql_neo4j.indexes import VECTOR_INDEX, Index, fulltext_index, searched_properties
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
Keys = Callable[[], Awaitable[Collection[str]]]
"""Asks for the names of all properties."""


async def fulltext(
    settings: Neo4jSettings, shape: Shape, look: Look, keys: Keys, patience: float = PATIENCE
) -> Index | None:
    """The full-text index that serves search, filled as far as waiting helps.

    Args:
        settings: How it is called, and which properties are names.
        shape: The labels of the graph.
        look: Asks the server for its indexes.
        keys: Asks the server for the names of its properties.
        patience: Seconds to wait for it to be filled.

    Returns:
        None where none is wanted, or where there is nothing to search in.

    Raises:
        StoreError: There is none that can be used.
    """
    if settings.search != "index" or not shape.labels:
        return None
    index = await _filled(look, lambda have: fulltext_index(have, settings), patience)
    if index is None:
        raise StoreError(_missing(settings, shape, await keys()))
    _check_state(index, settings)
    return index


async def vector(
    settings: Neo4jSettings, embedder: Embedder, look: Look, patience: float = PATIENCE
) -> Index | None:
    """The vector index for an embedding function; from now on its vectors have to fit.

    Args:
        settings: How it is called; without a name, the only one there is.
        embedder: Makes the vectors; its `dimensions` are those of the index from now on.
        look: Asks the server for its indexes.
        patience: Seconds to wait for it to be filled.

    Returns:
        None where there is none, or none among several that is named.

    Raises:
        StoreError: It failed, or is for vectors of another length.
    """
    index = await _filled(look, lambda have: _vector_index(have, settings), patience)
    if index is None:
        return None
    _check_state(index, settings)
    options = next(options for one, options in await look() or () if one.name == index.name)
    length = (options.get("indexConfig") or {}).get("vector.dimensions")
    if length is not None and embedder.dimensions not in (None, length):
        raise StoreError(
            f"{embedder.name} makes vectors of {embedder.dimensions} dimensions, and the index "
            f"{index.name!r} of {place(settings)} is for {length}. Configure the model that the "
            "stored vectors were made with."
        )
    embedder.dimensions = embedder.dimensions or length
    return index


def names_alone(settings: Neo4jSettings, have: Sequence[Index]) -> str:
    """Why an embedding is of no use, and what would make it so.

    Args:
        settings: How the vector index is called, and where the vectors are.
        have: All indexes.
    """
    names = ", ".join(repr(index.name) for index in have if index.type == "VECTOR")
    if settings.vector_index is not None:
        lack = f"no vector index named {settings.vector_index!r} (there are {names or 'none'})"
    elif names:
        lack = f"several vector indexes ({names}), of which --vector-index has to name one"
    else:
        lack = "no vector index"
    name = settings.vector_property or "PROPERTY"
    index = settings.vector_index or VECTOR_INDEX
    create = indexing.create_vector_index(index, "LABEL", name, None)
    return (
        f"{place(settings)} has {lack}: searches go by names alone. bfsql index --backend neo4j "
        f"--vector-property {name} --apply creates one, or {create}."
    )


def _vector_index(have: Sequence[Index], settings: Neo4jSettings) -> Index | None:
    all_of_them = [index for index in have if index.type == "VECTOR"]
    if settings.vector_index is not None:
        return next((i for i in all_of_them if i.name == settings.vector_index), None)
    return all_of_them[0] if len(all_of_them) == 1 else None


async def _filled(
    look: Look, chosen: Callable[[Sequence[Index]], Index | None], patience: float
) -> Index | None:
    end = time.monotonic() + patience
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


def _missing(settings: Neo4jSettings, shape: Shape, keys: Collection[str]) -> str:
    properties = searched_properties(settings, shape.labels, keys)
    if not properties:
        names = ", ".join(dict.fromkeys([*settings.name_property, *settings.alias_property]))
        return (
            f"{place(settings)} has no full-text index named {settings.fulltext_index!r}, and no "
            f"property to make one of: there is none of {names}. Say by --name-property which "
            "properties hold names, then create it with bfsql index --backend neo4j --apply."
        )
    create = indexing.create_fulltext_index(
        settings.fulltext_index, sorted(shape.labels), properties
    )
    return (
        f"{place(settings)} has no full-text index named {settings.fulltext_index!r}, and not one "
        f"other over names that could serve. Without one there is no search. Create it with "
        f"{create} or with bfsql index --backend neo4j --apply, or look at every name with "
        "--search contains, which is slow."
    )
