"""Nodes and edges that are bags of attributes, as networkx writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bfsql.models.stream import EdgeRecord, NodeRecord
from bfsql.sources.columns import NAME, TYPE, EdgeColumns, Names, NodeColumns, label_is_type
from bfsql.sources.options import SourceOptions

_PREDICATE = ("predicate", "relation", "type", "labelE", "label", "key")
_TYPE = ("type", "entity_type", "labelV", "kind", *TYPE[2:])
_ALIASES = ("synonyms", "aliases")


def node_of(
    attributes: Mapping[str, Any], id_: str, known: Sequence[str], options: SourceOptions
) -> NodeRecord:
    """The node with these attributes.

    Args:
        attributes: All of them, the id included.
        id_: Key of the id.
        known: The attributes that the nodes of this file have, by which `label`
            is a name or a type.
        options: Column options, which name attributes here, and the default type.

    Raises:
        Unusable: The id is missing, or a field is of the wrong kind.
    """
    names: Names = NAME
    types: Names = _TYPE
    if options.name_column is not None or label_is_type(known):
        types = (*types, "label")
    else:
        names = (*names, "label")
    return NodeColumns(
        id_,
        options.type_column or _first(attributes, types),
        options.name_column or _first(attributes, names),
        options.alias_column or _first(attributes, _ALIASES),
        options.default_type,
    ).record(attributes)


def edge_of(
    attributes: Mapping[str, Any], subject: str, object_: str, options: SourceOptions
) -> EdgeRecord:
    """The edge with these attributes; the `key` of a multigraph counts when it is text.

    Args:
        attributes: All of them, the ends included.
        subject: Key of the id that the edge leaves.
        object_: Key of the id that the edge enters.
        options: The name of the predicate's attribute, and the default predicate.

    Raises:
        Unusable: An end is missing, or a field is of the wrong kind.
    """
    if not isinstance(attributes.get("key"), str):
        attributes = {key: value for key, value in attributes.items() if key != "key"}
    predicate = options.predicate_column or _first(attributes, _PREDICATE)
    return EdgeColumns(subject, predicate, object_, options.default_predicate).record(attributes)


def _first(attributes: Mapping[str, Any], usual: tuple[str, ...]) -> str | None:
    return next((key for key in usual if attributes.get(key) not in (None, "")), None)
