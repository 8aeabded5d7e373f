"""IRIs that the backend knows by name."""

from __future__ import annotations

from bfsql.models.rdf import WELL_KNOWN

TYPE = WELL_KNOWN["rdf"] + "type"
SUBJECT = WELL_KNOWN["rdf"] + "subject"
PREDICATE = WELL_KNOWN["rdf"] + "predicate"
OBJECT = WELL_KNOWN["rdf"] + "object"
STATEMENT = WELL_KNOWN["rdf"] + "Statement"
REIFIES = WELL_KNOWN["rdf"] + "reifies"
SUBCLASS = WELL_KNOWN["rdfs"] + "subClassOf"
LABEL = WELL_KNOWN["rdfs"] + "label"
ALIAS = WELL_KNOWN["skos"] + "altLabel"
UNTYPED = WELL_KNOWN["owl"] + "Thing"
"""Type of what has none (`protocol.md` 8)."""

NOT_EDGES = (TYPE, SUBJECT, PREDICATE, OBJECT, REIFIES)
"""Predicates that say what a resource is, or what a statement is about; they are never walked."""

UNSPECIFIC = (
    UNTYPED,
    WELL_KNOWN["owl"] + "NamedIndividual",
    WELL_KNOWN["rdfs"] + "Resource",
)
"""Types that tell nothing: they count only where there is no other."""

PRIMARY = "/entityType"
"""After the namespace of ids: the loader's property for the type that counts, of several.

No id is written so, since a slash in one is encoded.
"""

DOCUMENT = "/document"
"""After the namespace of ids: the loader's property from a statement to its documents."""

CLASSES = (
    WELL_KNOWN["rdfs"] + "Class",
    WELL_KNOWN["owl"] + "Class",
    WELL_KNOWN["rdfs"] + "Datatype",
    WELL_KNOWN["owl"] + "Restriction",
    WELL_KNOWN["owl"] + "Ontology",
    WELL_KNOWN["rdf"] + "Property",
    WELL_KNOWN["owl"] + "ObjectProperty",
    WELL_KNOWN["owl"] + "DatatypeProperty",
    WELL_KNOWN["owl"] + "AnnotationProperty",
    WELL_KNOWN["owl"] + "TransitiveProperty",
    WELL_KNOWN["owl"] + "SymmetricProperty",
    WELL_KNOWN["owl"] + "FunctionalProperty",
    WELL_KNOWN["owl"] + "InverseFunctionalProperty",
)
"""Types of classes, properties and ontologies, which need not be part of the graph."""

ONTOLOGY = (
    SUBCLASS,
    *(WELL_KNOWN["rdfs"] + name for name in ("subPropertyOf", "domain", "range", "isDefinedBy")),
    *(
        WELL_KNOWN["owl"] + name
        for name in (
            "equivalentClass",
            "equivalentProperty",
            "disjointWith",
            "complementOf",
            "inverseOf",
            "onProperty",
            "someValuesFrom",
            "allValuesFrom",
            "hasValue",
            "unionOf",
            "intersectionOf",
            "imports",
            "versionIRI",
        )
    ),
)
"""Predicates between classes and properties."""
