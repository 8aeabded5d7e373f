"""GEXF and GML, as written by networkx, Gephi and other programs."""

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql.errors import SourceError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.sources import SourceOptions, open_source, open_sources

UNDIRECTED = "undirected edges keep the direction in which they are written"


@pytest.fixture
def films():
    graph = nx.DiGraph()
    graph.add_node("f1", type="film", name="Big", year=1988)
    graph.add_node("p1", type="person", name='Tom "T" Hänks', score=1.5)
    graph.add_edge("p1", "f1", predicate="acted_in", role="Josh", weight=2.0)
    return graph


@pytest.fixture
def read_with_account(write):
    def read_to_the_end(name, content, **options):
        (source,) = open_sources([write(name, content)], SourceOptions(**options))
        return list(source.records), source.account

    return read_to_the_end


def test_gexf_as_networkx_writes_it(tmp_path, films, sort_out):
    nx.write_gexf(films, tmp_path / "g.gexf")
    found = sort_out(open_source(tmp_path / "g.gexf"))
    assert found.nodes == [
        NodeRecord("f1", "film", {"name": "Big", "year": 1988, "label": "f1"}),
        NodeRecord("p1", "person", {"name": 'Tom "T" Hänks', "score": 1.5, "label": "p1"}),
    ]
    metadata = {"role": "Josh", "weight": 2.0}
    assert found.edges == [EdgeRecord("p1", "acted_in", "f1", metadata)]


def test_gml_as_networkx_writes_it(tmp_path, films, sort_out):
    nx.write_gml(films, tmp_path / "g.gml")
    found = sort_out(open_source(tmp_path / "g.gml", SourceOptions(id_column="label")))
    assert found.nodes == [
        NodeRecord("f1", "film", {"id": 0, "name": "Big", "year": 1988}),
        NodeRecord("p1", "person", {"id": 1, "name": 'Tom "T" Hänks', "score": 1.5}),
    ]
    metadata = {"role": "Josh", "weight": 2.0}
    assert found.edges == [EdgeRecord("p1", "acted_in", "f1", metadata)]
    numbered = sort_out(open_source(tmp_path / "g.gml"))
    assert [node.id for node in numbered.nodes] == ["0", "1"]
    assert numbered.triples == [("1", "acted_in", "0")]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("ending", ["gexf", "gml"])
def test_every_kind_of_graph_has_its_edges(tmp_path, sort_out, kind, ending):
    graph = kind(nx.karate_club_graph().edges)
    graph.add_edge(7, 7)
    graph.add_edge(0, 1)
    getattr(nx, f"write_{ending}")(graph, tmp_path / f"g.{ending}")
    found = sort_out(open_source(tmp_path / f"g.{ending}", SourceOptions(name_column="label")))
    names = {node.id: node.metadata["name"] for node in found.nodes}
    ends = sorted(tuple(sorted((names[e.subject], names[e.object]))) for e in found.edges)
    assert ends == sorted(tuple(sorted((str(u), str(v)))) for u, v in graph.edges())
    assert not found.refusals


GEXF = """<?xml version="1.0" encoding="ISO-8859-1"?>
<gexf xmlns="http://gexf.net/1.3" xmlns:viz="http://gexf.net/1.3/viz" version="1.3">
<meta><creator>Gephi 0.10</creator></meta>
<graph defaultedgetype="undirected" mode="dynamic">
<attributes class="node">
<attribute id="modularity_class" title="Modularity Class" type="integer">
<default>0</default></attribute>
<attribute id="0" title="type" type="string"/><attribute id="tags" title="tags" type="liststring"/>
</attributes>
<attributes class="edge"><attribute id="0" title="since" type="long"/></attributes>
<nodes>
<node id="a" label="Valj\xe9an"><attvalues>
<attvalue for="modularity_class" value="3"/><attvalue for="0" value="person"/>
<attvalue for="tags" value="x|y"/>
</attvalues><viz:size value="28.6"/><viz:position x="-87" y="-299"/>
<nodes><node id="c" pid="a"/></nodes></node>
<node id="b" start="1815"><attvalues>
<attvalue for="0" value="person"/><attvalue for="other" value="z"/>
<attvalue for="modularity_class" value="1" start="1"/>
<attvalue for="modularity_class" value="2" start="2"/>
</attvalues></node><node label="no id"/>
</nodes>
<edges>
<edge id="0" source="b" target="a" weight="1.5" kind="knows" label="x">
<attvalues><attvalue for="0" value="7"/></attvalues></edge>
<edge id="1" source="a" target="c" type="directed" label="has"/>
<edge id="2" source="a" target="b" type="mutual"/>
<edge source="a"/>
</edges></graph></gexf>"""


def test_gexf_as_gephi_writes_it(read_with_account):
    records, account = read_with_account("g.gexf.gz", GEXF.encode("latin-1"))
    assert [record for record in records if isinstance(record, NodeRecord)] == [
        NodeRecord("c", "", {"pid": "a", "Modularity Class": 0}),
        NodeRecord("a", "person", {"name": "Valjéan", "Modularity Class": 3, "tags": ["x", "y"]}),
        NodeRecord("b", "person", {"start": "1815", "other": "z", "Modularity Class": [1, 2]}),
    ]
    assert [record for record in records if isinstance(record, EdgeRecord)] == [
        EdgeRecord("b", "knows", "a", {"label": "x", "weight": 1.5, "since": 7}),
        EdgeRecord("a", "has", "c", {}),
        EdgeRecord("a", "related_to", "b", {}),
        EdgeRecord("b", "related_to", "a", {}),
    ]
    assert (account.refused, account.encoding, account.notes) == (2, "iso-8859-1", [UNDIRECTED])
    assert {(c.name, c.meaning) for c in account.columns} == {
        *(("node id", "id"), ("label", "name"), ("type", "type"), ("label", "predicate")),
        *(("edge source", "subject"), ("kind", "predicate"), ("edge target", "object")),
    }


