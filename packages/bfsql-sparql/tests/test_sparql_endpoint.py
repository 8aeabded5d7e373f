"""Queries and their answers, with real servers and with one that behaves badly."""

import asyncio
import json
import time
from dataclasses import replace

import pytest

from bfsql import call
from bfsql.errors import ConfigurationError, StoreError, StoreUnavailable
from bfsql.models.rdf import Literal
from bfsql_sparql.dataset import Refused, TooSlow, rows, truth
from bfsql_sparql.endpoint import Endpoint
from bfsql_sparql.request import query_request
from bfsql_sparql.settings import SparqlSettings
from bfsql_test_support.servers.bad_replies import (
    Reply,
    boolean,
    endless,
    half,
    iri,
    literal,
    page,
    refused,
    results,
    short,
    silence,
    slow,
    some,
    zipped,
)

ALL = "SELECT ?s ?p ?o WHERE { ?s ?p ?o }"
ALICE = '<http://x.test/alice> <http://x.test/name> "Alice \\"A.\\" Ünal"@en-GB .\n'
TIME_UP = [
    refused(500, "java.util.concurrent.TimeoutException: timeout"),
    Reply(500, b'{"code":"TimeLimitExceededException","detailedMessage":"Operation terminated"}'),
    refused(500, "QEQOE2: Query execution cancelled: Execution time exceeded query timeout 1"),
    refused(503, "Query evaluation took too long"),
    refused(503, "Query timed out"),
    Reply(429, b'{"exception": "Operation timed out.", "status": "ERROR"}', "application/json"),
    replace(some(3), headers={"X-SQL-State": "S1TAT"}),
]


async def test_real_servers_answer_select_and_ask(sparql_server, opened):
    sparql_server.clear()
    sparql_server.load(ALICE)
    endpoint = await opened(sparql_server.query_url)

    reply = await endpoint.reply("SELECT ?o WHERE { <http://x.test/alice> ?p ?o }")
    assert [term.text for row in rows(reply.body) for term in row if isinstance(term, Literal)] == [
        'Alice "A." Ünal'
    ]
    assert (reply.cut, reply.limit) == (None, None)
    assert truth((await endpoint.reply("ASK { <http://x.test/alice> ?p ?o }")).body)
    assert not truth((await endpoint.reply("ASK { <http://x.test/bob> ?p ?o }")).body)


async def test_real_servers_refuse_what_is_no_query_with_their_own_words(sparql_server, opened):
    endpoint = await opened(sparql_server.query_url)
    with pytest.raises(Refused, match=r"refused a query: 400, .*(line 1|1:|line 2)") as caught:
        await endpoint.reply("SELECT ?s WHERE { ?s ?p")
    assert caught.value.status == 400
    assert "\n" not in str(caught.value)
    assert truth((await endpoint.reply("ASK {}")).body), "the next query is answered"


async def test_updates_are_not_sent_as_updates(sparql_server, opened):
    sparql_server.clear()
    endpoint = await opened(sparql_server.query_url)
    with pytest.raises(Refused):
        await endpoint.reply(
            "INSERT DATA { <http://x.test/a> <http://x.test/b> <http://x.test/c> }"
        )
    assert sparql_server.count() == 0


async def test_the_row_limit_of_virtuoso_is_reported_where_it_cuts(small_virtuoso, opened):
    small_virtuoso.clear()
    small_virtuoso.load(
        "".join(
            f"<http://x.test/{n}> <http://x.test/p> <http://x.test/o> .\n"
            for n in range(small_virtuoso.max_rows + 1)
        )
    )
    endpoint = await opened(small_virtuoso.query_url)
    asked = "SELECT ?s WHERE { ?s <http://x.test/p> ?o }"

    for query in (asked, f"{asked} LIMIT {small_virtuoso.max_rows + 1}"):
        cut = await endpoint.reply(query)
        assert cut.cut == "an answer has at most 1,000 rows"
        assert cut.limit == len(rows(cut.body)) == small_virtuoso.max_rows
    exact = await endpoint.reply(f"{asked} LIMIT {small_virtuoso.max_rows}")
    assert (exact.cut, exact.limit) == (None, small_virtuoso.max_rows)
    assert (await endpoint.reply(f"{asked} LIMIT 5")).cut is None


