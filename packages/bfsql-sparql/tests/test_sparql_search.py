"""Search: results, their order, the methods used, and timeouts."""

import time

import pytest

from bfsql import call
from bfsql.answers.notes import omissions
from bfsql.memory import MemoryBackend
from bfsql.models import NodeRecord, Omission
from bfsql.models.json_values import is_text
from bfsql.models.rdf import WELL_KNOWN
from bfsql_sparql.dialects import DIALECTS, search_terms
from bfsql_sparql.mapping import RdfMapping
from bfsql_sparql.settings import SparqlSettings
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.servers.bad_replies import iri, literal, refused, results, silence
from bfsql_testing.conformance.graphs import HOSTILE, crowd

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SERVERS = ("oxigraph", "fuseki", "virtuoso", "rdf4j")
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
ALIAS = "<http://www.w3.org/2004/02/skos/core#altLabel>"
PETS = f"""\
<http://x.test/a> {TYPE} <http://x.test/Dog> .
<http://x.test/a> {TYPE} <http://x.test/Animal> .
<http://x.test/Dog> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://x.test/Animal> .
<http://x.test/a> {LABEL} "Caf\\u00E9 Rex"@en .
<http://x.test/a> {LABEL} "Hund Rex"@de .
<http://x.test/a> {ALIAS} "Good Boy" .
<http://x.test/b> {TYPE} <http://x.test/Cat> .
<http://x.test/b> {LABEL} "Rex"@en .
<http://x.test/c> <http://x.test/says> "something" .
<http://dbpedia.org/resource/New_York> {LABEL} "The Big Apple" .
<http://x.test/a> <http://x.test/visits> <http://x.test/onlyAnObject> .
"""
ODD = (
    *(text for text in HOSTILE if len(text) < 100),
    *("", " ", "*", "AND", "NOT a", "a OR", '"', "(", "a:b", "~", "/re/", "^2", "a -b", "\ud800"),
    *("it's", "{", "}", "<", ">", "?s ?p ?o", "\n", "x" * 16_000, "word " * 3_000, "a\0b"),
)


@pytest.fixture
def odd(request):
    """Odd texts to search in a store of `filled`: all in the fastest, and each in another one."""
    store = request.node.callspec.params["filled"]
    return ODD if THOROUGH or store == "oxigraph" else ODD[SERVERS.index(store) :: len(SERVERS)]


def named(*names):
    """Nodes with these names, which are also their ids."""
    return "".join(f'<http://x.test/{name}> {LABEL} "{name}" .\n' for name in names)


X = "http://x.test/"
RARE = ["Kelrud Centre", "Kelrudix Hall", *(f"Common Place {n}" for n in range(30))]
GRAPHS = {
    "pets": (PETS, {}),
    "pets, whatever the index": (PETS, {"search": "graphdb"}),
    "a wall": (f'<{X}GreatWall> <{X}long> "yes" .\n{PETS}', {}),
    "names": (named("Pumvesgrilmab", "Pumvesgrondol", "Tarvesgrilol", "Grilmab"), {}),
    "places": ("".join(f'<{X}{n}> {LABEL} "{name}" .\n' for n, name in enumerate(RARE)), {}),
    "two words": (f'<{X}v> {LABEL} "Vanlam Chakel" .\n{PETS}', {}),
}
FOUND = [
    # Ids come first, then names, then parts of names.
    ("pets", None, ["Rex", "rex"], [f"{X}b", f"{X}a"]),
    ("pets", None, ["good boy", "Hund"], [f"{X}a"]),
    ("pets", None, ["big app"], ["dbr:New_York"]),
    # An id without a name or a type is found.
    ("pets", None, [f"{X}c"], [f"{X}c"]),
    ("pets", None, [f"{X}onlyAnObject"], [f"{X}onlyAnObject"]),
    ("pets", None, [f"{X}nothing", "no such thing"], []),
    # Types are those that count.
    ("pets", [f"{X}Cat"], ["rex"], [f"{X}b"]),
    ("pets", [f"{X}Animal"], ["rex"], []),
    ("pets", ["owl:Thing"], ["apple"], ["dbr:New_York"]),
    ("pets", ["no such type"], ["rex"], []),
    # Accents need not be typed.
    ("pets", None, ["cafe rex", "caf\u00e9"], [f"{X}a"]),
    ("pets, whatever the index", None, ["good b"], [f"{X}a"]),
    # A part of an id is found where no name has it.
    ("a wall", None, ["greatw"], [f"{X}GreatWall"]),
    # A misspelt name is found, and nothing that is not near.
    ("names", None, ["Pumvesgirlmab", "pumvesgrilmb"], [f"{X}Pumvesgrilmab"]),
    ("names", None, ["Punvesgrilmap", "umvesgrillmab"], [f"{X}Pumvesgrilmab"]),
    ("names", None, ["Gritmab"], [f"{X}Grilmab"]),
    ("names", None, ["Pumvesgarlnob"], []),
    # What shares a rare word is found where nothing has all.
    ("places", None, ["Kelrud Institute of Physics", "Common Institute Kelrud"], [f"{X}0"]),
    ("places", None, ["Common Institute"], []),
    # Words run together or split are found with a typing error.
    ("two words", None, ["VnalamChakel", "Vanlam Cha kel", "Van lam Chakle"], [f"{X}v"]),
]
"""Graphs, types, and queries with the ids that they find."""