GML = """Creator "Mark Newman on Sat Jul 22 05:32:16 2006"
graph
[
  comment "a # inside, and
two lines"
  node
  [
    id 1
    label "1000 Years &#38; &quot;Revenge&quot;"
    value "n" # neutral
    graphics [ x 1.0 y -2.5e3 ]
    tags "a" tags "b" one "_networkx_list_start" one 5
    more [ deep [ deeper NAN ] ]
  ]
  node [ id 2 label "second
line" ] node [ label "no id" ]
  edge [ source 2 target 1 value +3 ] edge [ source 2 target 1 ] edge [ source 2 ]
]
"""


def test_gml_as_other_programs_write_it(read_with_account):
    records, account = read_with_account("g.gml", GML)
    first, second, no_id, edge, again, no_target = records
    assert isinstance(first, NodeRecord)
    assert str(first.metadata.pop("more")) == "{'deep': {'deeper': nan}}"
    metadata = {"name": '1000 Years & "Revenge"', "value": "n", "tags": ["a", "b"], "one": [5]}
    assert first == NodeRecord("1", "", metadata)
    assert second == NodeRecord("2", "", {"name": "second\nline"})
    assert (no_id.line, no_id.reason) == (16, "id is missing")
    assert edge == EdgeRecord("2", "related_to", "1", {"value": 3})
    assert again == EdgeRecord("2", "related_to", "1", {})
    assert (no_target.line, no_target.reason) == (17, "target is missing")
    assert account.notes == ["graphics were left out", UNDIRECTED]


def test_gml_in_another_encoding_is_named_or_refused(read, write):
    content = 'graph [ node [ id 1 label "Jos\xe9" ] ]'.encode("latin-1")
    assert read("g.gml", content, encoding="latin-1").metadata("1") == [{"name": "José"}]
    with pytest.raises(SourceError, match="not UTF-8 text"):
        list(open_source(write("g.gml", content)))


def test_gml_is_a_stream_whose_graph_may_be_directed(read_with_account):
    records, account = read_with_account("g.gml", 'graph [directed 1 edge[source "a" target b]]')
    assert records == [EdgeRecord("a", "related_to", "b", {})]
    assert account.notes == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "contains no graph"),
        ("{}", "line 1: is not GML: it cannot be read from '{}' on"),
        ("graph [ node [ id 1 ]", "line 1: the file ends inside 'graph'"),
        ("graph [\nnode [ id", "line 2: the file ends inside 'node'"),
        ('graph [\nnode [ id 1 label "x ]\n]', "line 2: a quote is opened here and never closed"),
        ("graph [ node [ id ] ]", r"']' where a value of 'id' should be"),
        ("graph [ node [ 1 ] ]", "'1' where a key should be"),
        ("graph [ node 5 ] ]", r"']' where a key should be"),
        ("a [ " * 10_000, "more than 50 blocks are nested inside each other"),
        ('Creator "x"', "contains no graph"),
    ],
)
def test_broken_gml_says_where(write, content, reason):
    with pytest.raises(SourceError, match=reason.replace("[", r"\[")):
        list(open_source(write("g.gml", content)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is not well-formed XML: no element found"),
        ("<html/>", "its first element is <html>, not <gexf>"),
        (GEXF[: len(GEXF) // 2], "is not well-formed XML"),
        ('<!DOCTYPE x [<!ENTITY a "aa">]><gexf>&a;</gexf>', "declares a document type"),
        ('<gexf><node id="a" id="b"/></gexf>', "line 1: is not well-formed XML: duplicate attr"),
        ('<?xml version="1.0" encoding="nonsense"?><gexf/>', "declares an encoding that cannot be"),
    ],
)
def test_broken_gexf_says_where(write, content, reason):
    with pytest.raises(SourceError, match=reason):
        list(open_source(write("g.gexf", content)))


def test_deep_xml_and_values_of_other_types_are_harmless(read):
    deep = '<gexf><graph><nodes><node id="a">' + "<x>" * 900 + "</x>" * 900
    assert len(read("g.gexf", deep + "</node></nodes></graph></gexf>").nodes) == 1
    odd = GEXF.replace('value="3"', 'value="three"').replace("ISO-8859-1", "UTF-8")
    assert read("g.gexf", odd).metadata("a")[0]["Modularity Class"] == "three"


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(TEXTS, min_size=1, max_size=4), weight=st.floats(allow_nan=False))
def test_what_networkx_writes_into_gml_comes_back(tmp_path, sort_out, texts, weight):
    graph = nx.DiGraph()
    for number, text in enumerate(texts):
        graph.add_node(number, about=text, size=number)
        graph.add_edge(0, number, weight=weight)
    nx.write_gml(graph, tmp_path / "g.gml")
    found = sort_out(open_source(tmp_path / "g.gml"))
    assert [node.metadata["about"] for node in found.nodes] == texts
    assert [edge.metadata["weight"] for edge in found.edges] == [weight] * len(texts)
