"""An author's declarations for a backend: the kinds of values it keeps, and the rules it breaks.

The kit removes every kind that a store does not keep from its graphs before it loads them, so that
only promised values are compared. A rule that does not hold is declared with a reason:

    keeps = EVERYTHING - {Kind.BINARY}
    optouts = {
        "dangling-ends": never("The store has no edges without nodes."),
        "search-name-next": notyet("The server's index does not rank exact names."),
    }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from enum import StrEnum
from math import isfinite
from typing import Any, Literal, TypeAlias

from bfsql.answers.clean import LONG_ARRAY
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql.models.json_values import INT64
from bfsql.models.merge import sorted_union

LONG_TEXT = 2_000
"""Number of characters from which an id is long: some stores do not index longer ones."""


class Kind(StrEnum):
    """A kind of value, or of structure, that some stores cannot hold."""

    NESTED_MAPS = "nested_maps"
    """A mapping as a value, or in a list."""
    NESTED_LISTS = "nested_lists"
    """A list in a list."""
    MIXED_LISTS = "mixed_lists"
    """A list with values of more than one type."""
    EMPTY_LISTS = "empty_lists"
    """An empty list, which is not the same as no value."""
    NULLS_IN_LISTS = "nulls_in_lists"
    """A null among the values of a list."""
    ORDERED_LISTS = "ordered_lists"
    """Lists in the order given; without it they are compared sorted, each value once."""
    EXACT_DECIMALS = "exact_decimals"
    """`Decimal` with all of its digits."""
    HUGE_INTEGERS = "huge_integers"
    """Integers of more than 64 bits."""
    WHOLE_FLOATS = "whole_floats"
    """`1.0` as something else than `1`."""
    NON_FINITE = "non_finite"
    """NaN and the infinities."""
    DATES = "dates"
    """Dates and times."""
    BINARY = "binary"
    """Bytes."""
    EMBEDDINGS = "embeddings"
    """Long lists of numbers."""
    EMPTY_TEXTS = "empty_texts"
    """An empty text, which is not the same as no value."""
    NUL_CHARACTERS = "nul_characters"
    """U+0000, in ids as in values."""
    LONG_IDS = "long_ids"
    """Ids of ten thousand characters."""
    ODD_KEYS = "odd_keys"
    """Names of properties that are not identifiers: spaces, quotes, dots, the empty name."""
    EDGE_METADATA = "edge_metadata"
    """Properties of edges."""
    EVIDENCE = "evidence"
    """The passages behind an edge."""
    DANGLING_EDGES = "dangling_edges"
    """Edges with an end that is not a node."""
    PARALLEL_EDGES = "parallel_edges"
    """Several records of one triple, whose number is given as `multiplicity`."""
    OTHER_TYPES = "other_types"
    """More than one type of a node."""


EVERYTHING = frozenset(Kind)
"""What a backend keeps unless its author declares otherwise."""

Word: TypeAlias = Literal["notimpl", "notyet", "never"]


@dataclass(frozen=True, slots=True)
class OptOut:
    """A rule that a backend does not keep, with the reason that every report shows."""

    word: Word
    reason: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ValueError(f"{self.word} needs a reason: a sentence that the report shows.")

    def __str__(self) -> str:
        return f"{self.word}: {self.reason}"


def notimpl(reason: str) -> OptOut:
    """The store could do it; the backend does not do it yet."""
    return OptOut("notimpl", reason)


def notyet(reason: str) -> OptOut:
    """The store cannot do it today; a later version of it may."""
    return OptOut("notyet", reason)


def never(reason: str) -> OptOut:
    """The store cannot do it by its nature."""
    return OptOut("never", reason)


def storable(records: Iterable[GraphRecord], keeps: frozenset[Kind]) -> list[GraphRecord]:
    """The records that a store can hold, with the values that it keeps."""
    if keeps == EVERYTHING:
        return list(records)
    able = [_reduced(record, keeps) for record in records if _names_kept(record, keeps)]
    known = {record.id for record in able if isinstance(record, NodeRecord)}
    whole = [r for r in able if Kind.DANGLING_EDGES in keeps or _ends(r) <= known]
    return list(_single(whole, keeps))


def kinds_of(value: Any) -> Iterator[Kind]:  # noqa: C901, PLR0912 - one line a kind
    """The kinds that a value has, at every depth; plain values have none."""
    match value:
        case str():
            if not value:
                yield Kind.EMPTY_TEXTS
            if "\0" in value:
                yield Kind.NUL_CHARACTERS
        case bool() | None:
            return
        case int() if not -INT64 <= value < INT64:
            yield Kind.HUGE_INTEGERS
        case float() if not isfinite(value):
            yield Kind.NON_FINITE
        case float() if value.is_integer():
            yield Kind.WHOLE_FLOATS
        case Decimal():
            yield Kind.EXACT_DECIMALS
        case date() | time():
            yield Kind.DATES
        case bytes():
            yield Kind.BINARY
        case Mapping():
            yield Kind.NESTED_MAPS
            for key, inner in value.items():
                yield from kinds_of(key)
                yield from kinds_of(inner)
        case list() | tuple():
            yield from _kinds_of_list(value)
        case _:
            return


def _kinds_of_list(values: list[Any] | tuple[Any, ...]) -> Iterator[Kind]:
    if not values:
        yield Kind.EMPTY_LISTS
    if len({type(v) for v in values if v is not None}) > 1:
        yield Kind.MIXED_LISTS
    if any(v is None for v in values):
        yield Kind.NULLS_IN_LISTS
    if any(isinstance(v, list | tuple) for v in values):
        yield Kind.NESTED_LISTS
    if len(values) >= LONG_ARRAY and all(isinstance(v, int | float) for v in values):
        yield Kind.EMBEDDINGS
    for value in values:
        yield from kinds_of(value)


def _reduced(record: GraphRecord, keeps: frozenset[Kind]) -> GraphRecord:
    if isinstance(record, EvidenceRecord):
        return replace(record, item=_values(record.item, keeps))
    if not record.metadata:
        return record
    metadata = _values(record.metadata, keeps)
    if isinstance(record, EdgeRecord) and Kind.EDGE_METADATA not in keeps:
        metadata = {}
    if Kind.OTHER_TYPES not in keeps:
        metadata.pop("other_types", None)
    return replace(record, metadata=metadata)


def _values(metadata: Mapping[str, Any], keeps: frozenset[Kind]) -> dict[str, Any]:
    return {
        key: value if Kind.ORDERED_LISTS in keeps else _unordered(value)
        for key, value in metadata.items()
        if (Kind.ODD_KEYS in keeps or key.isidentifier())
        and keeps.issuperset(kinds_of(value))
        and (Kind.NUL_CHARACTERS in keeps or "\0" not in key)
    }


def _unordered(value: Any) -> Any:
    """A list as its distinct values in order; a single value represents itself."""
    if not isinstance(value, list | tuple):
        return value
    distinct = sorted_union(value)
    return distinct[0] if len(distinct) == 1 else distinct


def _names_kept(record: GraphRecord, keeps: frozenset[Kind]) -> bool:
    names: tuple[str, ...]
    if isinstance(record, NodeRecord):
        names = (record.id, record.entity_type)
    else:
        names = (record.subject, record.predicate, record.object)
    if isinstance(record, EvidenceRecord) and Kind.EVIDENCE not in keeps:
        return False
    if Kind.NUL_CHARACTERS not in keeps and any("\0" in name for name in names):
        return False
    return Kind.LONG_IDS in keeps or all(len(name) < LONG_TEXT for name in names)


def _ends(record: GraphRecord) -> set[str]:
    return set() if isinstance(record, NodeRecord) else {record.subject, record.object}


def _single(records: Iterable[GraphRecord], keeps: frozenset[Kind]) -> Iterator[GraphRecord]:
    """Reduce records of a triple, or types of a node, to one if the store cannot keep several."""
    triples: set[tuple[str, str, str]] = set()
    types: dict[str, str] = {}
    parallel = {Kind.PARALLEL_EDGES, Kind.EDGE_METADATA} <= keeps
    for record in records:
        if isinstance(record, EdgeRecord):
            triple = (record.subject, record.predicate, record.object)
            if triple in triples and not parallel:
                continue
            triples.add(triple)
        elif isinstance(record, NodeRecord) and Kind.OTHER_TYPES not in keeps:
            first = types.setdefault(record.id, record.entity_type)
            if record.entity_type and first != record.entity_type:
                continue
        yield record
