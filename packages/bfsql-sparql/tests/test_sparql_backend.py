"""Opening serves exactly one source and reports faults at once; the number of requests."""

from typing import Any

import pytest

from bfsql.errors import ConfigurationError, StoreError, StoreUnavailable
from bfsql.graph import open_graph
from bfsql_sparql.backend import SparqlBackend, open_dataset
from bfsql_sparql.dataset import PING, Reply
from bfsql_sparql.settings import SparqlSettings
from bfsql_test_support.servers.bad_replies import page, refused, results
from bfsql_test_support.servers.fuseki import PASSWORD, USER
from bfsql_test_support.servers.port import free_port


async def _opened(**given):
    dataset = await open_dataset(SparqlSettings(**given))
    await dataset.close()


async def _answer(query, **given):
    """The answer of a dataset to an ASK query."""
    dataset = await open_dataset(SparqlSettings(**given))
    try:
        return await dataset.ask(query, seconds=30)
    finally:
        await dataset.close()


async def test_an_endpoint_is_opened(sparql_server):
    assert await _answer(PING, endpoint=sparql_server.query_url) is True
    unmet = "ASK { <http://x.test/a> <http://x.test/none> ?o }"
    assert await _answer(unmet, endpoint=sparql_server.query_url) is False


async def test_a_backend_made_of_its_endpoint_opens_it_with_the_first_question(sparql_server):
    prefixes = {"x": "http://x.test/"}
    backend = SparqlBackend(endpoint=sparql_server.query_url, prefixes=prefixes)
    async with open_graph(backend) as graph:
        assert (await graph.describe_schema()).content["entity_types"] is not None
    await backend.close()
    await SparqlBackend(endpoint=sparql_server.query_url).close()
    with pytest.raises(ConfigurationError, match="--endpoint URL"):
        await SparqlBackend().predicates()


async def test_what_cannot_be_served_is_reported(each, bad_endpoint):
    bad_endpoint.always(page())
    nowhere = f"http://127.0.0.1:{free_port()}/sparql"
    for given, error, sentence in [
        ({}, ConfigurationError, r"--endpoint URL .* bfsql serve FILE"),
        ({"endpoint": nowhere}, StoreUnavailable, nowhere),
        ({"endpoint": bad_endpoint.url}, StoreError, bad_endpoint.url),
    ]:
        with each(given), pytest.raises(error, match=sentence):
            await _opened(**given, retries=0)


async def test_what_is_no_answer_is_reported(bad_endpoint):
    bad_endpoint.always(results({}))
    await _opened(endpoint=bad_endpoint.url, retries=0)
    bad_endpoint.always(refused(404, "no such place"))
    with pytest.raises(StoreError, match=bad_endpoint.url):
        await _opened(endpoint=bad_endpoint.url, retries=0)
    bad_endpoint.always(refused(400, "Parse error"))
    with pytest.raises(StoreError, match="simplest possible query"):
        await _opened(endpoint=bad_endpoint.url, retries=0)


async def test_a_login_to_fuseki_that_is_missing_or_wrong_is_reported(guarded_fuseki):
    url = guarded_fuseki.query_url
    with pytest.raises(StoreError, match=url) as nobody:
        await _opened(endpoint=url)
    assert not isinstance(nobody.value, StoreUnavailable)
    with pytest.raises(StoreError) as wrong:
        await _opened(endpoint=url, username=USER, password="mistyped-secret")
    assert "mistyped-secret" not in str(wrong.value)
    await _opened(endpoint=url, username=USER, password=PASSWORD)


async def test_a_certificate_that_nobody_knows_is_reported(bad_tls_endpoint):
    with pytest.raises(StoreError, match="certificate"):
        await _opened(endpoint=bad_tls_endpoint.url, retries=0)


# --- requests ---------------------------------------------------------------

CHAIN = "".join(
    f"<urn:n:{n}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:T> .\n"
    f'<urn:n:{n}> <http://www.w3.org/2000/01/rdf-schema#label> "n {n}" .\n'
    f"<urn:n:{n}> <urn:to> <urn:n:{n + 1}> .\n"
    for n in range(9)
)


@pytest.mark.parametrize("full", [False, True], ids=["topology", "full"])
async def test_an_answer_takes_a_request_a_hop_two_for_types_and_two_for_metadata(serve, full):
    """Edges; types of the seeds and of the others; metadata of nodes and of edges."""
    backend = await serve(CHAIN)
    dataset: Any = backend._store.dataset
    ask, sent = dataset.reply, list[str]()

    async def reply(query, seconds=None):
        sent.append(query)
        answer: Reply = await ask(query, seconds)
        return answer

    dataset.reply = reply
    for hops in (1, 2, 3):
        async with open_graph(backend) as graph:  # an empty cache
            sent.clear()
            answer = (await graph.bfs_query(["urn:n:4"], hops, topology_only=not full)).content
            assert answer["node_count"] == 1 + 2 * hops
            assert len(sent) == 2 + hops + 2 * full
