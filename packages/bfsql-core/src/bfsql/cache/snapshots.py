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

from bfsql.models import Metadata, Node


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
        return _Original(copy.deepcopy(plain))


def restored(held: bytes | _Original) -> dict[str, Any]:
    """Metadata as it was, in a mapping of the caller's own."""
    if isinstance(held, bytes):
        fresh: dict[str, Any] = pickle.loads(held)  # noqa: S301 - our own, from `snapshot`
        return fresh
    return copy.deepcopy(dict(held.value)) if isinstance(held.value, Mapping) else held.value


def own_node(node: Node) -> Node:
    """The node, sharing no metadata that can be changed."""
    if not node.metadata:
        return node
    return Node(node.id, node.entity_type, restored(snapshot(node.metadata)))
