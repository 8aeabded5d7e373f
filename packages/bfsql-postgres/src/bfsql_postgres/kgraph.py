"""The schema of the kgraph pipeline: which tables and columns are looked for, by what names."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

TABLES: dict[str, tuple[str, ...]] = {
    "entity": (
        "entity_id",
        "entity_type",
        "name",
        "synonyms",
        "status",
        "properties",
        "embedding",
    ),
    "relationship": (
        "id",
        "subject_id",
        "predicate",
        "object_id",
        "source_documents",
        "properties",
    ),
    "bundle_evidence": ("relationship_key", "document_id"),
    "evidence": ("relationship_id", "paper_id", "confidence_score", "metadata_"),
    "bundle_mention": ("entity_id", "document_id"),
}
"""Columns that mean something, by table; all others are metadata under their own names."""

NEEDED = {
    "entity": ("entity_id", "entity_type"),
    "relationship": ("subject_id", "predicate", "object_id"),
}
"""What a graph cannot be without."""

MERGED = "merged"
"""Status of an entity that another one stands for: kept for audits, never shown (chapter 9)."""


class Names:
    """What kgraph's tables and columns are called in one database.

    Args:
        given: `entity` or `entity.entity_id` to another name.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given

    def table(self, table: str) -> str:
        """The name of a table."""
        return self._given.get(table, table)

    def column(self, table: str, column: str) -> str:
        """The name of a column of it."""
        return self._given.get(f"{table}.{column}", column)


def checked(given: dict[str, str]) -> dict[str, str]:
    """The names, when all of them rename something that is looked for.

    Raises:
        ValueError: One of them does not, in a sentence that gives those that do.
    """
    known = [*TABLES, *(f"{table}.{column}" for table, own in TABLES.items() for column in own)]
    for key, name in given.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            cure = f"did you mean {close[0]}" if close else f"there are {', '.join(known)}"
            raise ValueError(f"{key!r} is no table or column of kgraph's; {cure}")
        if not name or "\0" in name:
            raise ValueError(f"{key!r} has to have a name, and {name!r} is none")
    return given
