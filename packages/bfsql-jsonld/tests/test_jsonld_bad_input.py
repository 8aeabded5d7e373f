"""APIs that answer badly: each fault is a clear error, and the next call works."""

import json
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql.errors import StoreError, StoreUnavailable
from bfsql.models import Edge
from bfsql_jsonld import JsonLdBackend
from bfsql_jsonld.routes import segment
from bfsql_test_support.hostile_files import HOSTILE, NESTED_ENTITIES
from bfsql_test_support.servers import bad_replies as replies
from bfsql_test_support.servers.port import free_port
from bfsql_test_support.servers.web import WebServer

NODE = {"id": "a", "@type": "T"}
OUT = "/entities/a/relations?direction=out"
ODD_IDS = ["a/b", "a?b", "a#b", "a%2Fb", "..", ".", "a b", "ä🜁", "%", "a+b", "a;b", "\x00", "a\nb"]


def said(body, content_type="application/json"):
    return replies.Reply(200, body, content_type)


async def test_a_server_that_is_not_there_is_reported(opened):
    backend = await opened(f"http://127.0.0.1:{free_port()}", retries=0)
    with pytest.raises(StoreUnavailable, match=r"cannot be reached .* Is it running"):
        await backend.get_node("a")


async def test_a_bad_answer_is_a_sentence_and_the_next_call_works(each, opened, endpoint):
    for reply, sentence in [
        (said(b"hello"), "not JSON .*'hello'"),
        (said(b'{"id": "a", "@ty'), "not JSON"),
        (said(b"[" * 100_000), "not JSON"),
        (said(b""), "returned an empty answer"),
        (said(b"\xff\xfe"), "not JSON"),
        (replies.page(), "not JSON .*DOCTYPE"),
        (replies.refused(500, "<html><h1>Oops</h1></html>"), "returned 500: .*Oops"),
        (replies.refused(418), "returned 418: nothing"),
        (said(b'{"id": "a", "@type": 5}'), "type is 5"),
        (said(b'{"id": "a", "@type": ["T", null]}'), "its type is"),
        (said(b'{"id": {"x": 1}, "@type": "T"}'), "contains nothing about a"),
        (said(b"[]"), "contains nothing about a"),
        (said(b'"text"'), "not JSON-LD"),
        (said(b"17"), "not JSON-LD"),
        (said(b'{"@context": 5, "@id": "http://x/"}'), "not JSON-LD"),
        (
            said(HOSTILE["a long context in JSON-LD"][1]),
            "has a text of 70,007 .* the limit is 1,000",
        ),
        (said(NESTED_ENTITIES, "application/rdf+xml"), "returned application/rdf"),
    ]:
        with each(reply, sentence):
            endpoint.then(reply).always(said(json.dumps(NODE).encode()))
            backend = await opened(endpoint.url)
            with pytest.raises(StoreError, match=sentence) as caught:
                await backend.get_node("a")
            assert len(str(caught.value)) < 1_000
            assert (await backend.get_node("a")).id == "a"


async def test_bad_relations_are_a_sentence(each, opened, pages):
    for relations, sentence in [
        ([{"subject": "x", "predicate": "p", "object": "y"}], "x p y, which does not touch a"),
        ([{"subject": "a", "predicate": 1.5, "object": "y"}], "predicate .* is 1.5"),
        ([{"subject": "a", "predicate": "p", "object": ["y"]}], "object .* is \\['y'\\]"),
        ([{"subject": "a", "predicate": "p"}], "object .* is missing"),
        (["text"], "a relation is 'text'"),
    ]:
        with each(relations, sentence):
            pages[OUT] = {"relations": relations}
            backend = await opened()
            with pytest.raises(StoreError, match=sentence):
                await backend.edges_from("a")
            pages[OUT] = {"relations": []}
            assert await backend.edges_from("a") == []