async def test_each_store_finds_the_same_in_the_same_order(each, filled):
    for graph, (text, settings) in GRAPHS.items():
        store = await filled(text, **settings)
        for _, types, queries, ids in (row for row in FOUND if row[0] == graph):
            for query in queries:
                with each(graph, query, types):
                    assert await store.ids(query, types) == ids


async def test_an_id_is_found_in_each_of_its_spellings(filled):
    store = await filled(PETS, prefix={"x": X})
    for spelling in ("x:a", "<http://x.test/a>", "http://x.test/a", " x:a ", "a"):
        assert (await store.ids(spelling))[:1] == ["x:a"], spelling
    for spelling in ("dbr:New_York", "New_York", "New York"):
        assert await store.ids(spelling) == ["dbr:New_York"], spelling


async def test_a_candidate_has_its_type_and_its_name_in_the_best_language(filled):
    store = await filled(PETS, language=["de", "en"])
    (found,) = await store.search("good boy")
    assert (found.entity_type, found.name) == ("http://x.test/Dog", "Hund Rex")


async def test_a_crowd_is_ranked_as_the_reference_does(filled):
    records = [record for record in crowd() if isinstance(record, NodeRecord)]
    store = await filled(_ntriples(records))
    reference = MemoryBackend(records)
    for query, types in (
        ("Paris", None),
        ("paris", None),
        ("Paris", ["Person"]),
        ("Paris", ["Place"]),
        ("Paris Hilton", None),
        ("c:05", None),
    ):
        wanted = await reference.search_entities(query, types)
        assert await store.search(query, types) == wanted, (query, types)


async def test_no_text_makes_a_search_fail(filled, odd):
    store = await filled(PETS)
    for text in odd:
        await store.search(text)
    assert await store.ids("Rex") == ["http://x.test/b", "http://x.test/a"]


async def test_a_hostile_name_is_found_to_the_letter(filled):
    odd = [text for text in HOSTILE if len(text) < 100 and text.strip() and "\0" not in text]
    records = [NodeRecord(f"n:{at}", "Odd", {"name": text}) for at, text in enumerate(odd)]
    store = await filled(_ntriples(records))
    for at, text in enumerate(odd):
        assert f"n:{at}" in await store.ids(text), text


# --- full text --------------------------------------------------------------


@pytest.mark.parametrize("filled", ["fuseki_text"], indirect=True)
async def test_fuseki_with_an_index_is_asked_for_words(filled):
    store = await filled(PETS)
    assert store.store.capabilities.search == "fuseki"
    assert await store.ids("boy good") == ["http://x.test/a"]
    assert await store.ids("appl big") == ["dbr:New_York"] or await store.ids("big appl")
    assert await store.ids("AND") == []
    for text in ODD:
        await store.search(text)


