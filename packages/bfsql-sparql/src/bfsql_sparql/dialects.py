"""Peculiarities of each kind of server that the standard does not cover.

`DIALECTS` contains, for each kind of server, how it reports a timeout or missing rows, and how its
full-text search is written. Differences in requests are settings, in the table `presets.toml`.

A search is a pattern that binds `?s`, usually with its `?score`. Words are runs of letters and
digits in lower case, so none of them is an operator or ends a quotation in any of these languages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from bfsql.models.rdf import WELL_KNOWN
from bfsql_sparql.mapping import RdfMapping
from bfsql_sparql.queries.graph import iri, labelled, text, within

_SHORTER = "BIND(-STRLEN(STR(?label)) AS ?score)"
_WORD = re.compile(r"[^\W_]+")
_STEM = 4  # leading letters that Virtuoso requires before a wildcard
_FTS = "http://www.ontotext.com/fts"
_TEXT_MATCH = "tag:stardog:api:property:textMatch"
_LUCENE_SAIL = "http://www.openrdf.org/contrib/lucenesail#"
_JENA = "http://jena.apache.org/text#query"
_QLEVER = "http://qlever.cs.uni-freiburg.de/builtin-functions/contains-word"
_BIGDATA = "http://www.bigdata.com/rdf#serviceParam"
_MWAPI = "https://www.mediawiki.org/ontology#API/"


class SearchTerms(NamedTuple):
    """The text and words to search for."""

    text: str
    """The beginning of the text as typed, without surrounding space."""
    words: tuple[str, ...]
    """Its words, at least one."""
    limit: int
    """Most hits."""


def search_terms(typed: str, limit: int) -> SearchTerms | None:
    """The terms to search for, None if the text has no words."""
    words = tuple(_WORD.findall(typed.lower())[:16])
    return SearchTerms(typed.strip()[:500], words, limit) if words else None


# --- full-text searches -----------------------------------------------------


def _virtuoso(wanted: SearchTerms, mapping: RdfMapping) -> str:
    """`bif:contains`: each word in quotes; the last may be a prefix if it is long enough."""
    *first, last = wanted.words
    last = f"{last}*" if len(last) >= _STEM else last
    expression = " AND ".join(f"'{word}'" for word in (*first, last))
    properties = ", ".join(map(iri, mapping.names))
    # It requires the triple of the literal beside it, in the same braces. Its prefix is not
    # declared elsewhere, so other servers refuse the query before doing any work.
    found = f"?s ?label_by ?label . ?label bif:contains {text(expression)} ."
    labelled = within(mapping, f"{found} FILTER(?label_by IN ({properties}))", "label_graph")
    return f"{labelled} {_SHORTER}"


def _fuseki(wanted: SearchTerms, mapping: RdfMapping) -> str:
    """`text:query`, separately for each property, since a property may not be in the index."""
    parts = [
        f"{{ (?s ?score) {iri(_JENA)} ({iri(name)} {text(_lucene(wanted))} {wanted.limit}) }}"
        for name in mapping.names
    ]
    return within(mapping, " UNION ".join(parts), "label_graph")


def _graphdb(wanted: SearchTerms, mapping: RdfMapping) -> str:
    """The simple index of literals."""
    return f"?label {iri(_FTS)} {text(_lucene(wanted))} . {labelled(mapping)} {_SHORTER}"


def _stardog(wanted: SearchTerms, mapping: RdfMapping) -> str:
    """`textMatch`; its second argument is the number of literals."""
    several = 10 * wanted.limit  # the literals of other properties are among them
    return (
        f"(?label ?score) {iri(_TEXT_MATCH)} ({text(_lucene(wanted))} {several}) . "
        f"{labelled(mapping)}"
    )


def _rdf4j(wanted: SearchTerms, mapping: RdfMapping) -> str:
    """The virtual properties of the LuceneSail."""

    def own(name: str) -> str:
        return iri(_LUCENE_SAIL + name)

    parts = [
        f"{{ ?s {own('matches')} [ {own('query')} {text(_lucene(wanted))} ; "
        f"{own('property')} {iri(name)} ; {own('score')} ?score ] . }}"
        for name in mapping.names
    ]
    return within(mapping, " UNION ".join(parts), "label_graph")


def _qlever(wanted: SearchTerms, mapping: RdfMapping) -> str:
    """`ql:contains-word` on the literals themselves, with each word as a prefix."""
    words = " ".join(f"{word}*" if len(word) >= _STEM else word for word in wanted.words)
    return f"?label {iri(_QLEVER)} {text(words)} . {labelled(mapping)} {_SHORTER}"


def _wikidata(wanted: SearchTerms, mapping: RdfMapping) -> str:
    """The entity search of the wiki, through the endpoint's service for it."""
    language = mapping.languages[0] if mapping.languages else "en"
    parameter = iri(_BIGDATA)
    wikibase = WELL_KNOWN["wikibase"]
    return (
        f"SERVICE {iri(wikibase + 'mwapi')} {{ "
        f"{parameter} {iri(wikibase + 'endpoint')} {text('www.wikidata.org')} . "
        f"{parameter} {iri(wikibase + 'api')} {text('EntitySearch')} . "
        f"{parameter} {iri(_MWAPI + 'search')} {text(wanted.text)} . "
        f"{parameter} {iri(_MWAPI + 'language')} {text(language)} . "
        f"?s {iri(wikibase + 'apiOutputItem')} {iri(_MWAPI + 'item')} . "
        f"?at {iri(wikibase + 'apiOrdinal')} true . }} BIND(-?at AS ?score)"
    )


