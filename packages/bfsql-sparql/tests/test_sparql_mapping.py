"""Ids and IRIs: each id has one IRI, and each IRI one id."""

import string

from hypothesis import given
from hypothesis import strategies as st

from bfsql.models.rdf import is_iri
from bfsql_sparql import SparqlSettings
from bfsql_sparql.mapping import Ids, RdfMapping

PREFIXES = {"ex": "http://example.org/", "nested": "http://example.org/nested/"}
BASE = "urn:bfsql:"
IDS = Ids(PREFIXES, BASE)
TEXTS = st.text(string.printable + "äß\U0001f9ec\0", max_size=12)
STARTS = st.sampled_from(["", "ex:", "nested:", "http://example.org/", BASE, "<", "%", "rdf:"])


@given(STARTS, TEXTS)
def test_every_text_is_an_id_with_an_iri_that_comes_back(start, rest):
    iri = IDS.iri(start + rest)
    assert iri is not None
    assert is_iri(iri)
    assert IDS.iri(IDS.id(iri)) == iri


@given(STARTS, TEXTS)
def test_every_iri_has_an_id_that_means_it(start, rest):
    iri = start + rest
    if is_iri(iri):
        assert IDS.iri(IDS.id(iri)) == iri


@given(TEXTS)
def test_what_is_no_iri_is_its_own_id(text):
    iri = IDS.iri(text)
    assert iri is not None
    if iri.startswith(BASE) and not text.startswith((BASE, "<")):
        assert IDS.id(iri) == text


def test_half_of_a_surrogate_pair_means_nothing():
    assert IDS.iri("\ud800") is None


def test_settings_name_things_by_their_prefixes_as_answers_do():
    settings = SparqlSettings(
        prefix={"y": "http://y.org/", "name": "http://xmlns.com/foaf/0.1/"},
        exclude_predicate=["y:sees"],
        node_namespace=["y:"],
    )
    mapping = RdfMapping.of(settings)
    assert mapping.ids.id("http://y.org/1") == "y:1"
    assert mapping.ids.id("http://xmlns.com/foaf/0.1/Person") == "name:Person"
    assert "http://y.org/sees" in mapping.excluded
    assert mapping.node_namespaces == ("http://y.org/",)


def test_defaults_and_presets_name_the_same_under_any_prefixes():
    settings = SparqlSettings(prefix={"s": "http://schema.org/"}, probe_seed=["dbr:Berlin"])
    mapping = RdfMapping.of(settings)
    assert {"http://schema.org/name", "http://xmlns.com/foaf/0.1/name"} <= set(mapping.labels)
    assert mapping.probe_seeds == ("http://dbpedia.org/resource/Berlin",)
    assert mapping.ids.id("http://schema.org/name") == "s:name"
