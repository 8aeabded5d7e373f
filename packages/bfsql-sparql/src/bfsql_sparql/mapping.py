"""How the triples of a store are read as nodes, edges, types and metadata.

`RdfMapping` has the settings as IRIs. `Ids` converts between ids and IRIs: an id is an IRI,
usually shortened by a prefix; any other id, such as `42` of a loaded graph, is percent-encoded in a
namespace of its own, so that every id has one IRI, and every IRI one id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from bfsql.models.json_values import is_text
from bfsql.models.rdf import WELL_KNOWN, Prefixes, is_iri
from bfsql.models.rdf_statements import OBJECT, PREDICATE, REIFIES, SUBJECT, TYPE

if TYPE_CHECKING:
    from bfsql_sparql.settings import SparqlSettings, Statements

SUBCLASS = WELL_KNOWN["rdfs"] + "subClassOf"
NOT_EDGES = (TYPE, SUBJECT, PREDICATE, OBJECT, REIFIES)
"""Predicates of types and of statements about statements; they are never walked."""

PRIMARY = "/entityType"
"""Appended to the namespace of ids: the loader's property for the main one of several types.

No id has this form, since a slash in an id is encoded.
"""

DOCUMENT = "/document"
"""Appended to the namespace of ids: the loader's property from a statement to its documents."""


def _names(prefix: str, names: str) -> tuple[str, ...]:
    return tuple(WELL_KNOWN[prefix] + name for name in names.split())


CLASSES = (
    *_names("rdfs", "Class Datatype"),
    *_names("rdf", "Property"),
    *_names("owl", "Class Restriction Ontology ObjectProperty DatatypeProperty"),
    *_names("owl", "AnnotationProperty TransitiveProperty SymmetricProperty"),
    *_names("owl", "FunctionalProperty InverseFunctionalProperty"),
)
"""Types of classes, properties and ontologies, which need not be part of the graph."""

ONTOLOGY = (
    *_names("rdfs", "subClassOf subPropertyOf domain range isDefinedBy"),
    *_names("owl", "equivalentClass equivalentProperty disjointWith complementOf inverseOf"),
    *_names("owl", "onProperty someValuesFrom allValuesFrom hasValue unionOf intersectionOf"),
    *_names("owl", "imports versionIRI"),
)
"""Predicates between classes and properties."""

EVERYTHING = "all"
"""Value of `language` and `graph` that stands for no restriction."""


class Ids:
    """Converts between canonical ids and the IRIs that represent them in the store.

    Args:
        prefixes: Prefix to namespace; they win over the usual ones.
        base: Namespace of the ids that are not IRIs.
    """

    def __init__(self, prefixes: Mapping[str, str], base: str) -> None:
        self._prefixes = Prefixes(prefixes)
        self._base = base
        self.id = lru_cache(maxsize=1 << 17)(self._id)
        self.iri = lru_cache(maxsize=1 << 17)(self._iri)

    def _iri(self, id_: str) -> str | None:
        """The IRI that an id means; None if it is not valid text."""
        return None if not is_text(id_) else self._prefixes.full(id_) or self._own(id_)

    def _own(self, id_: str) -> str:
        return self._base + quote(id_, safe="")

    def _id(self, iri: str) -> str:
        """The canonical id of an IRI."""
        if iri.startswith(self._base):
            id_ = unquote(iri[len(self._base) :], errors="replace")
            if self._prefixes.full(id_) is None and self._own(id_) == iri:
                return id_
        return self._prefixes.short(iri)


@dataclass(frozen=True, slots=True)
class RdfMapping:
    """How to read the store's triples; properties are IRIs, in order of preference."""

    ids: Ids
    base: str
    """Namespace of the ids that are not IRIs."""
    types: tuple[str, ...]
    """Properties whose objects are types."""
    labels: tuple[str, ...]
    aliases: tuple[str, ...]
    descriptions: tuple[str, ...]
    languages: tuple[str, ...]
    """Languages to include; empty for all."""
    preferred: tuple[str, ...]
    """Languages in the order of preference for choosing one text of several."""
    excluded: tuple[str, ...]
    """Predicates that are never followed."""
    only: tuple[str, ...]
    """Predicates that are followed; empty for all that are not excluded."""
    predicate_namespaces: tuple[str, ...]
    node_namespaces: tuple[str, ...]
    ontology: bool
    """Whether classes and properties are nodes."""
    inverse: dict[str, str]
    """Predicate to the predicate with the same meaning in the opposite direction."""
    graphs: tuple[str, ...]
    """Named graphs to read as one; empty for the graph that queries read by default."""
    all_graphs: bool
    """Whether every named graph is read."""
    type_priority: tuple[str, ...]
    """Types that precede all others of a node, best first."""
    type_namespaces: tuple[str, ...]
    """Prefixes of the types that come next."""
    statements: Statements
    """Place of the metadata of edges, according to the settings."""
    statement_graph: bool
    probe_seeds: tuple[str, ...]
    """Nodes around which types and predicates are sampled."""
    confidences: tuple[str, ...]
    sources: tuple[str, ...]

    @classmethod
    def of(cls, settings: SparqlSettings) -> RdfMapping:
        """The mapping for these settings, with their preset applied."""
        # Defaults and presets use `schema:name`, whatever else is bound to that namespace.
        ids = Ids({**WELL_KNOWN, **settings.prefix}, settings.base)

        def properties(names: Iterable[str]) -> tuple[str, ...]:
            return tuple(dict.fromkeys(found for name in names if (found := ids.iri(name))))

        types = properties(settings.type_property)
        marks = (settings.base + PRIMARY, settings.base + DOCUMENT)
        ontology = () if settings.ontology else ONTOLOGY
        excluded = (*NOT_EDGES, *types, *marks, *ontology, *properties(settings.exclude_predicate))
        languages = tuple(name for name in settings.language if name != EVERYTHING)
        return cls(
            ids=Ids(settings.prefix, settings.base),
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
            graphs=properties(name for name in settings.graph if name != EVERYTHING),
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
        """The loader's property for the main type of a node."""
        return self.base + PRIMARY

    @property
    def document(self) -> str:
        """The loader's property from a statement to the documents of its evidence."""
        return self.base + DOCUMENT

    @property
    def provenance(self) -> str:
        """The property for the evidence of an edge."""
        return f"{self.base}provenance"

    @property
    def names(self) -> tuple[str, ...]:
        """The properties of labels and aliases, each once."""
        return tuple(dict.fromkeys((*self.labels, *self.aliases)))

    def read_for(self, keys: Collection[str]) -> tuple[str, ...]:
        """The properties whose literals these metadata keys depend on."""
        names = {iri for key in keys if (iri := self.ids.iri(key))}
        if not {"name", "synonyms"}.isdisjoint(keys):
            names.update(self.names)
        if "description" in keys or not names.isdisjoint(self.descriptions):
            names.update(self.descriptions)
        return tuple(sorted(names))

    def counts(self, type_: str) -> bool:
        """Whether nodes of this type are part of the graph."""
        return self.ontology or type_ not in CLASSES

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


def _namespaces(ids: Ids, names: Iterable[str]) -> tuple[str, ...]:
    """Prefixes of IRIs; `dbr:` by itself means the namespace of that prefix."""
    whole = [ids.iri(f"{name}x") for name in names if is_iri(name)]
    return tuple(dict.fromkeys(found[:-1] for found in whole if found))