async def test_bad_batches_are_a_sentence(each, opened, pages):
    for batch in [{"relations": [["a", "p"]]}, {"relations": "x"}, {}, []]:
        with each(batch):
            pages["/schema"] = {"batch": {"relations": "/b", "entities": "/b"}}
            pages["/b"] = batch
            backend = await opened()
            with pytest.raises(StoreError, match="cannot be used"):
                await backend.edges_batch(["a"])
            pages["/b"] = {"relations": [["x", "p", "y"]]}
            with pytest.raises(StoreError, match="is not a relation of the requested"):
                await backend.edges_batch(["a"])
            pages["/b"] = {"relations": [["x", "p", "a"]]}
            assert await backend.edges_batch(["a"]) == [("x", "p", "a")]


async def test_a_bad_schema_is_a_sentence_or_none(each, opened, pages):
    for schema in [{"entity_types": [1.5]}, {"predicates": [["x"]]}, "x", 3]:
        with each(schema):
            pages["/schema"] = schema
            backend = await opened()
            if isinstance(schema, dict):
                with pytest.raises(StoreError, match="cannot be used"):
                    await backend.entity_types()
            else:
                assert await backend.entity_types() == []
                assert not await backend.comprehensive()


async def test_what_is_missing_is_a_key_error(opened, pages):
    pages["/entities/gone"] = (410, {}, {})
    backend = await opened(schema_path="")
    for entity_id in ("gone", "never", "\ud800"):
        for ask in (
            backend.get_node,
            backend.metadata_for_node,
            backend.edges_from,
            backend.edges_to,
        ):
            with pytest.raises(KeyError):
                await ask(entity_id)
    with pytest.raises(KeyError):
        await backend.metadata_for_edge(Edge("a", "p", "b"))
    assert await backend.get_nodes_batch(["gone", "never", "\ud800"]) == []
    assert await backend.edges_batch(["gone", "never", "\ud800"]) == []
    assert await backend.search_entities("\ud800") == []


async def test_relations_without_a_route_are_distinguished_from_entities_that_are_not_there(
    opened, pages
):
    pages["/entities/a"] = NODE
    with pytest.raises(StoreError, match="relations=document"):
        await (await opened()).edges_from("a")


async def test_an_api_without_search_is_reported(opened, pages):
    with pytest.raises(StoreError, match="search_path"):
        await (await opened()).search_entities("ada")


async def test_odd_ids_are_one_segment_of_the_path(each, opened, pages, web):
    for entity_id in ODD_IDS:
        with each(entity_id):
            web.requests.clear()
            pages[f"/entities/{segment(entity_id)}"] = {"id": entity_id, "@type": "T"}
            assert (await (await opened()).get_node(entity_id)).id == entity_id
            [(_, raw)] = web.requests
            assert raw.count("/") == 2
            assert unquote(raw.removeprefix("/entities/")) == entity_id


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(body=st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["id", "@id", "@type", "@context", "@graph", "relations", "results", "next", "subject",
             "predicate", "object", "metadata", "@reverse", "@value", "batch", "omissions", "items"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=8,
))  # fmt: skip
async def test_whatever_comes_is_an_answer_or_a_sentence(body):
    async def app(scope, receive, send):
        content = json.dumps(body).encode()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    with WebServer() as server:
        server.serve(app)
        backend = await JsonLdBackend.create(server.url, max_pages=3)
        try:
            for ask in (
                lambda: backend.get_node("a"),
                lambda: backend.edges_from("a"),
                lambda: backend.search_entities("a"),
                lambda: backend.metadata_for_edge(Edge("a", "p", "b")),
                backend.predicates,
                lambda: backend.edges_batch(["a"]),
                lambda: backend.provenance_for_node("a", 5),
            ):
                try:
                    await ask()
                except (StoreError, KeyError):
                    continue
        finally:
            await backend.close()


# --- contexts -----------------------------------------------------------------


async def document_with(opened, pages, context, **more):
    """The error for a document with this context; the next call must work."""
    pages["/doc"] = {"@context": context, "@id": "http://ex.test/a"}
    backend = await opened(entity_path="/doc", relations="document", reading="json-ld", **more)
    with pytest.raises(StoreError) as caught:
        await backend.get_node("http://ex.test/a")
    pages["/doc"] = {"@id": "http://ex.test/a", "@type": "http://ex.test/T"}
    assert (await backend.get_node("http://ex.test/a")).entity_type == "http://ex.test/T"
    return str(caught.value)


async def test_a_context_that_redirects_for_ever_is_reported(opened, pages):
    pages["/context"] = (302, {"location": "/context"}, {})
    assert "redirected more than" in await document_with(opened, pages, "/context")


