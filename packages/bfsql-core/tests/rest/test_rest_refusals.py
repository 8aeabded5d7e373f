"""A request that is refused is answered with a problem document that explains why."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2


def problem(answer: httpx2.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    document: dict[str, Any] = answer.json()
    assert document["status"] == status
    assert document["type"] == "about:blank"
    assert document["title"]
    return document


async def test_an_unknown_route_says_where_the_list_is(web):
    for path in ("/", "/entity/film:1", "/entities/film:1/", "/docs/x", "/Schema", "//schema"):
        answer = await web.get(httpx2.URL(f"{web.base_url}{path}".replace("///", "//")))
        assert "GET /docs" in problem(answer, 404)["detail"], path


async def test_a_route_has_one_spelling_and_an_id_may_be_empty(web):
    assert (await web.get("/sch%65ma")).json() == (await web.get("/schema")).json()
    assert problem(await web.get("/entities/"), 404)["kind"] == "unknown_entity"
    assert "GET /docs" in problem(await web.get("/entities%2Ffilm:1"), 404)["detail"]


async def test_other_verbs_are_named_with_those_there_are(web):
    for verb, path, allowed in (
        ("POST", "/entities/film:1", "GET, HEAD"),
        ("DELETE", "/schema", "GET, HEAD"),
        ("PATCH", "/entities/batch", "GET, HEAD, POST"),
        ("GET", "/tools/bfs_query", "POST"),
        ("OPTIONS", "/schema", "GET, HEAD"),
    ):
        answer = await web.request(verb, path)
        assert verb in problem(answer, 405)["detail"], path
        assert answer.headers["allow"] == allowed, path


async def test_an_unknown_id_has_the_models_sentence(web):
    for path in ("", "/relations", "/provenance"):
        document = problem(await web.get(f"/entities/HANKS{path}"), 404)
        assert document["kind"] == "unknown_entity"
        assert '"HANKS"' in document["detail"]
        assert "person:1 (Tom Hanks, Person)" in document["detail"]


async def test_an_unknown_relation_says_how_relations_are_found(web):
    query = {"subject": "person:1", "predicate": "DIRECTED", "object": "film:1"}
    detail = problem(await web.get("/relations", params=query), 404)["detail"]
    assert '"DIRECTED" from "person:1" to "film:1"' in detail


WRONG = [
    ("/entities?q=a&q=b", "q", "given 2 times"),
    ("/entities?q=a&limit=0", "limit", 'from 1 to 10000, not "0"'),
    ("/entities?q=a&limit=101", "limit", "from 1 to 100"),
    ("/entities?q=a&limit=1e3", "limit", "whole number"),
    ("/entities?q=a&limit=%D9%A3", "limit", "whole number"),
    ("/entities?q=a&node_types=Film", "node_types", "Did you mean types?"),
    ("/entities?name=a", "name", "Did you mean q? It takes: q"),
    ("/entities?q=a&label=Film", "label", "Did you mean types?"),
    ("/entities?type=Film&Offset=1", "Offset", "Did you mean after?"),
    ("/entities/film:1/relations?edge_types=a", "edge_types", "Did you mean predicates?"),
    ("/entities/film:1?fields=name", "fields", "Did you mean keys? It takes: keys"),
    ("/entities/film:1/relations?direction=up", "direction", "out, in, both"),
    ("/entities/film:1/relations?limit=10001", "limit", "from 1 to 10000"),
    ("/entities/film:1/relations?limit=" + "9" * 5_000, "limit", "from 1 to 10000"),
    ("/entities/film:1/relations?cursor=abc", "cursor", "`next`"),
    ("/entities/film:1/relations?cursor=%F0%9F%8E%AC", "cursor", "`next`"),
    ("/entities/film:1/relations?cursor=WzEsMiwzXQ", "cursor", "`next`"),
    ("/entities/film:1/provenance?limit=-1", "limit", "from 1 to 1000"),
    ("/relations?subject=a&object=b", "predicate", "predicate is missing"),
    ("/schema?x=1", "x", "takes none"),
]
WRONG_BODIES = [
    ("/entities/batch", None, "not nothing"),
    ("/entities/batch", [], "a JSON object with ids or metadata"),
    ("/entities/batch", {}, "ids must be a list of strings, not nothing"),
    ("/entities/batch", {"ids": "film:1"}, 'not "film:1"'),
    ("/entities/batch", {"ids": [1]}, "list of strings"),
    ("/entities/batch", {"ids": [], "metadata": 1}, "true or false"),
    ("/entities/batch", {"ids": [], "meta": True}, "Did you mean metadata?"),
    ("/entities/batch", {"ids": ["x"] * 10_001}, "the limit is 10000"),
    ("/entities/batch", {"nodes": ["film:1"]}, "Did you mean ids?"),
    ("/relations/batch", {}, "either ids"),
    ("/relations/batch", {"ids": [], "relations": []}, "either ids"),
    ("/relations/batch", {"ids": [], "direction": ["in"]}, 'out, in, both, not ["in"]'),
    ("/relations/batch", {"relations": [["a", "b"]]}, "[subject, predicate, object]"),
    ("/relations/batch", {"relations": [["a", "b", 3]]}, "[subject, predicate, object]"),
    ("/relations/batch", {"relations": {}}, "[subject, predicate, object]"),
    ("/tools/bfs_query", {"seeds": "film:1", "max_hops": 9}, "from 1 to 5"),
    ("/tools/bfs_query", ["film:1"], "object of names and values"),
    ("/tools/search_entities?query=x", {}, "takes none"),
]


async def test_a_parameter_that_is_wrong_is_named(web):
    for path, argument, says in WRONG:
        document = problem(await web.get(path), 400)
        assert document["argument"] == argument, path
        assert says in document["detail"], path
    for path in ("/entities/%FF", "/entities?q=%FF"):
        assert "UTF-8" in problem(await web.get(path), 400)["detail"], path


async def test_a_body_that_is_wrong_gets_its_sentence(web):
    for path, body, says in WRONG_BODIES:
        answer = await (web.post(path) if body is None else web.post(path, json=body))
        assert says in problem(answer, 400)["detail"], (path, body)


async def test_unknown_tools_and_entities_are_not_found(web):
    unknown = problem(await web.post("/tools/bfs", json={}), 404)
    assert "bfs_query" in unknown["detail"]
    nobody = problem(await web.post("/tools/describe_entity", json={"id": "nobody"}), 404)
    assert nobody["argument"] == "id"


async def test_a_body_that_is_no_json_is_refused(web):
    kind = {"Content-Type": "application/json; charset=utf-8"}
    for content in (b"{", b"\xff", b'{"ids": [NaN]}', b'{"ids": ["\\ud800"]}', b"[" * 5_000):
        answer = await web.post("/entities/batch", content=content, headers=kind)
        assert "not JSON" in problem(answer, 400)["detail"], content[:9]
        assert (await web.get("/schema")).status_code == 200


async def test_a_body_is_json_or_json_ld_and_of_no_other_kind(web):
    for kind in ({}, {"Content-Type": "text/plain"}):
        answer = await web.post("/entities/batch", content=b'{"ids": []}', headers=kind)
        assert "Content-Type: application/json" in problem(answer, 415)["detail"]
        assert answer.headers["accept-post"] == "application/json"
    headers = {"Content-Type": "application/ld+json"}
    answer = await web.post("/entities/batch", content=b'{"ids": []}', headers=headers)
    assert answer.status_code == 200


async def test_a_body_that_is_too_large_is_refused_with_and_without_its_length(served):
    web = await served(max_request_bytes=1_000)
    kind = {"Content-Type": "application/json"}

    async def trickle() -> AsyncIterator[bytes]:
        for _ in range(50):
            yield b" " * 100

    for content in (b" " * 1_001, b" " * 19_000, trickle()):
        answer = await web.post("/entities/batch", content=content, headers=kind)
        assert "1000 bytes" in problem(answer, 413)["detail"]
    assert (await web.post("/entities/batch", json={"ids": []})).status_code == 200