@pytest.mark.parametrize("filled", ["virtuoso"], indirect=True)
async def test_virtuoso_is_asked_for_words(filled):
    store = await filled(PETS)
    assert store.store.capabilities.search == "virtuoso"
    assert await store.ids("boy good") == ["http://x.test/a"]
    assert await store.ids("big appl") == ["dbr:New_York"]
    for text in ("it's", "'", "a'b", '"', "''''", "good'"):
        await store.search(text)


async def test_where_the_search_of_virtuoso_works_no_other_is_tried(bad_endpoint, look):
    def behave(request):
        if "SELECT ?label" in request.query:
            return results({"label": literal("The Big Apple")})
        return results({"s": iri("http://x.test/city")}) if "MAX(" in request.query else results()

    bad_endpoint.always(behave)
    store = await look(endpoint=bad_endpoint.url)
    assert store.store.capabilities.search == "virtuoso"
    sent = [request.query for request in bad_endpoint.requests]
    assert any("bif:contains" in query for query in sent)
    assert not any("text#query" in query for query in sent)


async def test_a_search_of_literals_is_tried_with_the_property_of_one_label(bad_endpoint, look):
    """Oxigraph begins with all labels if their properties are several: 0.3 s for 100,000 nodes."""
    known = {"label": literal("Quokka"), "label_by": iri("http://x.test/called")}

    def behave(request):
        if "SELECT ?label" in request.query:
            return results(known)
        is_found = "www.ontotext.com/fts" in request.query
        return results({"s": iri("http://x.test/quokka")}) if is_found else results()

    bad_endpoint.always(behave)
    store = await look(endpoint=bad_endpoint.url)
    assert store.store.capabilities.search == "graphdb"
    sent = [request.query for request in bad_endpoint.requests]
    (query,) = [one for one in sent if "www.ontotext.com/fts" in one]
    assert "?s <http://x.test/called> ?label" in query
    assert "VALUES" not in query


@pytest.mark.parametrize("filled", ["virtuoso"], indirect=True)
async def test_what_the_index_of_virtuoso_does_not_know_yet_is_found_without_it(filled, virtuoso):
    store = await filled(PETS)
    triple = f'<http://x.test/new> {LABEL} "Quokkalike" . <http://x.test/s> {LABEL} "Quokka" .'
    virtuoso.update(f"INSERT DATA {{ GRAPH <{virtuoso.graph}> {{ {triple} }} }}")
    assert await store.ids("quokk") == ["http://x.test/s", "http://x.test/new"]
    assert await store.ids("quokka") == ["http://x.test/s", "http://x.test/new"]


SAIL = "http://www.openrdf.org/contrib/lucenesail#"
RDFS_LABEL = WELL_KNOWN["rdfs"] + "label"
WORDS = '"big AND (appl OR appl*)"'
PARAMETER = "<http://www.bigdata.com/rdf#serviceParam>"
API = "https://www.mediawiki.org/ontology#API/"
DOCUMENTED = {
    "graphdb": [f"?label <http://www.ontotext.com/fts> {WORDS} ."],
    "stardog": [f"(?label ?score) <tag:stardog:api:property:textMatch> ({WORDS} 2000) ."],
    "rdf4j": [f"?s <{SAIL}matches> [ <{SAIL}query> {WORDS} ; <{SAIL}property> <{RDFS_LABEL}> ; "],
    "qlever": [
        '?label <http://qlever.cs.uni-freiburg.de/builtin-functions/contains-word> "big appl*" .'
    ],
    "fuseki": [f"(?s ?score) <http://jena.apache.org/text#query> (<{RDFS_LABEL}> {WORDS} 200)"],
    "virtuoso": ["?label bif:contains \"'big' AND 'appl*'\" ."],
    "wikidata": [
        "SERVICE <http://wikiba.se/ontology#mwapi> {",
        f'{PARAMETER} <http://wikiba.se/ontology#api> "EntitySearch"',
        f'{PARAMETER} <http://wikiba.se/ontology#endpoint> "www.wikidata.org"',
        f'{PARAMETER} <{API}search> "Big appl"',
        f'{PARAMETER} <{API}language> "en"',
        f"?s <http://wikiba.se/ontology#apiOutputItem> <{API}item> .",
    ],
}


