"""Which full-text search a store has: the one that finds a label that is there."""

from __future__ import annotations

import asyncio
import logging

from bfsql.errors import StoreUnavailable
from bfsql.models.rdf import Literal
from bfsql_sparql.dataset import Dataset
from bfsql_sparql.mapping import Mapping
from bfsql_sparql.queries import schema
from bfsql_sparql.queries.fulltext import DIALECTS, asked
from bfsql_sparql.queries.search import by_words
from bfsql_sparql.settings import SparqlSettings

PORTABLE = "contains"
"""The search that every store can do."""
_TRIED = ("virtuoso", "fuseki", "graphdb", "stardog", "rdf4j", "qlever")
"""Dialects that ask nobody but the store itself."""
_LABELS = 20
_SHORTEST = 4

_log = logging.getLogger(__name__)


async def working_dialect(
    dataset: Dataset, mapping: Mapping, settings: SparqlSettings, seconds: float
) -> str:
    """The search to use: the one of the settings, or the first that works.

    Args:
        dataset: The store.
        mapping: How its triples are read.
        settings: With their preset applied.
        seconds: How long each question may take.
    """
    if settings.data:
        return PORTABLE
    if settings.search != "auto":
        return settings.search
    try:
        word = await _some_word(dataset, mapping, seconds)
        wanted = asked(word, 1) if word else None
        if wanted is None:
            return PORTABLE
        found = await asyncio.gather(
            *(
                dataset.select(
                    _finding(DIALECTS[name](wanted, mapping), mapping),
                    seconds,
                )
                for name in _TRIED
            )
        )
    except StoreUnavailable as error:
        _log.warning("which full-text search the store has is not known: %s", error)
        return PORTABLE
    working = (name for name, one in zip(_TRIED, found, strict=True) if one and one.rows)
    return next(working, PORTABLE)


async def _some_word(dataset: Dataset, mapping: Mapping, seconds: float) -> str | None:
    """A word of a label, long enough to be in any index."""
    labels = await dataset.select(schema.some_labels(mapping, _LABELS), seconds)
    for (label,) in labels.rows if labels else ():
        if isinstance(label, Literal):
            wanted = asked(label.text, 1)
            long = [word for word in (wanted.words if wanted else ()) if len(word) >= _SHORTEST]
            if long:
                return max(long, key=len)
    return None


def _finding(found: str, mapping: Mapping) -> str:
    return f"SELECT ?s WHERE {{ {by_words(found, (), mapping, 1)} }}"
