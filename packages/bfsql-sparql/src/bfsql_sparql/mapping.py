"""The settings as IRIs: how triples are read as entities, edges and metadata."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Prefixes
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from bfsql.models.rdf import WELL_KNOWN, is_iri
from bfsql_sparql.ids import Ids
from bfsql_sparql.queries.quoting import iri, iris
from bfsql_sparql.vocabulary import DOCUMENT, NOT_EDGES, ONTOLOGY, PRIMARY

if TYPE_CHECKING:
    from bfsql_sparql.settings import SparqlSettings, Statements

EVERYTHING = "all"
"""What `language` and `graph` say for no restriction at all."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """How the store's triples are read; every property is an IRI, in the order of preference."""

    ids: Ids
    base: str
    """Namespace of the ids that are no IRIs."""
    types: tuple[str, ...]
    """Properties whose objects are types."""
    labels: tuple[str, ...]
    aliases: tuple[str, ...]
    descriptions: tuple[str, ...]
    languages: tuple[str, ...]
    """Languages to keep; empty for all."""
    preferred: tuple[str, ...]
    """Languages in the order in which one text is chosen of several."""
    excluded: tuple[str, ...]
    """Predicates that are never walked."""
    only: tuple[str, ...]
    """Predicates that are walked; empty for all that are not excluded."""
    predicate_namespaces: tuple[str, ...]
    node_namespaces: tuple[str, ...]
    ontology: bool
    """Whether classes and properties are nodes."""
    inverse: dict[str, str]
    """Predicate to the one that says the same from the other end."""
    graphs: tuple[str, ...]
    """Named graphs to read as one; empty for what the store gives to a query that names none."""
    all_graphs: bool
    """Whether every named graph is read."""
    type_priority: tuple[str, ...]
    """Types that count before all others of a node, best first."""
    type_namespaces: tuple[str, ...]
    """Beginnings of the types that count next."""
    statements: Statements
    """Where metadata of edges is kept, as the settings say."""
    statement_graph: bool
    probe_seeds: tuple[str, ...]
    """Nodes around which types and predicates are sampled."""
    confidences: tuple[str, ...]
    sources: tuple[str, ...]

    @classmethod
    def of(
        cls, settings: SparqlSettings, declared: Prefixes[str, str] = MappingProxyType({})
    ) -> Mapping:
        """The mapping that these settings mean.

        Args:
            settings: With their preset applied.
            declared: Prefixes of the store's own, which count after those of the settings.
                The settings may name things by them, as the ids in answers do.
        """
        # Of two prefixes for one namespace the first counts.
        further = {name: at for name, at in declared.items() if name not in settings.prefix}
        # Defaults and presets say `schema:name`, whatever else is bound to that namespace, and
        # whatever a file means by `schema`.
        ids = Ids({**further, **WELL_KNOWN, **settings.prefix}, settings.base)

        def properties(names: Iterable[str]) -> tuple[str, ...]:
            return tuple(dict.fromkeys(found for name in names if (found := ids.iri(name))))

        types = properties(settings.type_property)
        marks = (settings.base + PRIMARY, settings.base + DOCUMENT)
        ontology = () if settings.ontology else ONTOLOGY
        excluded = (*NOT_EDGES, *types, *marks, *ontology, *properties(settings.exclude_predicate))
        named = [name for name in settings.graph if name != EVERYTHING]
        languages = tuple(name for name in settings.language if name != EVERYTHING)
        return cls(
            ids=Ids({**settings.prefix, **further}, settings.base),
            base=settings.base,
            types=types,
            labels=properties(settings.label_property),
            aliases=properties(settings.alias_property),
            descriptions=properties(settings.description_property),
            languages=() if EVERYTHING in settings.language else languages,
            preferred=languages,
            excluded=tuple(dict.fromkeys(excluded)),
            only=properties(settings.only_predicate),
            predicate_namespaces=_namespaces(ids, settings.predicate_namespace),
            node_namespaces=_namespaces(ids, settings.node_namespace),
            ontology=settings.ontology,
            inverse={
                p: q
                for one, other in settings.inverse.items()
                if (p := ids.iri(one)) and (q := ids.iri(other))
            },
            graphs=properties(named),
            all_graphs=EVERYTHING in settings.graph,
            type_priority=properties(settings.type_priority),
            type_namespaces=_namespaces(ids, settings.type_namespace),
            statements=settings.statements,
            statement_graph=settings.statement_graph,
            probe_seeds=properties(settings.probe_seed),
            confidences=properties(settings.confidence_property),
            sources=properties(settings.source_property),
        )

    @property
    def primary(self) -> str:
        """The loader's property for the one type of a node that counts."""
        return self.base + PRIMARY

    @property
    def document(self) -> str:
        """The loader's property from a statement to the documents of its evidence."""
        return self.base + DOCUMENT

    @property
    def provenance(self) -> str:
        """The property under which the evidence of an edge is kept."""
        return f"{self.base}provenance"

    def is_walked(self, predicate: str) -> bool:
        """Whether triples with this predicate are edges."""
        return (
            predicate not in self.excluded
            and (not self.only or predicate in self.only)
            and predicate.startswith(self.predicate_namespaces or "")
        )

    def is_node(self, iri: str) -> bool:
        """Whether an IRI may be a node."""
        return iri.startswith(self.node_namespaces or "")

    def within(self, pattern: str, graph: str = "g") -> str:
        """A group graph pattern, matched in the graphs that are read.

        Args:
            pattern: Without braces around it. With several graphs all of it is matched in
                one of them, so triples that may stand in different ones are given one by one.
            graph: Name of the variable for the graph; one of its own for each pattern.
        """
        if self.all_graphs:
            return f"GRAPH ?{graph} {{ {pattern} }}"
        if len(self.graphs) > 1:
            return f"VALUES ?{graph} {{ {iris(self.graphs)} }} GRAPH ?{graph} {{ {pattern} }}"
        if self.graphs:
            return f"GRAPH {iri(self.graphs[0])} {{ {pattern} }}"
        return pattern


def _namespaces(ids: Ids, names: Iterable[str]) -> tuple[str, ...]:
    """Beginnings of IRIs; `dbr:` alone means the namespace of that prefix."""
    whole = [ids.iri(f"{name}x") for name in names if is_iri(name)]
    return tuple(dict.fromkeys(found[:-1] for found in whole if found))
