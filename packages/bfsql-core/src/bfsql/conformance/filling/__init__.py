"""Rules that need a store that the kit can fill: the same answers as the reference."""

from bfsql.conformance.filling import (
    answers,
    cancelled,
    coming_back,
    concurrent,
    drawn,
    evidence_counted,
    kept_apart,
    left_out,
    records,
    search_ranks,
    searching,
    strange_ids,
    values,
    watching,
)

__all__ = [
    "answers",
    "cancelled",
    "coming_back",
    "concurrent",
    "drawn",
    "evidence_counted",
    "kept_apart",
    "left_out",
    "records",
    "search_ranks",
    "searching",
    "strange_ids",
    "values",
    "watching",
]
