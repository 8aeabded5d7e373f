"""Answers in Python: as networkx graphs, as data frames and in notebooks."""

import sys
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from bfsql.answers import Answer
from bfsql.answers.notebook import MAX_EDGES, MAX_NODES, MAX_ROWS
from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;\u202e]]>"
RECORDS = [
    NodeRecord("film:1", "Film", {"name": "Alien", "entity_type": "odd", "year": 1979}),
    NodeRecord("film:2", "Film", {"name": HOSTILE, HOSTILE: HOSTILE}),
    NodeRecord(HOSTILE, HOSTILE, {"name": "x" * 10_000}),
    NodeRecord("person:1", "Person", {"name": "Sigourney Weaver"}),
    EdgeRecord("person:1", "ACTED_IN", "film:1", {"role": "Ripley"}),
    EdgeRecord("person:1", "ACTED_IN", "film:2"),
    EdgeRecord("person:1", "LIKES", "film:1"),
    EdgeRecord(HOSTILE, HOSTILE, "film:2", {"predicate": HOSTILE}),
]


async def answer(tool: str, **arguments: object) -> Answer:
    async with open_graph(MemoryBackend(RECORDS)) as graph:
        return await graph.call(tool, arguments)


async def test_a_traversal_is_a_graph_of_networkx():
    graph = (await answer("bfs_query", seeds=["person:1"], max_hops=1)).to_networkx()
    assert set(graph) == {"person:1", "film:1", "film:2"}
    assert graph.nodes["person:1"] == {
        "entity_type": "Person",
        "seed": True,
        "name": "Sigourney Weaver",
    }
    assert graph.nodes["film:1"]["metadata.entity_type"] == "odd"
    assert graph.nodes["film:1"]["year"] == 1979
    assert set(graph.edges(keys=True)) == {
        ("person:1", "film:1", "ACTED_IN"),
        ("person:1", "film:2", "ACTED_IN"),
        ("person:1", "film:1", "LIKES"),
    }
    assert graph.edges["person:1", "film:1", "ACTED_IN"] == {
        "predicate": "ACTED_IN",
        "role": "Ripley",
    }


async def test_entities_without_edges_are_nodes_too():
    assert set((await answer("search_entities", query="alien")).to_networkx()) == {"film:1"}
    described = await answer("describe_entity", id="film:1")
    assert described.to_networkx().nodes["film:1"]["year"] == 1979
    assert len((await answer("describe_schema")).to_networkx()) == 0


async def test_a_traversal_is_two_data_frames():
    found = await answer("bfs_query", seeds=["person:1"], max_hops=1)
    nodes, edges = found.to_pandas(), found.to_pandas("edges")
    assert list(nodes.columns[:3]) == ["id", "entity_type", "seed"]
    assert nodes.set_index("id").loc["film:1", "year"] == 1979
    assert list(edges.columns) == ["subject", "predicate", "object", "role"]
    assert edges["role"].dropna().tolist() == ["Ripley"]
    with pytest.raises(ValueError, match="'nodes' or 'edges', not 'rows'"):
        found.to_pandas("rows")  # type: ignore[arg-type]


async def test_a_frame_without_rows_has_its_columns():
    schema = await answer("describe_schema")
    assert list(schema.to_pandas().columns) == ["id", "entity_type"]
    assert list(schema.to_pandas("edges").columns) == ["subject", "predicate", "object"]


def test_a_record_with_keys_of_other_answers_is_one_row():
    record = {"id": "match:1", "entity_type": "Match", "nodes": 3, "result": "won"}
    assert Answer("", record).to_pandas().to_dict("records") == [record]


@pytest.mark.parametrize("name", ["networkx", "pandas"])
async def test_a_library_that_is_missing_is_named(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"not installed: pip install {name}$"):
        getattr(await answer("describe_schema"), f"to_{name}")()


# In a notebook


class Elements(HTMLParser):
    """The elements, attributes and text of an HTML fragment, as parsed by a browser."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


PLAIN = {
    *("div", "p", "b", "br", "table", "thead", "tbody", "tr", "th", "td"),
    *("svg", "g", "title", "line", "polygon", "circle", "text"),
}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("bfs_query", {"seeds": ["person:1"], "max_hops": 2}),
        ("bfs_query", {"seeds": [HOSTILE], "max_hops": 2, "topology_only": True}),
        ("describe_schema", {}),
        ("describe_schema", {"seeds": [HOSTILE]}),
        ("search_entities", {"query": "nothing of that name " + HOSTILE}),
        ("describe_entity", {"id": HOSTILE}),
        ("describe_entities", {"ids": ["film:2", HOSTILE]}),
        ("intersect_subgraphs", {"seeds": ["person:1", HOSTILE], "k": 1}),
    ],
)
async def test_what_a_notebook_shows_is_text_and_never_markup(tool, arguments):
    html = (await answer(tool, **arguments))._repr_html_()
    ET.fromstring(html)
    shown = Elements(html)
    assert shown.tags <= PLAIN
    assert not [name for name in shown.attributes if name.startswith("on") or name == "style"]
    assert "\u202e" not in html


async def test_a_notebook_shows_picture_table_and_notes():
    found = await answer("bfs_query", seeds=["Sigourney Weaver"], max_hops=1)
    html = found._repr_html_()
    shown = Elements(html)
    assert {"svg", "table"} <= shown.tags
    assert html.count("<line ") == 3
    for text in (
        "Alien",
        "ACTED_IN",
        "nodes: 3, edges: 3, tokens: about ",
        "was taken as person:1",
    ):
        assert text in shown.text
    assert html == found._repr_html_()


async def test_what_a_notebook_shows_is_bounded():
    hub = NodeRecord("hub", "Hub", {"name": "y" * 10_000})
    leaves = [NodeRecord(f"leaf:{n}", "Leaf", {"text": "z" * 10_000}) for n in range(1_000)]
    edges = [EdgeRecord("hub", "HAS", leaf.id) for leaf in leaves]
    more = [EdgeRecord(a.id, "NEXT", b.id) for a, b in pairwise(leaves)]
    async with open_graph(MemoryBackend([hub, *leaves, *edges, *more])) as graph:
        found = await graph.bfs_query("hub", 1, max_tokens=0)
    html = found._repr_html_()
    assert html.count("<circle ") <= MAX_NODES + 2
    assert html.count("<line ") <= MAX_EDGES
    assert html.count("<tr>") == MAX_ROWS + 1
    assert "951 more are not shown here" in html
    assert len(html) < 200_000 < len(found.text)
