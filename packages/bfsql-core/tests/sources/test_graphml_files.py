"""GraphML, as written by networkx and other programs."""

from pathlib import Path

import networkx as nx
import pytest

from bfsql.errors import SourceError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.sources import SourceOptions, open_source, open_sources

NODES = [
    NodeRecord("f1", "film", {"name": "Big", "year": 1988, "good": True}),
    NodeRecord("p1", "person", {"name": "Tom", "score": 1.5}),
]


def test_graphml_as_networkx_writes_it(tmp_path, films, sort_out):
    nx.set_edge_attributes(films, {("p1", "f1", "liked"): {"predicate": "likes", "weight": 2}})
    nx.write_graphml(films, tmp_path / "g.graphml")
    found = sort_out(open_source(tmp_path / "g.graphml"))
    assert found.nodes == NODES
    assert found.edges == [
        EdgeRecord("p1", "related_to", "f1", {"role": "Josh"}),
        EdgeRecord("p1", "likes", "f1", {"weight": 2}),
    ]


GRAPHML = """<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="t" for="node" attr.name="type" attr.type="string"><default>thing</default></key>
<key id="i" for="all" attr.name="id" attr.type="string"/>
<key id="g" for="node" yfiles.type="nodegraphics"/>
<graph edgedefault="undirected">
<node id="a"><data key="t">x &amp; y</data><data key="g"><shape>drawn</shape></data></node>
<node id="b"><data key="i">other</data><graph><node id="c"/></graph></node>
<edge source="b" target="a"/>
<edge source="a"/>
<hyperedge/>
</graph></graphml>"""


def test_graphml_has_defaults_nested_graphs_and_attributes_named_id(read):
    found = read("g.graphml.gz", GRAPHML)
    assert found.nodes == [
        NodeRecord("a", "x & y", {}),
        NodeRecord("c", "thing", {}),
        NodeRecord("b", "thing", {"id": "other"}),
    ]
    assert found.triples == [("b", "related_to", "a")]
    assert [line for line, _ in found.reasons] == [10, 11]
    assert found.reasons[0][1] == "target is missing"


def test_a_document_type_is_refused(write):
    bomb = '<!DOCTYPE x [<!ENTITY a "aaa"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>'
    with pytest.raises(SourceError, match="line 1: declares a document type"):
        list(open_source(write("g.graphml", bomb)))


def test_broken_xml_names_its_line(write):
    with pytest.raises(SourceError, match="line 3: is not well-formed XML"):
        list(open_source(write("g.graphml", '<graphml>\n<graph>\n<node id="a"></graph>')))
    with pytest.raises(SourceError, match="<svg>, not <graphml>"):
        list(open_source(write("s.graphml", "<svg/>")))


LIGHTRAG = Path(__file__).parent / "data" / "graph_chunk_entity_relation.graphml"
"""Output of LightRAG 1.5 for two texts, with a model that always returns the same rows."""


def test_a_graph_of_lightrag_has_evidence(sort_out):
    (source,) = open_sources([LIGHTRAG])
    found = sort_out(source.records)
    engine = next(node for node in found.nodes if node.id == "Analytical Engine")
    assert engine.entity_type == "artifact"
    assert engine.metadata.pop("created_at")
    assert engine.metadata == {
        "name": "Analytical Engine",
        "description": [
            "The Analytical Engine is a mechanical computer.",
            "The engine was never built.",
        ],
        "total_mentions": 2,
        "supporting_documents": ["ada.txt", "babbage.txt"],
    }
    assert next(node for node in found.nodes if node.id == "London").entity_type == ""
    assert found.triples == [
        ("Ada Lovelace", "related_to", "Analytical Engine"),
        ("Charles Babbage", "related_to", "Analytical Engine"),
        ("Charles Babbage", "related_to", "London"),
    ]
    assert found.edges[0].metadata.pop("created_at")
    assert found.edges[0].metadata == {
        "weight": 1.0,
        "keywords": ["mathematics", "programming"],
        "description": "Ada Lovelace wrote a program for the Analytical Engine.",
    }
    assert [(item.subject, item.item["text_span"]) for item in found.evidence] == [
        ("Ada Lovelace", "Ada Lovelace wrote a program for the Analytical Engine."),
        ("Charles Babbage", "Charles Babbage designed the Analytical Engine."),
        ("Charles Babbage", "Babbage failed to build the engine."),
        ("Charles Babbage", "Charles Babbage was born in London."),
    ]
    assert found.evidence[0].item["document_id"] == "ada.txt"
    assert found.evidence[1].item["document_ids"] == ["ada.txt", "babbage.txt"]
    assert len(found.evidence[1].item["chunk_ids"]) == 2
    account = source.account
    assert account.notes[0] == "read as a graph from LightRAG"
    assert ("entity_id", "name") in {(c.name, c.meaning) for c in account.columns}
    assert [c.name for c in account.columns if c.meaning == "evidence"] == [
        *("description", "source_id", "file_path")
    ]


def test_keywords_of_lightrag_are_the_predicate_when_that_is_asked_for(sort_out):
    found = sort_out(open_source(LIGHTRAG, SourceOptions(predicate_column="keywords")))
    assert found.triples[2] == ("Charles Babbage", "birthplace", "London")
    assert found.triples[0][1] == "mathematics,programming"
    assert found.evidence[-1].predicate == "birthplace"
