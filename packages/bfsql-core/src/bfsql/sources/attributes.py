"""Nodes and edges as bags of attributes: the meaning of each attribute, and the resulting records.

The rows of a table have the same columns. In contrast, each node that networkx and others write
may have its own attributes, so its type and name are determined for every node separately.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bfsql.models.load import SourceAccount
from bfsql.models.records import EdgeRecord, NodeRecord
from bfsql.sources.formats import SourceOptions
from bfsql.sources.headers import NAME, TYPE, EdgeColumns, Names, NodeColumns

_PREDICATE: Names = (
    *("predicate", "relation", "type", "interaction", "labelE", "kind", "label", "key"),
)
_TYPE: Names = ("type", "entity_type", "labelV", "kind", *TYPE[2:])
_ALIASES: Names = ("synonyms", "aliases")

_OF_NODE = ("id", "type", "name", "aliases")
_OF_EDGE = ("subject", "predicate", "object")


class Attributes:
    """Creates the records of one file, and enters attributes with a meaning into its account."""

    def __init__(self, options: SourceOptions, account: SourceAccount) -> None:
        self._options = options
        self._account = account
        self._nulls = frozenset({"", *options.null_texts})
        self._known: Sequence[str] | None = None
        self._names: tuple[Names, Names] | None = None
        self._nodes: dict[tuple[str, str | None, str | None, str | None], NodeColumns] = {}
        """Combinations of keys of id, type, name and aliases that are already in the account.
        """
        self._edges: dict[tuple[str, str | None, str], EdgeColumns] = {}
        self._noted: set[tuple[str | None, str]] = set()

    def node(
        self, attributes: Mapping[str, Any], id_: str, known: Sequence[str] | None
    ) -> NodeRecord:
        """The node with these attributes.

        Args:
            attributes: All attributes, including the id.
            id_: Key of the id.
            known: The attributes that the nodes of this file have; they determine whether `label`
                is a name or a type. None if the format defines it as the name.

        Raises:
            Unusable: The id is missing, or a field is of the wrong kind.
        """
        if self._names is None or known is not self._known:
            self._known, self._names = known, _with_label(known, self._options)
        types, names = self._names
        options = self._options
        keys = (
            id_,
            options.type_column or _first(attributes, types),
            options.name_column or _first(attributes, names),
            options.alias_column or _first(attributes, _ALIASES),
        )
        columns = self._nodes.get(keys)
        if columns is None:
            columns = NodeColumns(*keys, options.default_type, self._nulls)
        record = columns.record(attributes)
        if keys not in self._nodes and self._enter(attributes, keys, _OF_NODE):
            self._nodes[keys] = columns
        return record

    def edge(self, attributes: Mapping[str, Any], subject: str, object_: str) -> EdgeRecord:
        """The edge with these attributes; the `key` of a multigraph is used if it is text.

        Raises:
            Unusable: An end is missing, or a field is of the wrong kind.
        """
        if not isinstance(attributes.get("key"), str):
            attributes = {key: value for key, value in attributes.items() if key != "key"}
        predicate = self._options.predicate_column or _first(attributes, _PREDICATE)
        keys = (subject, predicate, object_)
        columns = self._edges.get(keys)
        if columns is None:
            columns = EdgeColumns(*keys, self._options.default_predicate, self._nulls)
        record = columns.record(attributes)
        if keys not in self._edges and self._enter(attributes, keys, _OF_EDGE):
            self._edges[keys] = columns
        return record

    def _enter(
        self, attributes: Mapping[str, Any], keys: Sequence[str | None], meanings: Sequence[str]
    ) -> bool:
        """Enter the attributes into the account; return whether all of them have a value here."""
        for key, meaning in zip(keys, meanings, strict=True):
            self.note(attributes, key, meaning)
        return all(key is None or attributes.get(key) is not None for key in keys)

    def note_undirected(self) -> None:
        """Note once in the account how undirected edges are treated."""
        self._account.note("undirected edges keep the direction in which they are written")

    def note(self, attributes: Mapping[str, Any], key: str | None, meaning: str) -> None:
        """Enter an attribute that has a value into the account, unless it is listed."""
        if (key, meaning) in self._noted or key is None or attributes.get(key) is None:
            return
        self._noted.add((key, meaning))
        self._account.add_column(key.removeprefix(":"), meaning, attributes[key])


def _with_label(known: Collection[str] | None, options: SourceOptions) -> tuple[Names, Names]:
    """The keys of type and name: `label` is a type only if another attribute is the name."""
    if known is None:
        return _TYPE, ("name", "label", *NAME)
    if options.name_column is not None or any(key.casefold() in NAME for key in known):
        return (*_TYPE, "label"), NAME
    return _TYPE, (*NAME, "label")


def _first(attributes: Mapping[str, Any], usual: Names) -> str | None:
    return next((key for key in usual if attributes.get(key) not in (None, "")), None)
