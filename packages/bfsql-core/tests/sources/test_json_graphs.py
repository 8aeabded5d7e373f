"""Graphs in one JSON value, as written by networkx and other programs."""

import json
import math
import tracemalloc

import networkx as nx
import pytest

from bfsql.errors import SourceError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.sources import SourceOptions, open_source, open_sources


@pytest.fixture
def account_of(write):
    def read_to_the_end(name, content, **options):
        (source,) = open_sources([write(name, content)], SourceOptions(**options))
        list(source.records)
        return source.account

    return read_to_the_end


NODES = [
    NodeRecord("f1", "film", {"name": "Big", "year": 1988, "good": True}),
    NodeRecord("p1", "person", {"name": "Tom", "score": 1.5}),
]
EDGES = [EdgeRecord("p1", "acted_in", "f1", {"role": "Josh"}), EdgeRecord("p1", "liked", "f1", {})]


@pytest.mark.parametrize("edges", ["links", "edges"])
def test_node_link_json_as_networkx_writes_it(read, films, edges):
    found = read("g.json", json.dumps(nx.node_link_data(films, edges=edges)))
    assert (found.nodes, found.edges) == (NODES, EDGES)


def test_cytoscape_json_as_networkx_writes_it(read, films):
    found = read("g.json", json.dumps(nx.cytoscape_data(films)))
    assert (found.nodes, found.edges) == (NODES, EDGES)


@pytest.mark.parametrize("form", [nx.node_link_data, nx.cytoscape_data])
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_every_form_has_each_edge_of_every_kind_of_graph_once(read, form, kind):
    graph = nx.karate_club_graph()
    graph = kind(graph.edges(data=True)) if graph.edges else graph
    graph.add_edge(7, 7)
    if graph.is_multigraph():
        graph.add_edge(0, 1, relation="knows")
    found = read("g.json", json.dumps(form(graph)))
    assert {node.id for node in found.nodes} == {str(n) for n in graph}
    assert len(found.edges) == graph.number_of_edges()
    ends = sorted(tuple(sorted((e.subject, e.object))) for e in found.edges)
    assert ends == sorted(tuple(sorted((str(u), str(v)))) for u, v in graph.edges())
    assert not found.refusals


def test_whole_numbers_are_ids_and_counted_keys_are_no_predicates(read):
    graph = nx.MultiGraph()
    graph.add_edge(1, 2, relation="near")
    graph.add_edge(2, 3)
    found = read("g.json", json.dumps(nx.node_link_data(graph, edges="edges")))
    assert [node.id for node in found.nodes] == ["1", "2", "3"]
    assert found.edges == [EdgeRecord("1", "near", "2", {}), EdgeRecord("2", "related_to", "3", {})]


def test_label_is_the_type_where_nodes_have_names(read):
    nodes = [{"id": "a", "label": "P", "name": "Ann"}, {"id": "b", "label": "P"}]
    assert [node.entity_type for node in read("g.json", json.dumps({"nodes": nodes})).nodes] == [
        "P",
        "P",
    ]


def test_the_account_names_the_form_and_the_attributes_that_have_a_meaning(account_of, films):
    account = account_of(
        "g.json", json.dumps(nx.node_link_data(films.to_undirected(), edges="edges"))
    )
    assert account.format == "json"
    assert account.notes == [
        "read as a node-link graph",
        "undirected edges keep the direction in which they are written",
    ]
    assert [(c.name, c.meaning, c.example) for c in account.columns] == [
        ("id", "id", "f1"),
        ("type", "type", "film"),
        ("name", "name", "Big"),
        ("source", "subject", "f1"),
        ("key", "predicate", "acted_in"),
        ("target", "object", "p1"),
    ]
    assert (account.nodes, account.edges, account.refused) == (2, 2, 0)


