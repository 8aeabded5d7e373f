"""Parts of rings and of metadata, as a store is asked for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias, TypedDict, TypeVar

from bfsql.models.records import EdgeDirection, Metadata, Triple

TypedTriple: TypeAlias = tuple[str, str, str, str | None, str | None]
"""Subject, predicate, object, type of the subject, type of the object."""

K = TypeVar("K", str, Triple)
Row = TypeVar("Row", Triple, TypedTriple)


class Part(TypedDict):
    """Which part of a ring is asked for."""

    predicates: Collection[str] | None
    direction: EdgeDirection | None


def part_of(
    ring: Iterable[Row],
    ids: Collection[str],
    predicates: Collection[str] | None,
    direction: EdgeDirection | None,
) -> list[Row]:
    """The edges of a ring that `edges_batch` gives for these arguments.

    Args:
        ring: Rows that begin with a triple.
        ids: The asked ids.
        predicates: Those to keep; None for all.
        direction: Of the edges to keep, as seen from the asked ids; None for both.
    """
    rows = ring if isinstance(ring, list) else list(ring)
    if predicates is not None:
        kept = frozenset(predicates)
        rows = [row for row in rows if row[1] in kept]
    if direction is not None:
        asked, end = frozenset(ids), 0 if direction == "out" else 2
        rows = [row for row in rows if row[end] in asked]
    return rows


def only(metadata: Mapping[K, Metadata], keys: Collection[str] | None) -> dict[K, Metadata]:
    """Some records of metadata, each with the wanted keys alone; None for all keys."""
    if keys is None:
        return dict(metadata)
    wanted = frozenset(keys)
    return {
        of: {key: value for key, value in known.items() if key in wanted}
        for of, known in metadata.items()
    }
