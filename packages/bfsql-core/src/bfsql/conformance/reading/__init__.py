"""Rules that can be told without an oracle, over whatever a store holds."""

from bfsql.conformance.reading import (
    answers,
    batches,
    edges,
    fresh,
    identity,
    schema,
    searching,
    stable_search,
)

__all__ = [
    "answers",
    "batches",
    "edges",
    "fresh",
    "identity",
    "schema",
    "searching",
    "stable_search",
]
