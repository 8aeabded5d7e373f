"""Other APIs by settings alone: our web API with other names, context brokers, linked data."""

import json

import pytest

from bfsql import open_graph
from bfsql.errors import ConfigurationError, StoreError
from bfsql.models import Edge
from bfsql_jsonld import JsonLdBackend

EX = "http://ex.test/"


async def test_our_web_api_is_read_by_the_defaults(opened, pages):
    pages["/entities/a"] = {"@context": "https://x.test/c", "id": "a", "@type": "T", "name": "Ada"}
    edge = {"subject": "a", "predicate": "knows", "object": "b"}
    pages["/entities/a/relations?direction=out"] = {"relations": [edge]}
    pages["/entities/a/relations?direction=in"] = {"relations": []}
    pages["/entities?q=ada%20l&limit=20&types=T%2CU"] = {"results": [{"id": "a", "@type": "T"}]}
    pages["/relations?subject=a&predicate=knows&object=b"] = {**edge, "metadata": {"since": 1}}
    pages["/schema"] = {"entity_types": ["U", "T"], "predicates": ["knows"]}
    backend = await opened()
    assert await backend.get_node("a") == ("a", "T", {})
    assert await backend.metadata_for_node("a") == {"name": "Ada"}
    assert await backend.edges_from("a") == [Edge("a", "knows", "b")]
    assert await backend.edges_to("a") == []
    assert await backend.search_entities("ada l", ["T", "U"]) == [("a", "T", None, None)]
    assert await backend.metadata_for_edge(Edge("a", "knows", "b")) == {"since": 1}
    assert await backend.entity_types() == ["T", "U"]
    assert await backend.comprehensive()
    assert await backend.edges_batch(["a", "b"]) == [("a", "knows", "b")]


async def test_types_with_commas_are_sent_each_by_itself(opened, pages):
    pages["/entities?q=x&limit=20&types=a%2Cb&types=c"] = {"results": []}
    assert await (await opened()).search_entities("x", ["a,b", "c"]) == []


async def test_types_are_kept_where_an_api_does_not_keep_them(opened, pages):
    hits = [{"id": "a", "@type": "T"}, {"id": "b", "@type": "U"}]
    pages["/entities?q=x&limit=20&types=T"] = {"results": hits}
    assert [hit.id for hit in await (await opened()).search_entities("x", ["T"])] == ["a"]


async def test_a_plain_json_api_is_read_by_the_names_of_its_fields(opened, pages):
    pages["/api/things/7"] = {"data": {"key": 7}, "kind": ["Book", "Work"], "title": "Emma"}
    pages["/api/links?node=7"] = [
        {"source": {"id": 7}, "rel": "by", "target": {"id": 9}},
        {"source": 3, "rel": "cites", "target": 7},
    ]
    pages["/api/find?text=emma&limit=20"] = {"hits": {"items": [{"data": {"key": 7}}]}}
    backend = await opened(
        entity_path="/api/things/{id}",
        relations_path="/api/links?node={id}",
        direction_param="",
        search_path="/api/find",
        query_param="text",
        edge_path="",
        id_field=["data.key"],
        type_field=["kind"],
        results_field=["hits.items"],
        subject_field=["source"],
        predicate_field=["rel"],
        object_field=["target"],
    )
    assert (await backend.get_node("7"))[:2] == ("7", "Book")
    assert await backend.metadata_for_node("7") == {"title": "Emma", "other_types": ["Work"]}
    assert await backend.edges_from("7") == [("7", "by", "9")]
    assert await backend.edges_to("7") == [("3", "cites", "7")]
    assert await backend.metadata_for_edge(Edge("7", "by", "9")) == {}
    assert (await backend.search_entities("emma"))[0].id == "7"


async def test_keys_that_would_hide_a_field_come_back_as_they_were(opened, pages):
    pages["/entities/a"] = {
        "id": "a",
        "@type": "T",
        "type": "kept",
        "metadata.id": "inner",
        "metadata.@type": "x",
        "metadata.metadata.id": "y",
    }
    assert await (await opened()).metadata_for_node("a") == {
        "type": "kept",
        "id": "inner",
        "@type": "x",
        "metadata.id": "y",
    }


@pytest.fixture
def people(pages, web):
    """Documents that link to each other; returns their base URL."""
    base = f"{web.url}/"
    context = {"name": "http://schema.org/name", "knows": {"@id": f"{EX}knows", "@type": "@id"}}
    for name, friend in (("ada", "ben"), ("ben", "cy"), ("cy", None)):
        document = {"@context": context, "@id": f"/id/{name}", "@type": f"{EX}Person", "name": name}
        pages[f"/id/{name}"] = (303, {"location": f"/doc/{name}"}, {})
        pages[f"/doc/{name}"] = document | ({"knows": f"/id/{friend}"} if friend else {})
    pages.pages["/doc/cy"]["@reverse"] = {f"{EX}employs": {"@id": f"{EX}firm"}}
    return base


