"""Query text of listings of nodes by type and properties.

Conditions narrow a listing as far as a store can compare their properties; what a node has to meet
is in `queries.conditions`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bfsql_sparql.queries import conditions as values
from bfsql_sparql.queries.graph import any_node, in_order, iris, is_node, mark, typed

if TYPE_CHECKING:
    from bfsql.models import PropertyCondition
    from bfsql_sparql.mapping import RdfMapping

_DERIVED = frozenset({"name", "synonyms", "description", "other_types"})
"""Keys of metadata that more than one property may give."""


class Listing(NamedTuple):
    """A query for nodes."""

    shown: str
    """The variables: `?s`; and of nodes with a type, `?mark`, the marked main type, and `?t`."""
    pattern: str

    def text(self, limit: int) -> str:
        """The first rows that the store returns."""
        return f"SELECT DISTINCT {self.shown} WHERE {{ {self.pattern} }} LIMIT {limit}"

    def window(self, after: str, limit: int) -> str:
        """Rows in the order of their nodes, with `?at`."""
        at, begin, order = in_order("?s", after, limit)
        return f"SELECT DISTINCT {self.shown} {at} WHERE {{ {self.pattern} {begin} }} {order}"


def with_type(
    types: Sequence[str] | None, narrowed: str, mapping: RdfMapping, *, marked: bool
) -> Listing:
    """Nodes that have a type, each with all its types.

    Args:
        types: Types of which they have at least one; None for any.
        narrowed: A pattern for what they have to meet.
        mapping: How to read triples.
        marked: Whether nodes may be marked with their main type.
    """
    parts = [narrowed, typed("s", "t", mapping), f"FILTER({is_node('s', mapping)} && isIRI(?t))"]
    if types is not None:
        parts.insert(0, f"VALUES ?wanted {{ {iris(types)} }} {typed('s', 'wanted', mapping)}")
    if marked:
        parts.append(f"OPTIONAL {{ {mark('mark', mapping)} }}")
    return Listing("?s ?mark ?t", " ".join(parts))


def without_type(narrowed: str, mapping: RdfMapping) -> Listing:
    """Nodes without a type; `narrowed` is as in `with_type`."""
    found = f"{narrowed} FILTER({is_node('s', mapping)})"
    if not narrowed or narrowed.startswith(values.ABSENT):  # otherwise it finds nodes by itself
        found = f"{{ {any_node(mapping)} }} {narrowed}"
    any_type = f"{typed('s', 'any_type', mapping)} FILTER(isIRI(?any_type))"
    return Listing("?s", f"{found} FILTER NOT EXISTS {{ {any_type} }}")


def narrowed(
    conditions: Collection[PropertyCondition], mapping: RdfMapping, *, few_spellings: bool
) -> str:
    """A pattern for the nodes `?s` that may meet all of some conditions.

    Args:
        conditions: The conditions; those that no pattern can express are left out.
        mapping: How to read triples.
        few_spellings: Whether `=` finds only values in some spellings, which an index finds.
    """
    parts = []
    # Those that find nodes come first.
    for place, one in enumerate(sorted(conditions, key=lambda one: one.operator == "lacks")):
        names, value = mapping.read_for([one.key]), f"v{place}"
        if not names or one.key == "other_types":
            continue
        if one.operator == "lacks":
            if _is_property(one.key, names, mapping):
                parts.append(values.absence(names[0], value, mapping))
        elif one.operator == "=" and few_spellings:
            parts.append(values.few_spellings(one, names, value, mapping))
        else:
            parts.append(values.comparison(one, names, value, mapping))
    return " ".join(parts)


def _is_property(key: str, names: Sequence[str], mapping: RdfMapping) -> bool:
    """Whether metadata has a key if and only if a node has a literal of the one property."""
    return (
        len(names) == 1
        and key not in _DERIVED
        and names[0] not in (*mapping.names, *mapping.types, mapping.primary)
        and mapping.ids.id(names[0]) == key
    )