async def test_virtuosos_partial_answer_is_none(small_virtuoso, opened):
    small_virtuoso.clear()
    small_virtuoso.load(
        "".join(
            f"<http://x.test/{n}> <http://x.test/often> <http://x.test/{n % 7}> .\n"
            for n in range(1_500)
        )
    )
    often = "<http://x.test/often>"
    dear = (
        f"SELECT (COUNT(*) AS ?n) WHERE {{ ?a {often} ?o . ?b {often} ?o . ?c {often} ?o . "
        f"?d {often} ?o }}"
    )
    # `often` is used only here: the server samples each predicate to estimate the cost of a query,
    # and refuses costly ones.
    endpoint = await opened(small_virtuoso.query_url, parameter={"timeout": "1000"})
    with pytest.raises(
        TooSlow, match=r"time limit for one query was exceeded \(X-Sql-State: S1TAT\)"
    ):
        await endpoint.reply(dear)


async def test_a_deadline_that_is_far_stays_with_the_query(bad_endpoint, opened):
    endpoint = await opened(
        bad_endpoint.url, timeout_parameter="timeout", timeout_unit="ms", query_timeout=20
    )
    await endpoint.reply("ASK {}")
    await endpoint.reply("ASK {}", 3)
    with call.scope(seconds=2):
        await endpoint.reply("ASK {}", 3)
    sent = [int(request.fields["timeout"][0]) for request in bad_endpoint.requests]
    assert [round(number / 1000) for number in sent] == [20, 3, 2]


async def test_the_time_limit_is_whole_in_each_unit(each):
    for unit, sent in [("s", "2"), ("ms", "1500"), ("duration", "2s")]:
        with each(unit, sent):
            settings = SparqlSettings(timeout_parameter="t", timeout_unit=unit)
            made = query_request("ASK {}", settings, "http://x.test/sparql", 1.5)
            assert made.body is not None
            assert f"t={sent}" in made.body.decode().split("&")


async def test_nothing_for_long_ends_at_the_querys_time_and_its_connection_is_closed(
    bad_endpoint, opened
):
    bad_endpoint.always(silence(30))
    endpoint = await opened(bad_endpoint.url)
    began = time.monotonic()
    with pytest.raises(TooSlow, match=r"did not answer a query within 1 s"):
        await endpoint.reply("ASK {}", 1)
    assert time.monotonic() - began < 20
    assert bad_endpoint.is_idle()


async def test_nothing_for_long_ends_at_the_calls_deadline(bad_endpoint, opened):
    bad_endpoint.always(silence(30))
    endpoint = await opened(bad_endpoint.url)
    with (
        call.scope(seconds=0.5),
        pytest.raises(TimeoutError, match="within the time limit of the call"),
    ):
        await endpoint.reply("ASK {}", 20)
    assert bad_endpoint.is_idle()
    bad_endpoint.always(boolean(True))
    assert truth((await endpoint.reply("ASK {}")).body), "the next call works"


async def test_a_body_that_drips_ends_at_the_querys_time(bad_endpoint, opened):
    endpoint = await opened(bad_endpoint.then(slow(some(10))).url)
    with pytest.raises(TooSlow):
        await endpoint.reply(ALL, 0.5)
    assert bad_endpoint.is_idle()


async def test_waiting_for_a_place_is_not_the_querys_time_but_the_calls(bad_endpoint, opened):
    endpoint = await opened(bad_endpoint.always(silence(0.6, boolean(True))).url, max_concurrent=1)
    await asyncio.gather(*(endpoint.reply("ASK {}", 1) for _ in range(3)))
    with call.scope(seconds=1), pytest.raises(TimeoutError):
        await asyncio.gather(*(endpoint.reply("ASK {}", 5) for _ in range(3)))


async def test_cancelling_closes_the_connection(bad_endpoint, opened):
    endpoint = await opened(bad_endpoint.then(silence(30)).url)
    await bad_endpoint.cancels(endpoint.reply("ASK {}"))
    assert await endpoint.reply("ASK {}")


async def test_closing_ends_what_is_under_way(bad_endpoint, opened):
    endpoint = await opened(bad_endpoint.then(silence(30)).url)
    asked = asyncio.create_task(endpoint.reply("ASK {}"))
    assert await asyncio.to_thread(bad_endpoint.has_got, 1)
    await endpoint.close()
    with pytest.raises(StoreUnavailable, match="is closed"):
        await asked
    with pytest.raises(StoreUnavailable, match="is closed"):
        await endpoint.reply("ASK {}")
    assert len(bad_endpoint.requests) == 1


async def test_closing_ends_an_answer_that_is_coming(bad_endpoint, opened):
    endpoint = await opened(bad_endpoint.then(slow(some(10), 0.01)).url)
    asked = asyncio.create_task(endpoint.reply("ASK {}"))
    assert await asyncio.to_thread(bad_endpoint.has_got, 1)
    await asyncio.sleep(0.1)  # part of the answer arrives
    await endpoint.close()
    with pytest.raises(StoreUnavailable, match="is closed"):
        await asked


