"""Snapshots of metadata, so that no caller can change what the cache holds.

A pickle is the cheapest copy there is: made and read in C, and smaller than the
objects. It never leaves the process.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bfsql.models import NO_METADATA, Metadata, Node


@dataclass(frozen=True, slots=True)
class _Original:
    """Something that cannot be pickled; copied at every reading."""

    value: Any


def snapshot(metadata: Metadata) -> bytes | _Original:
    """Metadata as it is now."""
    plain = metadata if type(metadata) is dict else dict(metadata)
    try:
        return pickle.dumps(plain, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError):
        return _Original(_copied(plain))


def restored(held: bytes | _Original) -> dict[str, Any]:
    """Metadata as it was, in a mapping of the caller's own."""
    if isinstance(held, bytes):
        fresh: dict[str, Any] = pickle.loads(held)  # noqa: S301 - our own, from `snapshot`
        return fresh
    again: dict[str, Any] = _copied(held.value)
    return again


def own_node(node: Node) -> Node:
    """The node, sharing no metadata that can be changed."""
    if node.metadata is NO_METADATA:
        return node
    if not node.metadata:
        return Node(node.id, node.entity_type)
    return Node(node.id, node.entity_type, restored(snapshot(node.metadata)))


def _copied(value: Any) -> Any:
    """A copy of what pickle refuses: read-only mappings and views of memory have no copy."""
    match value:
        case Mapping():
            return {key: _copied(item) for key, item in value.items()}
        case list():
            return [_copied(item) for item in value]
        case memoryview():
            return value.tobytes()
        case _:
            return copy.deepcopy(value)
