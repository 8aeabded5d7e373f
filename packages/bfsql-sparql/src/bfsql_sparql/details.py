"""The metadata of nodes: their literals, their names in the wanted language, their other types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bfsql import call
from bfsql.models import Metadata, Omission
from bfsql.models.merge import merge_metadata, sorted_union
from bfsql.models.rdf import Literal, value_of
from bfsql_sparql.batches import Batches, Part, Question
from bfsql_sparql.dataset import Dataset
from bfsql_sparql.mapping import Mapping
from bfsql_sparql.naming import kept, labels, preference
from bfsql_sparql.nodes import Types
from bfsql_sparql.queries import metadata as texts
from bfsql_sparql.results import rows
from bfsql_sparql.rings import NOWHERE
from bfsql_sparql.settings import SparqlSettings
from bfsql_sparql.terms import Row, Term
from bfsql_sparql.windows import Windows, read_windows

MOST_VALUES = 100_000
"""Values of one node that are read at the most."""


class Details:
    """Reads the metadata of nodes.

    Args:
        dataset: The store.
        batches: How large its queries are.
        mapping: How triples are read.
        settings: `page_size` is used.
        types: Which type of a node counts.
    """

    def __init__(
        self,
        dataset: Dataset,
        batches: Batches,
        mapping: Mapping,
        settings: SparqlSettings,
        types: Types,
    ) -> None:
        self._dataset = dataset
        self._batches = batches
        self._mapping = mapping
        self._limit = settings.page_size + 1
        self._types = types

    async def of(self, nodes: Sequence[str]) -> dict[str, Metadata]:
        """Metadata by IRI, of the nodes that exist.

        Args:
            nodes: IRIs, without duplicates.
        """
        question = Question(
            text=lambda some: texts.properties(some, self._mapping, self._limit),
            decode=rows,
            count=len,
            harmless=NOWHERE,
        )
        told: dict[str, dict[str, list[Term]]] = {}
        asked = frozenset(nodes)
        for part in await self._batches.read(nodes, question):
            for subject, predicate, value in await self._rows(part):
                if subject in asked and value is not None:
                    properties = told.setdefault(str(subject), {})
                    properties.setdefault(str(predicate), []).append(value)
        bare = [node for node in nodes if node not in told]
        if bare:
            told |= {node: {} for node in await self._types.existing(bare)}
        found = {node: self._metadata(properties) for node, properties in told.items()}
        return {node: metadata for node, metadata in found.items() if metadata is not None}

    async def _rows(self, part: Part[str, list[Row]]) -> list[Row]:
        if not part.cut:
            return part.rows
        node = part.keys[0]
        windows: Windows[Row] = Windows(
            number=texts.number(node, self._mapping),
            text=lambda after, size: texts.window(node, self._mapping, after, size),
            decode=rows,
            end=lambda row: getattr(row[2], "text", ""),
        )
        read = await read_windows(self._dataset, windows, MOST_VALUES, lambda _: None)
        if read.missing:
            id_ = self._mapping.ids.id(node)
            reason = "values of its properties, of which it has too many"
            call.omitted(Omission(id_, "out", read.missing, reason))
        return [(node, *row[:2]) for row in read.rows] or part.rows

    def _metadata(self, properties: dict[str, list[Term]]) -> Metadata | None:
        """What the properties of one node say; None where it is left out with the ontology."""
        mapping = self._mapping
        marks = properties.pop(mapping.primary, [])
        types = [one for name in mapping.types for one in properties.get(name, ())]
        first, *others = self._types.ranked(_iris(marks), _iris(types))
        if not self._types.counts(first):
            return None
        literals = {
            name: those
            for name, values in properties.items()
            if (those := kept([one for one in values if isinstance(one, Literal)], mapping))
        }
        told = self._names(literals) | self._description(literals)
        if others:
            told["other_types"] = sorted_union(map(mapping.ids.id, others))
        # What a property says under such a name goes before what is made of others: it is
        # there because the loader could not say it by them.
        return told | {mapping.ids.id(name): merged(values) for name, values in literals.items()}

    def _names(self, literals: dict[str, list[Literal]]) -> dict[str, Any]:
        """Takes out labels and aliases, and gives the best label and all other names."""
        mapping = self._mapping
        told = {name: literals.pop(name) for name in mapping.labels if name in literals}
        aliases = [str(value_of(one)) for name in mapping.aliases for one in literals.pop(name, ())]
        found = labels(told, mapping)
        named = {"name": found[0]} if found else {}
        synonyms = [*aliases, *(label for label in found if label != found[0])]
        return named | ({"synonyms": sorted_union(synonyms)} if synonyms else {})

    def _description(self, literals: dict[str, list[Literal]]) -> dict[str, Any]:
        """Takes out the best description; others stay under their properties."""
        for name in self._mapping.descriptions:
            if name in literals:
                best, *others = sorted(
                    literals.pop(name), key=lambda one: preference(one, self._mapping)
                )
                more = {self._mapping.ids.id(name): merged(others)} if others else {}
                return {"description": value_of(best), **more}
        return {}


def merged(literals: Iterable[Literal]) -> Any:
    """The value of a property: that of its only literal, or several as a sorted list."""
    values = [value_of(literal) for literal in literals]
    if len(values) == 1:
        return values[0]
    return merge_metadata([{"": value} for value in values])[""]


def _iris(terms: Iterable[Term]) -> list[str]:
    return [term for term in terms if isinstance(term, str)]