VIS = {"nodes": [{"id": 1, "label": "Ann"}], "edges": [{"from": 1, "to": 1, "label": "is"}]}
GRAPHOLOGY = {
    "options": {"type": "mixed"},
    "nodes": [{"key": "a", "attributes": {"label": "Ann"}}, {"key": "b"}],
    "edges": [{"key": "geid_1", "source": "a", "target": "b", "attributes": {"weight": 2}}],
}
D3 = {
    "nodes": [{"name": "Myriel", "group": 1}, {"name": "Napoleon", "group": 1}],
    "links": [{"source": 1, "target": 0, "value": 8}],
}
NAMED = {"nodes": [{"badge": "a", "name": "Ann"}], "links": [{"who": "a", "whom": "a"}]}


def test_what_other_programs_write_with_other_names_of_ids(read):
    found = read("vis.json", json.dumps(VIS))
    assert found.nodes == [NodeRecord("1", "", {"name": "Ann"})]
    assert found.edges == [EdgeRecord("1", "is", "1", {})]

    found = read("graphology.json", json.dumps(GRAPHOLOGY))
    assert found.nodes == [NodeRecord("a", "", {"name": "Ann"}), NodeRecord("b", "", {})]
    assert found.edges == [EdgeRecord("a", "related_to", "b", {"weight": 2})]

    options = {"id_column": "badge", "subject_column": "who", "object_column": "whom"}
    found = read("named.json", json.dumps(NAMED), **options)
    assert found.nodes == [NodeRecord("a", "", {"name": "Ann"})]
    assert found.triples == [("a", "related_to", "a")]


def test_edges_may_name_their_ends_by_position(read, account_of):
    found = read("d3.json", json.dumps(D3))
    assert [node.id for node in found.nodes] == ["Myriel", "Napoleon"]
    assert found.edges == [EdgeRecord("Napoleon", "related_to", "Myriel", {"value": 8})]
    assert "by position" in account_of("d3.json", json.dumps(D3)).notes[1]
    by_id = {"nodes": [{"id": 1}, {"id": 0}], "links": [{"source": 1, "target": 0}]}
    assert read("g.json", json.dumps(by_id)).triples == [("1", "related_to", "0")]


ELEMENTS = [
    {"data": {"id": "a", "name": "Ann"}, "position": {"x": 1}},
    {"group": "nodes", "data": {"id": "b"}},
    {"data": {"id": "ab", "source": "a", "target": "b", "interaction": "pp"}, "classes": "x"},
]


@pytest.mark.parametrize("content", [ELEMENTS, {"elements": ELEMENTS}])
def test_cytoscape_elements_may_be_one_list(read, content):
    found = read("g.cyjs", json.dumps(content))
    assert found.nodes == [NodeRecord("a", "", {"name": "Ann"}), NodeRecord("b", "", {})]
    assert found.edges == [EdgeRecord("a", "pp", "b", {"id": "ab"})]


def test_cytoscape_edges_meet_nodes_that_have_an_attribute_id(read):
    graph = nx.Graph()
    graph.add_node("a", id="A-1")
    graph.add_node("b", id="B-1")
    graph.add_edge("a", "b")
    found = read("g.json", json.dumps(nx.cytoscape_data(graph)))
    assert [node.id for node in found.nodes] == ["a", "b"]
    assert found.triples == [("a", "related_to", "b")]


def test_a_list_of_objects_is_a_table(read, account_of):
    edges = [{"who": "a", "whom": "b"}, {"who": "b", "whom": "c", "since": 1990}]
    options = {"subject_column": "who", "object_column": "whom"}
    found = read("e.json", json.dumps(edges), default_predicate="knows", **options)
    assert found.edges == [
        EdgeRecord("a", "knows", "b", {}),
        EdgeRecord("b", "knows", "c", {"since": 1990}),
    ]
    nodes = [{"id": 1, "type": "film", "cast": ["x"]}, {"name": "no id"}, 7]
    found = read("n.json", json.dumps(nodes))
    assert found.nodes == [NodeRecord("1", "film", {"cast": ["x"]})]
    assert [reason for _, reason in found.reasons] == [
        "item 2: id is missing",
        "item 3: is 7, not a JSON object",
    ]
    account = account_of("n.json", json.dumps(nodes))
    assert account.notes == ["read as a list of objects, the rows of a table"]
    assert {(c.name, c.meaning, c.example) for c in account.columns} >= {
        *(("id", "id", "1"), ("type", "type", "film"), ("cast", "metadata", "x"))
    }
    with pytest.raises(SourceError, match="no column is recognized as ids"):
        read("x.json", '[{"who": 1}]')


