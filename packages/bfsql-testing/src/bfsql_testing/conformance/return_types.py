"""The types of what a backend returns, as the signatures of the contract state them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from inspect import formatannotation
from typing import Any, get_args, get_origin, get_type_hints

from bfsql.abc import GraphDbInterface
from bfsql.masking import shorten
from bfsql.models import Edge, EntityStub, Node


def mismatch(method: str, answer: object) -> str | None:
    """What a method returned and what is right, the end of a sentence; None if the types fit."""
    right = get_type_hints(getattr(GraphDbInterface, method))["return"]
    items, kind, place = [answer], right, ""
    if get_origin(right) in (Iterable, Sequence) and _is_several(answer):
        items, [kind], place = list(answer), get_args(right), f" in a {type(answer).__name__}"  # type: ignore[call-overload]
    for item in items:
        if not _fits(item, kind):
            text = f"{shorten(repr(item), 120)} ({type(item).__name__}){place}"
            name = re.sub(r"\w+\.", "", formatannotation(right))
            return f"{text}; right is {name}, in which ids, types, predicates and keys are str."
    return None


def _fits(value: Any, kind: Any) -> bool:
    if kind in (EntityStub, Node):
        return all(isinstance(getattr(value, key, None), str) for key in ("id", "entity_type"))
    if kind is Edge or get_origin(kind) is tuple:
        return _is_several(value) and [isinstance(part, str) for part in value] == [True] * 3
    if get_origin(kind) in (dict, Mapping):
        key, of = get_args(kind)
        pairs = value.items() if isinstance(value, Mapping) else [(None, None)]
        return all(_fits(one, key) and _fits(other, of) for one, other in pairs)
    return kind is Any or (isinstance(kind, type) and isinstance(value, kind))


def _is_several(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, Mapping))
