"""Short ids for IRIs: a shortened IRI expands to the same IRI."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql.models.rdf import Prefixes, is_iri

GIVEN = {"ex": "http://example.org/", "exa": "http://example.org/a/", "": "http://empty.org/#"}
ODD = st.text(st.sampled_from("aé:/#%<>{} '\"\\^`|?[]@0\n\U0001f9ec"), max_size=8)
IRIS = st.builds(
    str.__add__,
    st.sampled_from(
        [*GIVEN.values(), "http://", "ex:", "EX:", "dbr:", "urn:", "_:", "a:", "http:"]
    ),
    ODD,
)


@given(IRIS)
def test_every_iri_comes_back_from_its_id(iri):
    prefixes = Prefixes(GIVEN)
    if is_iri(iri):
        assert prefixes.full(prefixes.short(iri)) == iri


@given(ODD | IRIS)
def test_an_id_means_an_iri_or_nothing(text):
    iri = Prefixes(GIVEN).full(text)
    assert iri is None or is_iri(iri)


@pytest.mark.parametrize(
    ("iri", "short"),
    [
        ("http://example.org/x", "ex:x"),
        ("http://example.org/a/x", "exa:x"),
        ("http://example.org/x/y#z", "ex:x/y#z"),
        ("http://example.org/", "http://example.org/"),
        ("http://example.org///x", "http://example.org///x"),
        ("http://empty.org/#x", ":x"),
        ("ex:x", "<ex:x>"),
        ("http://example.org/%zz", "<http://example.org/%zz>"),
        ("http://www.wikidata.org/entity/Q42", "wd:Q42"),
        ("MeSH:D003480", "MeSH:D003480"),
    ],
)
def test_the_longest_prefix_counts_and_what_is_ambiguous_stays_whole(iri, short):
    assert Prefixes(GIVEN).short(iri) == short


@pytest.mark.parametrize(
    "text",
    ["", "no iri", "<http://a b>", "http://x/}{", "x", "<x>", "ex:a b", "ex:>", "http://\ud800"],
)
def test_what_is_no_iri_means_none(text):
    assert Prefixes(GIVEN).full(text) is None
