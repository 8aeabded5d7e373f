"""The requests to endpoints, compared with the documentation of the servers.

These servers cannot be run here: QLever, Amazon Neptune, Stardog and GraphDB.
"""

import asyncio
import urllib.request
from importlib.metadata import version
from urllib.parse import parse_qs, urlencode

from SPARQLWrapper import ASK, JSON, POST, SELECT, SPARQLWrapper

from bfsql_sparql.request import query_request
from bfsql_sparql.settings import SparqlSettings

QUERY = "SELECT ?s WHERE { ?s ?p 'ü & \"' }"


async def test_a_query_is_a_form_by_post_that_asks_for_json_as_the_standard_says(
    bad_endpoint, opened
):
    """SPARQL 1.1 Protocol 2.1.2, which all of the servers accept."""
    await (await opened(bad_endpoint.url)).reply(QUERY)
    (asked,) = bad_endpoint.requests
    assert (asked.method, asked.target) == ("POST", "/sparql")
    assert asked.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert asked.headers["Accept"].split(",")[0] == "application/sparql-results+json"
    assert asked.fields == {"query": [QUERY]}


# --- what the request relies on in SPARQLWrapper ------------------------------
#
# `_createRequest` is private, and `queryString` and `queryType` are attributes that its
# documentation does not name. So the requirement on SPARQLWrapper has an upper bound.


async def test_a_request_of_sparqlwrapper_is_one_that_is_made_by_hand(bad_endpoint, opened):
    await (await opened(bad_endpoint.url, parameter={"soft": "limit & more"})).reply(QUERY)
    form = urlencode({"soft": "limit & more", "query": QUERY}).encode()
    accepted = "application/sparql-results+json,application/json,text/javascript"
    by_hand = urllib.request.Request(bad_endpoint.url, form, method="POST")
    by_hand.add_header("Content-Type", "application/x-www-form-urlencoded")
    by_hand.add_header("Accept", f"{accepted},application/javascript")
    by_hand.add_header("User-Agent", f"bfsql-sparql/{version('bfsql-sparql')}")
    with await asyncio.to_thread(urllib.request.urlopen, by_hand) as response:
        assert response.status == 200
    made, wanted = bad_endpoint.requests
    assert (made.method, made.target, made.body) == (wanted.method, wanted.target, wanted.body)
    for name in ("Content-Type", "Content-Length", "Accept", "User-Agent"):
        assert made.headers[name] == wanted.headers[name], name
    added = {"connection", "accept-encoding", "x-request-id"}  # by the client that sends it
    assert {name.lower() for name in made.headers} - {*map(str.lower, wanted.headers)} <= added


def test_create_request_sends_nothing_and_gives_a_request_of_urllib():
    wrapper = SPARQLWrapper("http://127.0.0.1:9/sparql")  # where nothing answers
    wrapper.setMethod(POST)
    wrapper.setOnlyConneg(True)
    wrapper.setQuery("ASK {}")
    made = wrapper._createRequest()
    assert isinstance(made, urllib.request.Request)
    assert made.full_url == "http://127.0.0.1:9/sparql"
    assert made.data == b"query=ASK+%7B%7D"
    assert dict(made.header_items())["Content-type"] == "application/x-www-form-urlencoded"


def test_query_string_is_what_is_sent_and_query_type_what_it_is_taken_for():
    query = "SELECT ?s { ?s ?p 'DROP ALL' }"
    wrapper = SPARQLWrapper("http://127.0.0.1:9/sparql", returnFormat=JSON)
    wrapper.setMethod(POST)
    for type_ in (SELECT, ASK):
        wrapper.queryString, wrapper.queryType = query, type_
        made = wrapper._createRequest()
        assert isinstance(made.data, bytes)
        assert parse_qs(made.data.decode())["query"] == [query]
        assert dict(made.header_items())["Accept"].startswith("application/sparql-results+json")


def test_a_text_that_reads_like_an_update_is_sent_as_a_query():
    url = "http://graph.x.test/sparql"
    for query in ("INSERT DATA { <a:a> <a:b> <a:c> }", "SELECT * { ?s ?p 'x' } # DROP ALL"):
        body = query_request(query, SparqlSettings(endpoint=url), url, 1.0).body
        assert body == urlencode({"query": query}).encode()


def test_every_character_of_a_query_is_quoted_as_in_a_form():
    every, url = "".join(map(chr, range(128))), "http://x.test/sparql"
    for query in (every, every[::-1] + "%+ %2B+", every + "\u00fc\U0001f600"):
        made = query_request(query, SparqlSettings(endpoint=url), url, 1.0)
        assert made.body == urlencode({"query": query}).encode()
