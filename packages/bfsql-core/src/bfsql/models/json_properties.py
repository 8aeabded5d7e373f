"""Metadata as the flat properties of a property graph, and back.

A value that the store cannot hold as it is becomes JSON text under `<name>__json`. Values whose
name cannot be that of a property (the empty one, say) are together in one JSON object under
`__json`. Loader and backend of a store both use this module, so that they cannot differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from bfsql.models.json_values import encode, is_text

SUFFIX = "__json"
"""Suffix of the names under which values are stored as JSON text."""


def to_properties(
    metadata: Mapping[str, Any],
    is_kept: Callable[[str, Any], bool],
    can_name: Callable[[str], bool],
    reserved: Collection[str] = (),
) -> dict[str, Any]:
    """Convert metadata to properties. Nulls are left out: a property cannot be null.

    Args:
        metadata: As read from a source.
        is_kept: Whether the store can hold a value as it is under a name.
        can_name: Whether the store can have a property of a name.
        reserved: Names that the store uses on this element, above all the id property; a value with
            such a name is stored as JSON text.

    Raises:
        ValueError: The metadata is nested too deeply, or contains itself.
    """
    properties: dict[str, Any] = {}
    unnamed: dict[str, Any] = {}
    for key, value in metadata.items():
        if value is None:
            continue
        if not can_name(key):
            unnamed[key] = value
        elif key in reserved or key.endswith(SUFFIX) or not is_kept(key, value):
            properties[key + SUFFIX] = encode(value)
        else:
            properties[key] = value
    if unnamed:
        properties[SUFFIX] = encode(unnamed)
    return properties


def from_properties(
    properties: Mapping[str, Any], can_name: Callable[[str], bool], reserved: Collection[str] = ()
) -> dict[str, Any]:
    """The metadata that `to_properties` wrote; for any other graph, the properties unchanged.

    A property that ends with `__json` without being JSON text, or would hide
    another property, is returned unchanged.

    Args:
        properties: The properties of a node or a relationship.
        can_name: Whether the store can have a property of a name.
        reserved: As passed to `to_properties` when it was written: JSON text
            beside such a property is the metadata.

    Returns:
        A new dict.
    """
    metadata = dict(properties)
    # The shortest first: `a__json` may represent `a`, and then `a__json__json` represents
    # `a__json`.
    for key in sorted((key for key in metadata if key.endswith(SUFFIX)), key=len):
        name, value = key.removesuffix(SUFFIX), _decoded(metadata[key])
        if name and value is not None and (name not in metadata or name in reserved):
            del metadata[key]
            metadata[name] = value
        elif not name and isinstance(value, dict) and not any(map(can_name, value)):
            del metadata[key]
            metadata.update(value)
    return metadata


def stored_names(keys: Collection[str]) -> set[str]:
    """The properties from which `from_properties` makes these keys."""
    names = {SUFFIX}
    for key in keys:
        names.add(key + SUFFIX)
        while key.endswith(SUFFIX):
            names.add(key)
            key = key.removesuffix(SUFFIX)  # noqa: PLW2901 - the shorter one counts, too
        names.add(key)
    return {name for name in names if is_text(name)} - {""}


def _decoded(value: Any) -> Any:
    """The value of JSON text; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None
