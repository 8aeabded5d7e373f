"""Nodes and edges as bags of attributes: the meaning of each attribute, and the resulting records.

The rows of a table have the same columns. In contrast, each node that networkx and others write
may have its own attributes, so its type and name are determined for every node separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bfsql.models.load import SourceAccount
from bfsql.models.records import EdgeRecord, NodeRecord
from bfsql.sources.fields import Unusable, is_label
from bfsql.sources.headers import NAME, TYPE, Columns, EdgeColumns, Names, NodeColumns, with_label
from bfsql.sources.options import SourceOptions

ID, SUBJECT, OBJECT = ":node id", ":edge source", ":edge target"
"""Keys of ids that are stored apart from the attributes, among which `id` may mean another."""

_PREDICATE: Names = (
    *("predicate", "relation", "relationship_type", "type", "interaction", "labelE", "kind"),
    *("label", "key", "relationType", "relationshipType"),
)
_TYPE: Names = ("type", "entity_type", "labelV", "kind", *TYPE[2:], "entityType")
_ALIASES: Names = ("synonyms", "aliases")


class Attributes:
    """Creates the records of one file, and enters attributes with a meaning into its account."""

    def __init__(self, options: SourceOptions, account: SourceAccount) -> None:
        self._options = options
        self._account = account
        self._nulls = frozenset({"", *options.null_texts})
        self._known: Sequence[str] | None = None
        self._names: tuple[Names, Names] | None = None
        self._columns: dict[tuple[str | None, ...], Any] = {}
        """The columns by their keys, if all of these are already in the account."""
        self._nameless = iter(range(100))
        """Counts the nodes without a name whose attributes are inspected."""
        self._noted: set[tuple[str | None, str]] = set()
        self._empty_texts: Counter[tuple[str, str]] = Counter()
        account.empty_texts.append(self._empty_texts)

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
        options = self._options
        if self._names is None or known is not self._known:
            self._known = known
            has_name = options.name_column is not None or any(
                key.casefold() in NAME for key in known or ()
            )
            self._names = with_label(_TYPE, has_name=has_name)
            if known is None:
                self._names = _TYPE, ("name", "label", *NAME)
        types, names = self._names
        keys = (
            id_,
            options.type_column or _first(attributes, types),
            options.name_column or _first(attributes, names),
            options.alias_column or _first(attributes, _ALIASES),
        )
        if keys[2] is None and next(self._nameless, None) is not None:
            for key, value in attributes.items():
                if key != ID and is_label(value):
                    self._account.texts.setdefault(key, []).append(value)
        columns = self._columns.get(keys) or NodeColumns(
            *keys, options.default_type, null_texts=self._nulls
        )
        record: NodeRecord = self._record(columns, attributes)
        return record

    def edge(self, attributes: Mapping[str, Any], subject: str, object_: str) -> EdgeRecord:
        """The edge with these attributes; the `key` of a multigraph is used if it is text.

        Raises:
            Unusable: An end is missing, or a field is of the wrong kind.
        """
        if not isinstance(attributes.get("key"), str):
            attributes = {key: value for key, value in attributes.items() if key != "key"}
        options = self._options
        keys = (subject, options.predicate_column or _first(attributes, _PREDICATE), object_)
        default = options.default_predicate
        columns = self._columns.get(keys) or EdgeColumns(*keys, default, null_texts=self._nulls)
        record: EdgeRecord = self._record(columns, attributes)
        return record

    def _record(self, columns: Columns, attributes: Mapping[str, Any]) -> Any:
        """The record of these attributes, which are entered into the account."""
        try:
            record = columns.record(attributes)
        except Unusable as reason:
            text = str(reason)
            for special in (ID, SUBJECT, OBJECT):
                text = text.replace(special, special.rpartition(" ")[2])
            raise Unusable(text) from None
        self._empty_texts.update(columns.empty_texts)
        columns.empty_texts.clear()
        if columns.roles not in self._columns:
            for key, meaning in zip(columns.roles, columns.ROLES, strict=True):
                self.note(attributes, key, meaning)
            if all(key is None or attributes.get(key) is not None for key in columns.roles):
                self._columns[columns.roles] = columns
        return record

    def note_undirected(self) -> None:
        """Note once in the account how undirected edges are treated."""
        self._account.note("undirected edges keep the direction in which they are written")

    def note(self, attributes: Mapping[str, Any], key: str | None, meaning: str) -> None:
        """Enter an attribute that has a value into the account, unless it is listed."""
        if (key, meaning) in self._noted or key is None or attributes.get(key) is None:
            return
        self._noted.add((key, meaning))
        self._account.add_column(key.removeprefix(":"), meaning, attributes[key])


def _first(attributes: Mapping[str, Any], usual: Names) -> str | None:
    return next((key for key in usual if attributes.get(key) not in (None, "")), None)