SEARCHES = {name: one.search for name, one in DIALECTS.items() if one.search is not None}


async def test_each_dialect_is_spoken_as_documented(each, bad_endpoint, look):
    for dialect in SEARCHES:
        with each(dialect):
            bad_endpoint.always(_found)
            store = await look(endpoint=bad_endpoint.url, search=dialect, search_timeout=20)
            before = len(bad_endpoint.requests)
            (found,) = await store.search("Big appl")
            assert found.name == "The Big Apple"
            sent = [request.query for request in bad_endpoint.requests[before:]]
            for part in DOCUMENTED[dialect]:
                assert any(part in query for query in sent), part


def test_no_text_ends_a_quotation_in_any_dialect(each):
    for dialect, search in SEARCHES.items():
        with each(dialect):
            mapping = RdfMapping.of(SparqlSettings())
            plain = search(_asked("plain text"), mapping)
            for text in ODD:
                wanted = search_terms(text, 200) if is_text(text) else None
                if wanted is None:
                    continue
                made = _without_texts(search(wanted, mapping))
                assert made == _without_texts(plain), text


def _asked(text):
    wanted = search_terms(text, 200)
    assert wanted is not None
    return wanted


# --- time -------------------------------------------------------------------


async def test_when_time_is_up_the_exact_matches_are_given_and_it_is_said(bad_endpoint, look):
    def behave(request):
        return silence(30) if "CONTAINS" in request.query else _found(request)

    bad_endpoint.always(behave)
    store = await look(endpoint=bad_endpoint.url, search="contains", search_timeout=0.5)
    began = time.monotonic()
    with call.scope(seconds=20) as scope:
        found = await store.ids("The Big Apple")
    assert found == ["http://x.test/city"]
    assert time.monotonic() - began < 15
    assert scope.omissions == (
        Omission("The Big Apple", "search", reason="the store took too long"),
    )
    (note,) = omissions(scope.omissions)
    assert "did not finish" in note
    assert scope.omissions[0].passing


async def test_a_refused_full_text_search_is_followed_by_the_portable_one(bad_endpoint, look):
    def behave(request):
        if "bif:contains" in request.query:
            return refused(400, "Virtuoso 37000 Error XM029: Free-text expression, line 1")
        return _found(request) if "CONTAINS" in request.query else results(variables=["s"])

    bad_endpoint.always(behave)
    store = await look(endpoint=bad_endpoint.url, search="virtuoso")
    with call.scope(seconds=20) as scope:
        assert await store.ids("big appl") == ["http://x.test/city"]
    assert scope.omissions == ()


async def test_a_search_costs_a_handful_of_requests(filled):
    store = await filled(PETS)
    asked_for: list[str] = []
    reply = store.store.dataset.reply

    async def counted(query, seconds=None):
        asked_for.append(query)
        return await reply(query, seconds)

    store.store.dataset.reply = counted
    await store.search("rex")
    assert len(asked_for) == 3


def _found(request):
    """One city with its name, for every query."""
    city = iri("http://x.test/city")
    label = iri("http://www.w3.org/2000/01/rdf-schema#label")
    row = {"s": city, "property": label, "value": literal("The Big Apple", "en")}
    return results(row) if "?property" in request.query else results(variables=["s", "o"])


def _without_texts(query):
    """A query without the contents of its literals."""
    parts = []
    inside = escaped = False
    for letter in query:
        if not inside or (letter == '"' and not escaped):
            parts.append(letter)
        inside ^= letter == '"' and not escaped
        escaped = letter == "\\" and not escaped
    return "".join(parts)


def _ntriples(records):
    ids = RdfMapping.of(SparqlSettings()).ids

    def escaped(text):
        return "".join(f"\\U{ord(letter):08X}" for letter in text)

    return "".join(
        f"<{ids.iri(record.id)}> {TYPE} <{ids.iri(record.entity_type)}> .\n"
        f'<{ids.iri(record.id)}> {LABEL} "{escaped(record.metadata["name"])}" .\n'
        for record in records
    )
