"""GEXF, as written by networkx, Gephi and other programs."""

import networkx as nx
import pytest

from bfsql.errors import SourceError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.sources import SourceOptions, open_source, open_sources
from bfsql_test_support.case_table import case_table

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


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_every_kind_of_graph_has_its_edges(tmp_path, sort_out, kind):
    graph = kind(nx.karate_club_graph().edges)
    graph.add_edge(7, 7)
    graph.add_edge(0, 1)
    nx.write_gexf(graph, tmp_path / "g.gexf")
    found = sort_out(open_source(tmp_path / "g.gexf", SourceOptions(name_column="label")))
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
        NodeRecord(
            "b",
            "person",
            {
                "start": "1815",
                "other": "z",
                "Modularity Class": [1, 2],
                "Modularity Class.periods": ["1..: 1", "2..: 2"],
            },
        ),
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


@case_table(
    ("times", "told"),
    [
        ('<edge {} start="2010" end="2012"/>', {"start": "2010", "end": "2012"}),
        ('<edge {} startopen="2010"/>', {"start": "2010"}),
        ('<edge {} timestamp="2010"/>', {"timestamp": "2010"}),
        ('<edge {} timestamps="&lt;[2010, 2012]>"/>', {"periods": ["2010", "2012"]}),
        ('<edge {} intervals="&lt;[1, 2]; [3, 4)>"/>', {"periods": ["1..2", "3..4"]}),
        (
            """<edge {}><spells><spell start="2010" end="2012"/><spell start="2015"/>
            <spell timestamp="2020"/></spells></edge>""",
            {"periods": ["2010..2012", "2015..", "2020"]},
        ),
        (
            """<edge {}><attvalues><attvalue for="w" value="5" end="2012"/>
            <attvalue for="w" value="6" timestamp="2013"/></attvalues></edge>""",
            {"w": ["5", "6"], "w.periods": ["..2012: 5", "2013: 6"]},
        ),
        (
            '<edge {}><attvalues><attvalue for="w" value="5" start="1"/></attvalues></edge>',
            {"w": "5", "w.periods": ["1..: 5"]},
        ),
        (
            '<edge {}><attvalue for="periods" value="5"/><spell start="1"/></edge>',
            {"periods": ["5", "1.."]},
        ),
    ],
)
def test_times_of_gexf_are_properties(read_with_account, times, told):
    edge = times.format('source="a" target="b"')
    records, _ = read_with_account("g.gexf", f"<gexf>{edge}</gexf>")
    assert records == [EdgeRecord("a", "related_to", "b", told)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (" ", "is not well-formed XML: no element found"),
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