def _lucene(wanted: SearchTerms) -> str:
    """All words, the last one whole or as a prefix."""
    *first, last = wanted.words
    return " AND ".join((*first, f"({last} OR {last}*)"))


# --- the table --------------------------------------------------------------


class Dialect(NamedTuple):
    """How one kind of server reports and searches."""

    time_up: tuple[str, ...] = ()
    """Texts by which an error of any status reports that the query timed out."""
    time_up_header: tuple[str, str] | None = None
    """Name and value of the header that reports a timeout in an incomplete answer of status 200."""
    row_limit_header: str | None = None
    """The header with the number of rows that no answer exceeds.

    It is sent as soon as an answer has that number, whether or not there were more.
    """
    search: Callable[[SearchTerms, RdfMapping], str] | None = None
    """Makes the pattern of its full-text search."""
    is_probed: bool = True
    """Whether the search may be tried on an unknown store, that is, whether it calls no other
    service.
    """


DIALECTS = {
    "virtuoso": Dialect(
        ("S1T00",),  # 500, "Transaction timed out"
        ("x-sql-state", "S1TAT"),  # with the parameter `timeout`
        "x-sparql-maxrows",
        _virtuoso,
    ),
    "fuseki": Dialect(
        (
            "Query timed out",  # 503
            "QueryCancelledException",  # in the middle of a body
        ),
        search=_fuseki,
    ),
    "graphdb": Dialect(search=_graphdb),  # errors are those of RDF4J
    "stardog": Dialect(
        ("exceeded query timeout",),  # 500, "QEQOE2: Query execution cancelled: ..."
        search=_stardog,
    ),
    "rdf4j": Dialect(
        (
            "QueryInterruptedException",  # 503
            "Query evaluation took too long",
        ),
        search=_rdf4j,
    ),
    "qlever": Dialect(
        (
            "Operation timed out",  # 429, `exception` of its JSON
            "cancelled due to timeout",
        ),
        search=_qlever,
    ),
    "neptune": Dialect(("TimeLimitExceededException",)),  # 500, `code` of its JSON
    "wikidata": Dialect(  # Blazegraph
        ("java.util.concurrent.TimeoutException", "QueryTimeoutException"),  # 500
        search=_wikidata,
        is_probed=False,
    ),
}
"""Dialects by the name of the preset and value of the setting `search`, in the order of probing."""

TIME_UP = tuple(sign for dialect in DIALECTS.values() for sign in dialect.time_up)
TIME_UP_HEADERS = dict(one.time_up_header for one in DIALECTS.values() if one.time_up_header)
ROW_LIMIT_HEADERS = tuple(one.row_limit_header for one in DIALECTS.values() if one.row_limit_header)