async def test_a_context_of_50_mb_is_not_taken_in(opened, pages):
    pages["/context"] = (200, {}, b" " * 50_000_000)
    assert "more than 2,000,000 bytes" in await document_with(opened, pages, "/context")


async def test_a_context_at_a_private_address_is_not_fetched(opened, pages, web):
    for host, hosts in (("localhost", ["localhost"]), ("127.0.0.2", ["*"]), ("[::1]", ["*"])):
        url = f"http://{host}:{web.port}/context"
        told = await document_with(opened, pages, url, context_hosts=hosts)
        assert "private address" in told
    assert not [target for target in pages.targets if target == "/context"]


async def test_a_context_from_a_host_that_is_not_listed_is_not_fetched(opened, pages):
    told = await document_with(opened, pages, "https://evil.test/context")
    assert "context_hosts" in told
    assert "context_files" in told


async def test_a_context_that_is_none_is_reported(each, opened, pages):
    for context in [[], "x", {"@context": "/context"}, {"@context": {"a": 5}}]:
        with each(context):
            pages["/context"] = context
            assert await document_with(opened, pages, "/context")


async def test_a_context_that_is_nothing_to_fetch_is_reported(opened, pages):
    for url in ("file:///etc/passwd", "ftp://ex.test/context", "urn:context"):
        assert "cannot be fetched" in await document_with(opened, pages, url)


async def test_a_link_that_is_no_url_is_a_sentence(each, opened, pages):
    for link in ["http://[", "/a\x01b", "?x" * 40_000]:
        with each(link):
            pages["/entities/a"] = (302, {"location": link}, {})
            pages[OUT] = {"relations": [], "next": link}
            pages["/entities/c"] = {"@context": link, "@graph": []}
            pages["/entities/b"] = {**NODE, "id": "b"}
            backend = await opened()
            for asking in (backend.get_node("a"), backend.edges_from("a"), backend.get_node("c")):
                refused = r"not a (usable )?URL|invalid URL|cannot be fetched|the limit is 1,000"
                with pytest.raises(StoreError, match=refused):
                    await asking
            assert (await backend.get_node("b")).id == "b"


async def test_an_id_that_is_too_long_for_a_url_is_a_sentence(opened, pages):
    backend = await opened()
    with pytest.raises(StoreError, match="URL too long"):
        await backend.get_node("x" * 70_000)


async def test_an_id_that_is_no_text_is_not_taken(opened, pages):
    pages[OUT] = (200, {}, b'{"relations": [{"predicate": "p", "object": "\\ud800"}]}')
    with pytest.raises(StoreError, match="object of a relation"):
        await (await opened()).edges_from("a")


async def test_a_route_that_is_not_there_asks_whether_the_base_is_right(opened, web, pages):
    backend = await opened(f"{web.url}/elsewhere")
    for asking in (backend.entity_types(), backend.search_entities("x")):
        with pytest.raises(StoreError, match=r"Check base_url\..* an empty text"):
            await asking


async def test_documents_in_another_syntax_are_called_so(each, opened, pages, web):
    for page, sentence in [
        (
            (200, {"content-type": "text/turtle; charset=utf-8"}, b"<> a <T> ."),
            "returned text/turtle; ",
        ),
        ((200, {"content-type": "application/rdf+xml"}, b"<rdf/>"), "returned application/rdf.xml"),
        (
            (406, {"content-type": "text/html"}, b"<html>No</html>"),
            "406: it is available neither as JSON-LD",
        ),
    ]:
        with each(page, sentence):
            pages["/doc"] = page
            backend = await opened(profile="linked-data")
            with pytest.raises(StoreError, match=sentence):
                await backend.get_node(f"{web.url}/doc")


async def test_a_name_in_a_url_does_not_take_the_place_of_the_token(opened, pages, web):
    pages["/entities/a"] = (302, {"location": f"http://u:p@127.0.0.1:{web.port}/b"}, {})
    pages["/b"] = NODE
    await (await opened(token="secret")).get_node("a")
    assert [headers["authorization"] for _, headers, _ in pages.asked] == ["Bearer secret"] * 2