async def test_linked_data_is_followed_from_document_to_document(people):
    async with open_graph(
        "jsonld", base_url=people, profile="linked-data", prefixes={"p": f"{people}id/"}, hooks=()
    ) as graph:
        hits = json.loads((await graph.search_entities("p:ada")).text)
        assert [(hit["id"], hit["name"]) for hit in hits] == [("p:ada", "ada")]
        answer = json.loads((await graph.bfs_query(["p:ada"], 2)).text)
        assert [node["id"] for node in answer["nodes"]] == ["p:ada", "p:ben", "p:cy"]
        assert answer["edge_count"] == 2
        answer = json.loads((await graph.bfs_query(["p:ada"], 2, where=["schema:name!=cy"])).text)
        assert [node["id"] for node in answer["nodes"]] == ["p:ada", "p:ben"]
        told = json.loads((await graph.describe_schema()).text)["next_steps"]
        assert "only outgoing edges" in told
        assert "no search by name" in told


async def test_what_a_document_states_in_reverse_is_an_incoming_edge(people, opened):
    backend = await opened(people, profile="linked-data")
    assert await backend.edges_to(f"{people}id/cy") == [
        Edge(f"{EX}firm", f"{EX}employs", f"{people}id/cy")
    ]
    edge = Edge(f"{EX}firm", f"{EX}employs", f"{people}id/cy")
    assert await backend.metadata_for_edge(edge) == {}


async def test_an_iri_of_another_host_is_no_node_unless_the_host_is_allowed(people, opened, pages):
    backend = await opened(people, profile="linked-data")
    with pytest.raises(KeyError):
        await backend.get_node(f"{EX}firm")
    with pytest.raises(KeyError):
        await backend.get_node("no iri")
    assert pages.asked == []


async def test_what_is_set_besides_a_profile_wins():
    backend = await JsonLdBackend.create("https://x.test", profile="linked-data", schema_path="/s")
    assert backend._settings.schema_path == "/s"
    assert backend._settings.entity_path == "{url}"
    with pytest.raises(ConfigurationError, match="profile"):
        await JsonLdBackend.create("https://x.test", profile="other")


async def test_a_profile_that_is_a_list_or_a_table_is_one_sentence(each):
    for profile in ["ngsi-ld", ["default"], {"default": True}]:
        with (
            each(profile),
            pytest.raises(ConfigurationError, match=r"it has to be one of default, linked-data\.$"),
        ):
            await JsonLdBackend.create("https://x.test", profile=profile)


async def test_links_to_pages_pictures_and_dead_hosts_end_no_traversal(opened, pages, web):
    at = f"{web.url}/"
    links = ["photo", "page", "away", "http://a..b/", "http://localhost/", f"http://h.invalid/{EX}"]
    pages["/ada"] = {"@id": "", f"{EX}sees": [{"@id": i} for i in [*links, "ben"]]}
    pages["/ben"] = {"@id": "", "@type": f"{EX}Person"}
    pages["/photo"] = (200, {"content-type": "image/jpeg"}, b"\xff\xd8")
    pages["/page"] = (200, {"content-type": "text/html; charset=utf-8"}, b"<html></html>")
    pages["/away"] = (303, {"location": "https://localhost/x"}, b"")
    backend = await opened(at, profile="linked-data", follow_hosts=["*"], prefixes={"p": at})
    async with open_graph(backend, hooks=()) as graph:
        answer = json.loads((await graph.bfs_query(["p:ada"], 2)).text)
    assert [node["id"] for node in answer["nodes"]] == ["p:ada", "p:ben"]
    assert "its host does not answer" in json.dumps(answer["notes"])


async def test_a_broken_document_of_another_host_is_reported_and_ends_no_traversal(
    each, opened, pages, web, caplog
):
    caplog.set_level("INFO", "bfsql")
    for page in [
        (500, {}, b"oops"),
        (403, {}, b"no"),
        (406, {}, b""),
        (200, {"content-type": "text/turtle"}, b"<a> <b> <c> ."),
        (200, {}, b'{"@id": "x", "@ty'),
        (200, {}, {"@context": "https://c.test/not-listed", "@id": ""}),
        (302, {"location": "/broken"}, b""),
    ]:
        with each(page):
            caplog.clear()
            at, away = f"{web.url}/", f"{web.url}/".replace("127.0.0.1", "localhost")
            pages["/ada"] = {"@id": "", f"{EX}sees": [{"@id": f"{away}broken"}, {"@id": "ben"}]}
            pages["/ben"] = {"@id": "", "@type": f"{EX}Person"}
            pages["/broken"] = page
            other = {"follow_hosts": ["localhost"], "allow_private": True, "retries": 0}
            backend = await opened(at, profile="linked-data", prefixes={"p": at}, **other)
            async with open_graph(backend, hooks=()) as graph:
                answer = json.loads((await graph.bfs_query(["p:ada"], 2)).text)
            assert [node["id"] for node in answer["nodes"]] == ["p:ada", "p:ben"]
            assert "its host returned a document that cannot be read" in json.dumps(answer["notes"])
            assert f"{away}broken" in caplog.text
            here = await opened(at, profile="linked-data", retries=0)
            with pytest.raises(StoreError):
                await here.get_node(f"{at}broken")
