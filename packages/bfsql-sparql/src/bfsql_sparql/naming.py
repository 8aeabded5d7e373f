"""Which of its labels is the name of a node."""

from __future__ import annotations

from collections.abc import Iterable

from bfsql.models.rdf_terms import Text, in_languages, value_of
from bfsql_sparql.mapping import Mapping


def names(found: Iterable[tuple[str, Text]], mapping: Mapping) -> tuple[str | None, list[str]]:
    """The name, and all other names in order.

    The name is a text of the best label property in the best language; of equals the first
    by code point.

    Args:
        found: Properties, labels and aliases among them, with their values.
        mapping: How triples are read.
    """
    properties = (*mapping.labels, *mapping.aliases)
    by_property: dict[str, set[Text]] = {name: set() for name in properties}
    for name, value in found:
        if name in by_property:
            by_property[name].add(value)
    kept = {name: _kept(values, mapping) for name, values in by_property.items()}
    best = next((text for name in mapping.labels for text in kept[name]), None)
    every = {text for texts in kept.values() for text in texts}
    return best, sorted(every - {best})


def _kept(values: Iterable[Text], mapping: Mapping) -> list[str]:
    """The texts in wanted languages, or all where there is none, best language first."""
    values = list(values)
    wanted = [one for one in values if in_languages(one, mapping.languages)] or values
    return [str(value_of(one)) for one in sorted(wanted, key=lambda one: _place(one, mapping))]


def _place(value: Text, mapping: Mapping) -> tuple[int, str, str]:
    """Sort key of a text: languages as wanted, then none, then all others."""
    if not value.language:
        return len(mapping.preferred), "", value.text
    ranks = (
        at for at, language in enumerate(mapping.preferred) if in_languages(value, (language,))
    )
    rank = next(ranks, len(mapping.preferred) + 1)
    return rank, value.language.casefold(), value.text
