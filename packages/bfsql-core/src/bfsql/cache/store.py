"""The contents of the cache: answers by key, bounded by their records and immutable for callers.

There are two generations. New answers enter the young generation; when it has used half of the
budget, it becomes the old one, and the previous old generation is evicted. An answer that is used
again moves to the young generation. Answers in use therefore stay in the cache, 60,000 neighbours
cost one dictionary update, and no ordered list of keys is needed.

Metadata is held as a pickle: the cheapest copy available, made and read in C, and
smaller than the objects. It never leaves the process. Beside it stands the record as answers show
it, once one has, so that values are cleaned once.
"""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from bfsql import call
from bfsql.memory_account import size_of
from bfsql.models import NO_METADATA, Metadata, Node, Omission
from bfsql.models.records import HeldMetadata, Snapshot
from bfsql.observer import NO_OBSERVERS, Observers

K = TypeVar("K", bound=Hashable)

FOREVER = float("inf")
"""Expiry of an answer that is valid for the lifetime of the cache."""


@dataclass(slots=True)
class CacheBudget:
    """How many answers the methods of one cache hold together, and for how long."""

    maxsize: int
    """Maximum number of records to hold."""
    ttl: float = FOREVER
    """Lifetime of an answer, in seconds."""
    clock: Callable[[], float] = time.monotonic
    """A monotonic clock in seconds."""
    observers: Observers = NO_OBSERVERS
    """The observers of the graph."""
    caches: list[GenerationalCache[Any]] = field(default_factory=list)
    young: int = 0
    """Records in the young generations."""

    def take(self, records: int) -> bool:
        """Reserve room, evicting as needed; return False if there are too many records to hold."""
        half = self.maxsize // 2
        if records > half:
            return False
        if self.young + records > half:
            for cache in self.caches:  # includes caches that are no longer used
                cache.turn()
            self.young = 0
        self.young += records
        return True


@dataclass(slots=True)
class _Generation(Generic[K]):
    values: dict[K, Any] = field(default_factory=dict)
    expiry: dict[K, float] = field(default_factory=dict)
    """Only for answers that expire."""
    omissions: dict[K, tuple[Omission, ...]] = field(default_factory=dict)
    """Only for answers with omissions."""

    def find(self, keys: Sequence[K], now: float) -> dict[K, Any]:
        """The answers that are held and have not expired; expired ones are evicted."""
        values = self.values
        if not values:
            return {}
        found = {key: values[key] for key in keys if key in values}
        if self.expiry:
            for key in [key for key in found if self.expiry.get(key, FOREVER) <= now]:
                del found[key]
                for part in (self.values, self.expiry, self.omissions):
                    part.pop(key, None)
        return found

    def move(self, keys: Collection[K], other: _Generation[K]) -> None:
        """Move these answers to another generation, with their expiry and omissions."""
        _move(keys, self.values, other.values)
        _move(keys, self.expiry, other.expiry)
        _move(keys, self.omissions, other.omissions)


def _move(keys: Collection[K], part: dict[K, Any], other: dict[K, Any]) -> None:
    if part:
        other.update((key, part.pop(key)) for key in keys if key in part)


class GenerationalCache(Generic[K]):
    """The cached answers of one method.

    Args:
        budget: The bound, shared with the other methods.
        weigh: Returns the number of records in some answers.
    """

    def __init__(self, budget: CacheBudget, weigh: Callable[[Collection[Any]], int]) -> None:
        self._budget = budget
        self._weigh = weigh
        self._young: _Generation[K] = _Generation()
        self._old: _Generation[K] = _Generation()
        budget.caches.append(self)

    def find(self, keys: Sequence[K], now: float) -> dict[K, Any]:
        """The answers that are held and have not expired, by key."""
        found = self._young.find(keys, now)
        if self._old.values:
            again = self._old.find([key for key in keys if key not in found], now)
            found |= again
            self._renew(again)
        return found

    def omissions(self, keys: Iterable[K]) -> list[Omission]:
        """The omissions of the cached answers for these keys."""
        young, old = self._young.omissions, self._old.omissions
        if not young and not old:
            return []
        return [o for key in keys for o in young.get(key) or old.get(key, ())]

    def put(
        self, values: dict[K, Any], expires: float, omissions: dict[K, tuple[Omission, ...]]
    ) -> None:
        """Hold answers, unless they are too large for the budget."""
        if not values or not self._budget.take(self._weigh(values.values())):
            return
        young = self._young
        young.values.update(values)
        if expires < FOREVER:
            young.expiry.update(dict.fromkeys(values, expires))
        young.omissions.update(omissions)

    def turn(self) -> None:
        """Evict the old generation; the young one becomes the old one."""
        self._old = self._young
        self._young = _Generation()

    def _renew(self, answers: dict[K, Any]) -> None:
        old = self._old  # making room may evict it
        if answers and self._budget.take(self._weigh(answers.values())):
            old.move(answers.keys(), self._young)


