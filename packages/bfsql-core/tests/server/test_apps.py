"""The card of MCP Apps: who is offered it, and that models read the same with and without."""

import json
from typing import Any

import pytest
from mcp import Client
from mcp.client import advertise
from mcp.shared.exceptions import MCPError

from bfsql import Limits, open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.plugins import hookimpl
from bfsql.server import BfsqlServer, apps, create_server
from bfsql.server.messages import reduced
from bfsql.serving.live import open_live
from bfsql.settings import ServeSettings

SHOWING = advertise(apps.EXTENSION, {"mimeTypes": [apps.MIME_TYPE]})
OTHERS = (None, advertise(apps.EXTENSION, {"mimeTypes": ["text/html"]}), advertise("a.b/c", {}))
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("bfs_query", {"seeds": ["Tom Hanks"]}),
    ("bfs_query", {"seeds": ["Person:*"], "facets": ["name"]}),
    ("bfs_query", {"seeds": ["Person:*"], "path": ["-ACTED_IN->"], "show": "walks"}),
    ("bfs_query", {"seeds": ["Nobody"]}),
    ("describe_entity", {"id": "person:1"}),
    ("intersect_subgraphs", {"seeds": ["person:1", "person:2"], "k": 1}),
    ("search_entities", {"query": "Meg"}),
)
ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


def client(server: Any, extension: Any = SHOWING, era: Any = "auto") -> Client:
    return Client(server, mode=era, extensions=[extension] if extension else [])


@ERAS
async def test_tools_with_pictures_name_a_document_that_the_client_can_read(films, era):
    async with client(create_server(films), era=era) as host:
        tools = (await host.list_tools()).tools
        listed = next(one for one in (await host.list_resources()).resources if one.uri == apps.URI)
        [card] = (await host.read_resource(listed.uri)).contents
    named = {tool.name: tool.meta for tool in tools if tool.meta}
    assert set(named) == {"bfs_query", "describe_entity", "intersect_subgraphs"}
    assert all(meta == {"ui": {"resourceUri": listed.uri}} for meta in named.values())
    assert listed.mime_type == card.mime_type == apps.MIME_TYPE
    assert card.text.startswith("<!doctype html>")


@ERAS
@pytest.mark.parametrize("other", OTHERS)
async def test_others_see_nothing_of_it_and_the_list_is_hardly_longer(films, era, other):
    server = create_server(films)
    async with client(server, other, era) as host, client(server, era=era) as showing:
        tools = (await host.list_tools()).model_dump_json()
        more = (await showing.list_tools()).model_dump_json()
        assert apps.URI not in [one.uri for one in (await host.list_resources()).resources]
    assert "ui://" not in tools
    assert len(more) <= 1.05 * len(tools)


@ERAS
@pytest.mark.parametrize("form", ["json", "lines"])
async def test_what_a_model_reads_is_the_same_with_and_without(films, era, form):
    server = create_server(films, limits=Limits(answer_format=form))
    async with client(server, None, era) as plain, client(server, era=era) as showing:
        for tool, arguments in CALLS:
            one = await plain.call_tool(tool, arguments)
            other = await showing.call_tool(tool, arguments)
            assert one.content == other.content
            assert one.structured_content == other.structured_content
            assert apps.ANSWER not in (one.meta or {})
            drawn = form == "lines" and not one.is_error and tool != "search_entities"
            assert (apps.ANSWER in (other.meta or {})) == drawn


@pytest.mark.parametrize(("tool", "arguments"), [*CALLS[:3], *CALLS[4:6]])
async def test_the_document_for_the_card_is_the_answer_in_json(films, tool, arguments):
    async with (
        open_graph(films) as graph,
        client(create_server(films, limits=Limits(answer_format="lines"))) as host,
    ):
        wanted = (await graph.call(tool, arguments)).content
        drawn = (await host.call_tool(tool, arguments)).meta[apps.ANSWER]
    if tool == "bfs_query" and "facets" not in arguments:
        del wanted["schema_summary"]  # stands beside sets alone
    for key, facet in wanted.get("facets", {}).items():
        wanted["facets"][key] = {"values": facet["values"], "other_values": 0}
    assert drawn == wanted


async def test_beside_a_picture_nodes_have_their_names_and_edges_their_numbers_of_passages():
    further = dict.fromkeys("abcde", 1)
    film = NodeRecord("f", "Film", {"name": "Alien", "year": 1979, **further})
    cast = EdgeRecord("p", "ACTED_IN", "f", {"role": "Ripley", "evidence_count": 2})
    graph = MemoryBackend([film, NodeRecord("p", "Person", {"born": 1949}), cast])
    async with client(create_server(graph, limits=Limits(answer_format="lines"))) as host:
        picture, facets, whole = [
            (await host.call_tool("bfs_query", {"seeds": seeds, **more})).meta[apps.ANSWER]
            for seeds, more in ((["f"], {}), (["f"], {"facets": ["year"]}), (["Film:*"], {}))
        ]
    assert [node["metadata"] for node in picture["nodes"]] == [{"name": "Alien"}, {}]
    assert [edge["metadata"] for edge in picture["edges"]] == [{"evidence_count": 2}]
    for table, more in ((facets, 3), (whole, 2)):  # beside the name and four columns
        properties = table["nodes"][0]["metadata"]
        assert (len(properties), properties["name"]) == (5, "Alien")
        assert table["left_out"] == {"columns": more}