async def test_no_address_is_reported():
    with pytest.raises(ConfigurationError, match="set endpoint or SPARQL_ENDPOINT_URL"):
        await Endpoint.open(SparqlSettings())


async def test_gzip_is_unpacked_before_the_bound_counts(bad_endpoint, opened):
    packed = zipped(some(1_000))
    assert len(packed.body) < 10_000
    endpoint = await opened(bad_endpoint.always(packed).url, max_response_bytes=10_000)
    with pytest.raises(Refused, match=r"more than 10,000 bytes.*max_response_bytes") as caught:
        await endpoint.reply(ALL)
    assert caught.value.status == 200
    wide = await opened(bad_endpoint.url)
    assert len(rows((await wide.reply(ALL)).body)) == 1_000


async def test_an_endless_body_is_stopped_while_it_streams(each, bad_endpoint, opened):
    for body in [endless(), endless(some(1))]:
        with each(body):
            endpoint = await opened(bad_endpoint.then(body).url, max_response_bytes=100_000)
            with pytest.raises(Refused, match="more than 100,000 bytes"):
                await endpoint.reply(ALL)
            assert bad_endpoint.is_idle()
            assert bad_endpoint.sent < 30_000_000, "no more than what sockets hold"


async def test_an_endless_error_is_stopped_too(bad_endpoint, opened):
    endpoint = await opened(bad_endpoint.then(replace(endless(), status=500)).url)
    with pytest.raises(Refused, match="500"):
        await endpoint.reply(ALL)
    assert bad_endpoint.is_idle()


async def test_half_an_answer_is_asked_for_again(each, bad_endpoint, opened):
    for cut in [half(some(100)), short(some(100)), Reply(), half(boolean(True))]:
        with each(cut):
            bad_endpoint.then(cut).always(some(2))
            endpoint = await opened(bad_endpoint.url)
            assert len(rows((await endpoint.reply(ALL)).body)) == 2
            bad_endpoint.always(cut)
            with pytest.raises(
                StoreUnavailable, match="closed the connection before the end"
            ) as caught:
                await (await opened(bad_endpoint.url, retries=0)).reply(ALL)
            assert not isinstance(caught.value, TooSlow)


async def test_an_error_behind_half_an_answer_is_read(bad_endpoint, opened):
    error = b'{"code":"TimeLimitExceededException","detailedMessage":"Operation terminated"}'
    broken = replace(half(some(100)), body=half(some(100)).body + error)
    endpoint = await opened(bad_endpoint.always(broken).url)
    with pytest.raises(TooSlow, match="closed the connection before the end"):
        await endpoint.reply(ALL)


async def test_half_an_answer_near_the_time_limit_is_too_slow(bad_endpoint, opened):
    cuts = [half(some(100)), short(some(100)), Reply()]
    endpoint = await opened(bad_endpoint.then(*(silence(3.4, cut) for cut in cuts)).url)
    asked = (endpoint.reply(ALL, 4.0) for _ in cuts)
    for error in await asyncio.gather(*asked, return_exceptions=True):
        assert isinstance(error, TooSlow)
        assert "probably exceeded" in str(error)
    assert len(bad_endpoint.requests) == len(cuts)


async def test_a_servers_own_word_for_its_time_limit_is_too_slow(each, bad_endpoint, opened):
    for said in TIME_UP:
        with each(said):
            bad_endpoint.requests.clear()
            endpoint = await opened(bad_endpoint.always(said).url)
            with pytest.raises(TooSlow):
                await endpoint.reply(ALL)
            assert len(bad_endpoint.requests) == 1, "the same query would be too slow again"


async def test_a_gateway_that_gives_up_late_says_that_a_query_is_too_slow(bad_endpoint, opened):
    bad_endpoint.always(silence(0.9, refused(504, "Gateway Timeout")))
    endpoint = await opened(bad_endpoint.url)
    with pytest.raises(TooSlow, match=r"504, 'Gateway Timeout'"):
        await endpoint.reply(ALL, 1)


async def test_brackets_in_texts_are_no_sign_of_a_cut(bad_endpoint, opened):
    bad_endpoint.always(results({"o": literal("{[ }}")}, {"o": iri("http://x.test/a")}))
    endpoint = await opened(bad_endpoint.url)
    assert len(rows((await endpoint.reply(ALL)).body)) == 2


