"""Which of its labels is the name of a node, and which of its texts count at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bfsql.models.rdf import Literal, in_languages, value_of
from bfsql_sparql.mapping import Mapping as Reading


def kept(texts: list[Literal], mapping: Reading) -> list[Literal]:
    """Those of a property's texts that are in the wanted languages, or all where none is."""
    languages = mapping.languages
    if not languages or not any(one.language for one in texts):
        return texts
    return [one for one in texts if in_languages(one, languages)] or texts


def preference(text: Literal, mapping: Reading) -> tuple[int, str, str]:
    """Sort key of texts in several languages: as wanted, without one, then all others."""
    if not text.language:
        return len(mapping.preferred), "", text.text
    ranks = (at for at, language in enumerate(mapping.preferred) if in_languages(text, (language,)))
    rank = next(ranks, len(mapping.preferred) + 1)
    return rank, text.language.casefold(), text.text


def labels(told: Mapping[str, Sequence[Literal]], mapping: Reading) -> list[str]:
    """All labels of a node, its name first.

    The name is in a wanted language, if any label is, of the best property that has one, and
    there in the best language; of equals it is the first by code point.

    Args:
        told: The texts of each property, those that are kept.
        mapping: How triples are read.
    """
    ranked = [
        (_is_foreign(one, mapping), at, preference(one, mapping), str(value_of(one)))
        for at, name in enumerate(mapping.labels)
        for one in told.get(name, ())
    ]
    return [label for *_, label in sorted(ranked)]


def names(found: Iterable[tuple[str, Literal]], mapping: Reading) -> tuple[str | None, list[str]]:
    """The name of a node, and all other names in order.

    Args:
        found: Properties, labels and aliases among them, with their values.
        mapping: How triples are read.
    """
    by_property: dict[str, set[Literal]] = {
        name: set() for name in (*mapping.labels, *mapping.aliases)
    }
    for name, value in found:
        if name in by_property:
            by_property[name].add(value)
    told = {name: kept(list(values), mapping) for name, values in by_property.items()}
    every = {str(value_of(one)) for texts in told.values() for one in texts}
    best = next(iter(labels(told, mapping)), None)
    return best, sorted(every - {best})


def _is_foreign(text: Literal, mapping: Reading) -> bool:
    return text.language is not None and not in_languages(text, mapping.languages)