async def test_a_large_answer_is_cut_to_what_is_drawn_and_says_how_much_is_not():
    people = [NodeRecord(f"p:{n}", "Person", {"name": f"P {n}"}) for n in range(1_000)]
    knows = [EdgeRecord(f"p:{n}", "KNOWS", f"p:{(7 * n + 1) % 1_000}") for n in range(1_000)]
    limits = Limits(answer_format="lines", max_tokens=0)
    arguments = {"seeds": ["Person:*"], "max_hops": 1, "limit": 1_000, "facets": ["name:1000"]}
    async with client(create_server(MemoryBackend([*people, *knows]), limits=limits)) as host:
        drawn = (await host.call_tool("bfs_query", arguments)).meta[apps.ANSWER]
    ids = {node["id"] for node in drawn["nodes"]}
    assert (len(ids), drawn["node_count"]) == (apps.MOST_DRAWN, 1_000)
    among = [edge for edge in knows if edge.subject in ids and edge.object in ids]
    assert len(drawn["edges"]) == len(among)
    assert drawn["left_out"] == {"nodes": 700, "edges": 1_000 - len(among)}
    facet = drawn["facets"]["name"]
    assert (len(facet["values"]), facet["other_values"]) == (12, 988)


async def test_a_record_may_have_properties_named_like_parts_of_other_answers():
    own = {"name": "A", "nodes": list(range(1_000)), "facets": "text", "walks": "text"}
    limits = Limits(answer_format="lines", max_tokens=0)
    async with client(
        create_server(MemoryBackend([NodeRecord("a", "T", own)]), limits=limits)
    ) as host:
        drawn = (await host.call_tool("describe_entity", {"id": "a"})).meta[apps.ANSWER]
    assert {key: drawn[key] for key in ("facets", "walks")} == {"facets": "text", "walks": "text"}


class Redaction:
    @hookimpl
    def redact_metadata(self, metadata):
        return {key: value for key, value in metadata.items() if key != "salary"}


async def test_what_hooks_remove_is_not_in_the_document():
    people = MemoryBackend([NodeRecord("p:1", "Person", {"name": "Ann", "salary": 12_345})])
    limits = Limits(answer_format="lines")
    async with client(create_server(people, limits=limits, hooks=[Redaction()])) as host:
        for tool, arguments in (
            ("describe_entity", {"id": "p:1"}),
            ("bfs_query", {"seeds": ["p:1"]}),
        ):
            result = await host.call_tool(tool, arguments)
            assert "Ann" in json.dumps(result.meta)
            assert "12345" not in result.model_dump_json()


def server_of(films: MemoryBackend, **settings: Any) -> BfsqlServer:
    return BfsqlServer(lambda: open_live(lambda: open_graph(films), ServeSettings(**settings)))


async def test_without_apps_the_server_has_no_card_and_tools_name_none(films):
    async with client(server_of(films, apps=False)) as host:
        assert apps.EXTENSION not in host.server_capabilities.extensions
        assert "ui://" not in (await host.list_tools()).model_dump_json()
        assert "ui://" not in (await host.list_resources()).model_dump_json()
        with pytest.raises(MCPError, match='There is no resource "ui://bfsql/graph"'):
            await host.read_resource(apps.URI)


async def test_the_address_of_the_page_stands_in_the_document_as_text(films):
    async with client(server_of(films, explorer='https://a.test/"><script>')) as host:
        [card] = (await host.read_resource(apps.URI)).contents
        with pytest.raises(MCPError, match='There is no resource "ui://other"'):
            await host.read_resource("ui://other")
    assert 'content="https://a.test/&quot;&gt;&lt;script&gt;"' in card.text


@pytest.mark.parametrize("address", ["graph.example", "javascript:alert(1)", "https://a/?b", ""])
def test_the_page_has_a_web_address(address):
    with pytest.raises(ValueError, match="as https://host"):
        ServeSettings(explorer=address)


@pytest.mark.parametrize("address", ["https://a/b", "https://{b}/c", "ftp://a/{b}", "http://a/{b"])
def test_fields_of_a_passage_stand_behind_the_host_of_its_source(address):
    with pytest.raises(ValueError, match="has fields of a passage in braces"):
        ServeSettings(source_url=address)


def test_of_what_a_client_offers_only_the_card_is_kept():
    offered = {"mimeTypes": ["a", apps.MIME_TYPE], "more": "x" * 1_000}
    capabilities = {"roots": {}, "extensions": {apps.EXTENSION: offered, "a.b/c": {}}}
    first = {"method": "initialize", "params": {"capabilities": capabilities}}
    kept = reduced(first)["params"]["capabilities"]
    assert kept["extensions"] == {apps.EXTENSION: {"mimeTypes": [apps.MIME_TYPE]}}
    capabilities["extensions"] = {apps.EXTENSION: {"mimeTypes": "no list"}}
    assert "extensions" not in reduced(first)["params"]["capabilities"]