def test_what_is_no_node_or_edge_is_refused(read):
    graph = {"nodes": [{"id": "a"}, {"name": "x"}, 5], "links": [{"source": "a"}]}
    found = read("g.json", json.dumps(graph))
    assert [str(r.reason) for r in found.refusals] == [
        "node 2: id is missing",
        "node 3: is 5, not a JSON object",
        "edge 1 of 'links': target is missing",
    ]
    found = read("g.json", json.dumps({"elements": {"nodes": [{"data": 5}, {"data": {}}, None]}}))
    assert len(found.refusals) == 3


@pytest.mark.parametrize(
    "text",
    [
        *("[]", "{}", "5", "null", '"a"', '{"nodes": 5}', "[[1, 2]]"),
        '{"nodes": [], "adjacency": []}',
    ],
)
def test_other_json_names_the_forms_that_are_known(write, text):
    with pytest.raises(
        SourceError, match=r"not have a known form .*'nodes' and a list 'links' or 'edges'"
    ):
        list(open_source(write("g.json", text)))


def test_broken_json_says_so(write):
    with pytest.raises(SourceError, match="is not JSON: EOF"):
        list(open_source(write("g.json", '{"nodes": [')))
    with pytest.raises(SourceError, match="is empty"):
        list(open_source(write("g.json", " \n")))
    with pytest.raises(SourceError, match="one object per line, name the format jsonl"):
        list(open_source(write("g.json", '{"id": 1}\n[2]\n')))
    with pytest.raises(SourceError, match="is not JSON"):
        list(open_source(write("g.json", '{"nodes": [{"id": "\\ud800"')))


@pytest.mark.parametrize("deep", ["[" * 10_000, '{"a":' * 10_000, '["\\ud800",' * 10_000])
def test_deep_nesting_is_an_error(write, deep):
    with pytest.raises(SourceError, match="is not JSON"):
        list(open_source(write("g.json", deep)))


def test_lone_surrogates_are_refused_in_ids_and_replaced_elsewhere(read):
    found = read("g.json", '{"nodes": [{"id": "\\ud800"}, {"id": "a", "name": "x\\udfff"}]}')
    assert found.nodes == [NodeRecord("a", "", {"name": "x\ufffd"})]
    assert "lone surrogate" in found.reasons[0][1]


def test_of_a_key_that_is_there_twice_the_last_counts_and_nan_is_no_id(read):
    found = read("g.json", '{"nodes": [{"id": "a", "id": "b", "x": NaN}, {"id": NaN}]}')
    assert [node.id for node in found.nodes] == ["b"]
    assert math.isnan(found.nodes[0].metadata["x"])
    assert found.reasons == [(None, "node 2: id is missing")]


def test_memory_is_a_few_times_the_file_though_it_is_one_line(write):
    number = 3_000
    nodes = [{"id": f"n{n}", "name": f"Person number {n}", "age": n % 90} for n in range(number)]
    links = [{"source": f"n{n}", "target": f"n{n * 7 % number}"} for n in range(number)]
    path = write("graph.json", json.dumps({"nodes": nodes, "links": links}))
    del nodes, links
    tracemalloc.start()
    try:
        assert sum(1 for _ in open_source(path)) == 2 * number
        assert tracemalloc.get_traced_memory()[1] < 10 * path.stat().st_size
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["list.json.gz", "graph.json.gz", "graph.jsonld.gz"])
def test_json_that_unpacks_to_more_than_memory_may_hold_is_refused(write, name, monkeypatch):
    monkeypatch.setattr("bfsql.sources.text.MOST_OF_WHOLE", 1 << 30 >> 10)
    path = write(name, ("[" if name[0] == "l" else "{") + " " * (1 << 21))
    with pytest.raises(SourceError, match="of JSON in one value; write an object per line"):
        list(open_source(path))
