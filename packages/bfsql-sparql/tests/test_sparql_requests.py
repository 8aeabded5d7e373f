"""The requests to endpoints, compared with the documentation of the servers.

These servers cannot be run here: QLever, Amazon Neptune, Stardog and GraphDB.
"""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

import pytest

from bfsql_sparql.endpoint import Endpoint
from bfsql_sparql.request import query_request
from bfsql_sparql.settings import SparqlSettings, with_preset
from bfsql_test_support.servers.bad_endpoint import BadEndpoint

Opened = Callable[..., Awaitable[Endpoint]]

QUERY = "SELECT ?s WHERE { ?s ?p 'ü & \"' }"


async def test_a_query_is_a_form_by_post_that_asks_for_json_as_the_standard_says(
    bad_endpoint: BadEndpoint, opened: Opened
) -> None:
    """SPARQL 1.1 Protocol 2.1.2, which all of the servers accept."""
    await (await opened(bad_endpoint.url)).reply(QUERY)
    (asked,) = bad_endpoint.requests
    assert (asked.method, asked.target) == ("POST", "/sparql")
    assert asked.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert asked.headers["Accept"].split(",")[0] == "application/sparql-results+json"
    assert asked.fields == {"query": [QUERY]}


@pytest.mark.parametrize(
    ("preset", "fields"),
    [
        # A duration, `timeout=30s`, but none above the server's limit, which it does not report.
        ("qlever", {}),
        # Milliseconds.
        ("stardog", {"timeout": ["29500"]}),
        # Seconds, as for RDF4J.
        ("graphdb", {"timeout": ["30"]}),
        ("rdf4j", {"timeout": ["30"]}),
        # No parameter: a hint within the query, or a setting of the cluster.
        ("neptune", {}),
        ("virtuoso", {"timeout": ["29500"]}),
        ("dbpedia", {"timeout": ["29500"]}),
        ("fuseki", {"timeout": ["30"]}),
        ("oxigraph", {}),
        ("wikidata", {}),
    ],
)
def test_each_preset_sends_the_time_limit_as_its_server_takes_it(
    preset: str, fields: dict[str, Any]
) -> None:
    url = "http://graph.x.test/sparql"
    settings = with_preset(SparqlSettings(endpoint=url, preset=preset))
    made = query_request(QUERY, settings, url, 29.5)
    assert made.body is not None
    sent = parse_qs(made.body.decode())
    sent = {name: values for name, values in sent.items() if "timeout" in name.lower()}
    assert sent == fields