async def test_a_row_limit_counts_where_it_was_met(each, bad_endpoint, opened):
    for number, query, cut in [
        (3, ALL, True),
        (2, ALL, False),
        (3, f"{ALL} LIMIT 3", False),
        (3, f"{ALL} LIMIT 4", True),
        (3, f"{ALL} ORDER BY ?s limit 3 offset 9", False),
        (3, "SELECT ?s WHERE { { SELECT ?s WHERE { ?s ?p ?o } LIMIT 3 } ?s ?p ?o }", True),
    ]:
        with each(number, query, cut):
            bad_endpoint.always(replace(some(number), headers={"X-SPARQL-MaxRows": "3"}))
            reply = await (await opened(bad_endpoint.url)).reply(query)
            assert (reply.cut is not None, reply.limit) == (cut, 3)


async def test_what_is_no_sparql_endpoint_is_distinguished_from_a_refusal(
    each, bad_endpoint, opened
):
    for said, sentence in [
        (page(), "answered with a web page.*Check its address"),
        (replace(page(), content_type="application/sparql-results+json"), "web page"),
        (
            Reply(body=b"<sparql/>", content_type="application/sparql-results+xml"),
            r"in application/sparql-results\+xml, although JSON was requested.*format=json",
        ),
        (Reply(body=b"s,p,o", content_type="text/csv"), "answered in text/csv"),
        (Reply(body=b"s,p,o", content_type=None), "answered in an unnamed type"),
        (refused(404, "Not here"), "is not a SPARQL endpoint: it answered 404, 'Not here'"),
        (refused(405), "is not a SPARQL endpoint: it answered 405"),
        (refused(415, "Unsupported"), "is not a SPARQL endpoint: it answered 415"),
        (Reply(204, content_type=None), "answered 204, which a SPARQL endpoint does not do"),
    ]:
        with each(said, sentence):
            bad_endpoint.requests.clear()
            endpoint = await opened(bad_endpoint.always(said).url)
            with pytest.raises(StoreError, match=sentence) as caught:
                await endpoint.reply(ALL)
            assert type(caught.value) is StoreError
            assert len(bad_endpoint.requests) == 1


async def test_json_under_another_name_is_taken(bad_endpoint, opened):
    for name in ("application/json;charset=utf-8", "text/javascript", "text/plain", None):
        bad_endpoint.then(replace(some(2), content_type=name))
        assert len(rows((await (await opened(bad_endpoint.url)).reply(ALL)).body)) == 2


async def test_a_refusal_has_the_servers_first_line(each, bad_endpoint, opened):
    for status in [400, 413, 414, 422, 500]:
        with each(status):
            words = f"\n\nVirtuoso\x07 37000:\tline 3 {'x' * 500}\nSPARQL query:\nSELECT"
            endpoint = await opened(bad_endpoint.always(refused(status, words)).url)
            with pytest.raises(
                Refused, match=rf"{status}, 'Virtuoso 37000: line 3 x+\.\.\.'"
            ) as caught:
                await endpoint.reply(ALL)
            assert caught.value.status == status
            assert len(str(caught.value)) < 420


async def test_errors_in_json_and_html_are_read(each, bad_endpoint, opened):
    for body, shown in [
        (b'{"exception": "No such prefix", "status": "ERROR"}', "No such prefix"),
        (b'{"message": "Bad", "code": "QE0PE2"}', "Bad"),
        (b"{p: unbound}", "{p: unbound}"),
        (b'{"code": 7}', '{"code": 7}'),
        (
            b"<html><head><title>t</title></head><body><h1>Bad <b>query</b></h1></body></html>",
            "Bad",
        ),
        (
            b"SPARQL-QUERY: queryStr=SELECT ?s\n\njava.util.X\nMalformedQueryException: p",
            "Malformed",
        ),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ]:
        with each(body, shown):
            endpoint = await opened(bad_endpoint.always(Reply(400, body, None)).url)
            with pytest.raises(Refused) as caught:
                await endpoint.reply(ALL)
            assert f"refused a query: 400, '{shown}" in str(caught.value)


async def test_a_query_arrives_as_it_was_written(bad_endpoint, opened):
    query = 'SELECT ?s WHERE { ?s ?p "INSERT & ü = % + \\" # \U0001f600\\n" }\n# DELETE\n'
    await (await opened(bad_endpoint.url)).reply(query)
    asked = bad_endpoint.requests[0]
    assert (asked.method, asked.query) == ("POST", query)
    assert json.dumps(asked.fields) == json.dumps({"query": [query]})
