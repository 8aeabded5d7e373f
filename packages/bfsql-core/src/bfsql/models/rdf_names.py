"""Properties of RDF that hold names: ids as of `bfsql.models.rdf`, in order of preference."""

NAME_PROPERTIES = (
    "rdfs:label",
    "skos:prefLabel",
    "schema:name",
    "https://schema.org/name",
    "foaf:name",
)
"""Properties that hold the display name."""

ALIAS_PROPERTIES = ("skos:altLabel", "schema:alternateName", "https://schema.org/alternateName")
"""Properties that hold additional names."""