class HeldAnswers:
    """Answers in integers, each held as a whole.

    Args:
        budget: The bounds, shared with the methods of the cache.
    """

    def __init__(self, budget: CacheBudget) -> None:
        # By the hash of a request, since the cache looks a key up several times.
        self._held: GenerationalCache[int] = GenerationalCache(
            budget, lambda answers: sum(records for *_, records in answers)
        )
        self._budget = budget

    def find(self, request: Hashable) -> Any:
        """The result of this request; None if it is not held."""
        number, now = hash(request), self._budget.clock()
        known, answer, _ = self._held.find([number], now).get(number, (None, None, 0))
        return answer if known == request else None

    def keep(self, request: Hashable, answer: Any, records: int) -> None:
        """Hold a result, unless it is too large."""
        held = {hash(request): (request, answer, records)}
        self._held.put(held, self._budget.clock() + self._budget.ttl, {})


# --- how many records are in some answers -------------------------------------


def lengths(answers: Collection[Sequence[Any]]) -> int:
    """The number of records in answers that are lists, plus one for each answer itself."""
    return sum(1 + len(answer) for answer in answers)


def sizes(snapshots: Iterable[Any]) -> int:
    """Bytes of the values in snapshots."""
    return sum(map(len, snapshots))


def pages(snapshots: Collection[Any]) -> int:
    """The number of records in metadata: one per snapshot, plus one per 256 bytes after a KiB.

    The bytes are those of both forms, whether or not an answer has shown the record yet.
    """
    sizes = (2 * len(snapshot) for snapshot in snapshots)
    return len(snapshots) + sum((size - 1024) // 256 for size in sizes if size > 1024)


def node_pages(nodes: Collection[Node]) -> int:
    """The number of records in nodes: one for each, plus those of what metadata they have."""
    return len(nodes) + sum(size_of(node.metadata) // 256 for node in nodes if node.metadata)


# --- copies that no caller can change -----------------------------------------


@dataclass(frozen=True, slots=True)
class _Original:
    """A value that cannot be pickled; copied at every reading."""

    value: Any

    def __len__(self) -> int:
        return size_of(self.value)


def snapshots(metadata: Mapping[K, Metadata]) -> dict[K, Any]:
    """Snapshots of the metadata in its current state, by key."""
    return {key: _snapshot(value) for key, value in metadata.items()}


def restored(snapshots: Mapping[K, Any]) -> dict[K, Any]:
    """Metadata by key from its snapshots, in new mappings, which the current call holds."""
    call.hold_values(sizes(snapshots.values()))
    loads = pickle.loads  # our own pickles, from `snapshots`
    metadata: dict[K, Any] = {}
    for key, snapshot in snapshots.items():
        if type(snapshot) is Snapshot:
            metadata[key] = held = HeldMetadata(loads(snapshot))
            held.snapshot = snapshot
        else:
            metadata[key] = _copied(snapshot.value)
    return metadata


def own_node(node: Node) -> Node:
    """The node with a copy of its metadata."""
    if node.metadata is NO_METADATA:
        return node
    if not node.metadata:
        return Node(node.id, node.entity_type)
    return Node(node.id, node.entity_type, restored(snapshots({"": node.metadata}))[""])


def _snapshot(metadata: Metadata) -> Snapshot | _Original:
    plain = metadata if type(metadata) is dict else dict(metadata)
    try:
        return Snapshot(pickle.dumps(plain, pickle.HIGHEST_PROTOCOL))
    except (pickle.PicklingError, TypeError, AttributeError):
        return _Original(_copied(plain))


def _copied(value: Any) -> Any:
    """A copy of a value that pickle refuses; mappings become dictionaries, memory views bytes."""
    match value:
        case Mapping():
            return {key: _copied(item) for key, item in value.items()}
        case list():
            return [_copied(item) for item in value]
        case memoryview():
            return value.tobytes()
        case _:
            return copy.deepcopy(value)
