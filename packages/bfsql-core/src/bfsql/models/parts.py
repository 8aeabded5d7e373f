"""Parts of rings and of metadata that can be requested from a store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias, TypedDict, TypeVar

from bfsql.models.records import EdgeDirection, Metadata, Triple

TypedTriple: TypeAlias = tuple[str, str, str, str | None, str | None]
"""Subject, predicate, object, type of the subject, type of the object."""

K = TypeVar("K", str, Triple)
Row = TypeVar("Row", Triple, TypedTriple)


class EdgeFilter(TypedDict, total=False):
    """The requested part of a ring, as arguments of a method; without them all of it."""

    predicates: Collection[str] | None
    direction: EdgeDirection | None


def part_of(
    ring: Iterable[Row],
    ids: Collection[str],
    predicates: Collection[str] | None = None,
    direction: EdgeDirection | None = None,
) -> list[Row]:
    """The edges of a ring that `edges_batch` returns for these arguments.

    Args:
        ring: Rows that begin with a triple.
        ids: The requested ids.
        predicates: Predicates of the edges to include; None for all.
        direction: Direction of the edges to include, relative to the requested ids; None for both.
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
    """Records of metadata reduced to the requested keys; None for all keys."""
    if keys is None:
        return dict(metadata)
    wanted = frozenset(keys)
    return {
        of: {key: value for key, value in known.items() if key in wanted}
        for of, known in metadata.items()
    }


def present(metadata: Mapping[str, object]) -> list[str]:
    """The keys of metadata that answers show: those with a value."""
    return [key for key, value in metadata.items() if value is not None]
