"""networkx graphs: every kind of graph, every file format, and a graph in a notebook."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bfsql_networkx
import networkx as nx
import pytest
from bfsql_networkx import NetworkxBackend, NetworkxSettings, serve_graph
from bfsql_networkx.plugin import plugin
from bfsql_networkx.settings import Attributes
from mcp import Client

from bfsql import open_graph
from bfsql.errors import StoreError
from bfsql.models import Edge, EntityStub, Node


def tea(kind: Callable[[], Any] = nx.DiGraph) -> Any:
    """Two nodes and an edge."""
    graph = kind()
    graph.add_node("tea", type="Drink", name="Tea", served="hot")
    graph.add_node("water", type="Ingredient", name="Water")
    graph.add_edge("tea", "water", predicate="made_of", litres=0.2)
    return graph


def node_link(graph: Any, path: Path) -> None:
    path.write_text(json.dumps(nx.node_link_data(graph, edges="edges")), encoding="utf-8")


def old_node_link(graph: Any, path: Path) -> None:
    path.write_text(json.dumps(nx.node_link_data(graph, edges="links")), encoding="utf-8")


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
async def test_every_kind_of_graph_is_taken(kind: Callable[[], Any]) -> None:
    backend = NetworkxBackend(tea(kind))
    assert await backend.edges_from("tea") == [Edge("tea", "made_of", "water")]
    assert await backend.edges_to("water") == [Edge("tea", "made_of", "water")]
    assert await backend.metadata_for_edge(Edge("tea", "made_of", "water")) == {"litres": 0.2}


@pytest.mark.parametrize(
    ("write", "ending"),
    [
        (node_link, "json"),
        (old_node_link, "json"),
        (nx.write_graphml, "graphml"),
        (nx.write_gexf, "gexf"),
    ],
)
async def test_every_file_says_the_same(
    write: Callable[[Any, Path], None], ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"tea.{ending}"
    write(tea(), path)
    backend = await plugin.open(NetworkxSettings(path=path))
    assert await backend.get_node("tea") == Node("tea", "Drink")
    assert await backend.edges_from("tea") == [Edge("tea", "made_of", "water")]
    assert (await backend.metadata_for_node("tea"))["served"] == "hot"
    assert (await backend.metadata_for_edge(Edge("tea", "made_of", "water")))["litres"] == 0.2
    assert list(await backend.search_entities("TEA")) == [EntityStub("tea", "Drink", "Tea")]


async def test_core_finds_names_that_its_search_does_not() -> None:
    graph = nx.DiGraph()
    graph.add_node(1, type="Drink", name="Lapsang Souchong")
    async with open_graph(NetworkxBackend(graph)) as opened:
        for wrong in ("lapsang suochong", "Lapsnag", "souchong lapsang"):
            [hit] = (await opened.search_entities(wrong)).content["result"]
            assert hit["name"] == "Lapsang Souchong"


async def test_nodes_that_are_no_text_are_found_by_it() -> None:
    backend = NetworkxBackend(nx.karate_club_graph(), Attributes(type="club"))
    assert await backend.get_node("33") == Node("33", "Officer")
    assert await backend.entity_types() == ["Mr. Hi", "Officer"]
    assert await backend.predicates() == ["related_to"]


async def test_attributes_mean_what_they_are_told_to() -> None:
    graph = nx.DiGraph()
    graph.add_node("t", label="Tea", kind="Drink")
    graph.add_edge("t", "w", rel="made_of")
    backend = NetworkxBackend(graph, Attributes(type="kind", name="label", predicate="rel"))
    assert await backend.metadata_for_node("t") == {"name": "Tea"}
    assert await backend.edges_from("t") == [Edge("t", "made_of", "w")]
    assert await backend.get_node("w") == Node("w", "owl:Thing")


async def test_parallel_edges_are_one_with_what_both_say() -> None:
    graph = tea(nx.MultiDiGraph)
    graph.add_edge("tea", "water", predicate="made_of", litres=0.3)
    backend = NetworkxBackend(graph)
    assert len(await backend.edges_from("tea")) == 1
    merged = await backend.metadata_for_edge(Edge("tea", "made_of", "water"))
    assert merged == {"litres": [0.2, 0.3], "multiplicity": 2}


def test_two_nodes_of_one_text_are_refused() -> None:
    with pytest.raises(StoreError, match="relabel one"):
        NetworkxBackend(nx.Graph([(1, "1")]))


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("tea.json", None, "cannot be read: No such file"),
        ("tea.json", "[", "is no graph that networkx can read"),
        ("tea.json", '{"links": 3}', "is no graph that networkx can read"),
        ("tea.graphml", "tea", "is no graph that networkx can read"),
        ("tea.gexf", "tea", "is no graph that networkx can read"),
        ("tea.txt", "tea", r"has to end in \.json, \.graphml, \.gexf"),
    ],
)
async def test_a_file_that_is_no_graph_is_named(
    name: str, content: str | None, sentence: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(StoreError, match=sentence):
        await plugin.open(NetworkxSettings(path=tmp_path / name))


async def test_a_graph_in_a_notebook_is_served_until_it_is_stopped() -> None:
    serving = serve_graph(nx.karate_club_graph(), about="A karate club.", type="club")
    async with Client(serving.url) as client:
        schema = (await client.call_tool("describe_schema", {})).structured_content
        arguments = {"seeds": ["0"], "max_hops": 1}
        walked = (await client.call_tool("bfs_query", arguments)).structured_content
    serving.stop()
    assert schema
    assert walked
    assert schema["graph_description"] == "A karate club."
    assert walked["node_count"] == 17
    with pytest.raises(ExceptionGroup):
        async with Client(serving.url):
            pass


def test_its_source_is_short() -> None:
    sources = Path(bfsql_networkx.__file__).parent.glob("*.py")
    lines = [line for path in sources for line in path.read_text("utf-8").splitlines()]
    assert sum(bool(line.strip()) for line in lines) < 165
