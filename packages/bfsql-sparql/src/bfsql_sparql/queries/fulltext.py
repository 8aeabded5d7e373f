"""How each kind of store is asked for words: a pattern that binds `?s`, mostly with its `?score`.

Words are runs of letters and digits in lower case, so that none of them is an operator or
ends a quotation in any of these languages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from bfsql.models.rdf import WELL_KNOWN
from bfsql_sparql.queries.patterns import of_any
from bfsql_sparql.queries.quoting import iri, text

if TYPE_CHECKING:
    from bfsql_sparql.mapping import Mapping

MOST_WORDS = 16
LONGEST = 500
"""Characters of a text that is handed to a service as it is."""
_SHORTER = "BIND(-STRLEN(STR(?label)) AS ?score)"
_WORD = re.compile(r"[^\W_]+")
_STEM = 4  # leading letters that Virtuoso wants before a wildcard
_FTS = "http://www.ontotext.com/fts"
_TEXT_MATCH = "tag:stardog:api:property:textMatch"
_LUCENE_SAIL = "http://www.openrdf.org/contrib/lucenesail#"
_JENA = "http://jena.apache.org/text#query"
_QLEVER = "http://qlever.cs.uni-freiburg.de/builtin-functions/contains-word"
_BIGDATA = "http://www.bigdata.com/rdf#serviceParam"
_MWAPI = "https://www.mediawiki.org/ontology#API/"


class Asked(NamedTuple):
    """What is looked for."""

    text: str
    """As it was typed, without outer space."""
    words: tuple[str, ...]
    """Its words, at least one."""
    limit: int
    """Hits at the most."""


def asked(typed: str, limit: int) -> Asked | None:
    """What to look for, None where the text has no word."""
    words = tuple(_WORD.findall(typed.lower())[:MOST_WORDS])
    return Asked(typed.strip()[:LONGEST], words, limit) if words else None


def virtuoso(wanted: Asked, mapping: Mapping) -> str:
    """`bif:contains`: each word in quotes; the last may go on, where it is long enough for that."""
    *first, last = wanted.words
    last = f"{last}*" if len(last) >= _STEM else last
    expression = " AND ".join(f"'{word}'" for word in (*first, last))
    properties = ", ".join(map(iri, _properties(mapping)))
    # It wants the triple of the literal beside it, in the same braces. Its prefix is declared
    # nowhere else, so that other servers refuse the query before they do any work.
    found = f"?s ?label_by ?label . ?label bif:contains {text(expression)} ."
    labelled = mapping.within(f"{found} FILTER(?label_by IN ({properties}))", "label_graph")
    return f"{labelled} {_SHORTER}"


def fuseki(wanted: Asked, mapping: Mapping) -> str:
    """`text:query`, for each property by itself, since it may not be in the index."""
    parts = [
        f"{{ (?s ?score) {iri(_JENA)} ({iri(name)} {text(_lucene(wanted))} {wanted.limit}) }}"
        for name in _properties(mapping)
    ]
    return mapping.within(" UNION ".join(parts), "label_graph")


def graphdb(wanted: Asked, mapping: Mapping) -> str:
    """The simple index of literals."""
    return f"?label {iri(_FTS)} {text(_lucene(wanted))} . {_labelled(mapping)} {_SHORTER}"


def stardog(wanted: Asked, mapping: Mapping) -> str:
    """`textMatch`; its second argument is the number of literals."""
    several = 10 * wanted.limit  # the literals of other properties are among them
    return (
        f"(?label ?score) {iri(_TEXT_MATCH)} ({text(_lucene(wanted))} {several}) . "
        f"{_labelled(mapping)}"
    )


def rdf4j(wanted: Asked, mapping: Mapping) -> str:
    """The virtual properties of the LuceneSail."""

    def own(name: str) -> str:
        return iri(_LUCENE_SAIL + name)

    parts = [
        f"{{ ?s {own('matches')} [ {own('query')} {text(_lucene(wanted))} ; "
        f"{own('property')} {iri(name)} ; {own('score')} ?score ] . }}"
        for name in _properties(mapping)
    ]
    return mapping.within(" UNION ".join(parts), "label_graph")


def qlever(wanted: Asked, mapping: Mapping) -> str:
    """`ql:contains-word` on the literals themselves, each word the beginning of one."""
    words = " ".join(f"{word}*" if len(word) >= _STEM else word for word in wanted.words)
    return f"?label {iri(_QLEVER)} {text(words)} . {_labelled(mapping)} {_SHORTER}"


def wikidata(wanted: Asked, mapping: Mapping) -> str:
    """The entity search of the wiki, through the service that the endpoint has for it."""
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


DIALECTS: dict[str, Callable[[Asked, Mapping], str]] = {
    dialect.__name__: dialect
    for dialect in (virtuoso, fuseki, graphdb, stardog, rdf4j, qlever, wikidata)
}
"""By the value of the setting `search`."""


def _lucene(wanted: Asked) -> str:
    """All words, the last one whole or as the beginning of one."""
    *first, last = wanted.words
    return " AND ".join((*first, f"({last} OR {last}*)"))


def _properties(mapping: Mapping) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*mapping.labels, *mapping.aliases)))


def _labelled(mapping: Mapping) -> str:
    return of_any("s", _properties(mapping), "label", mapping)
