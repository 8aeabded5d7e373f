"""Ontologies and JSON as people have them: each loads, and can be asked about.

The files are written by hand, in the form of the ones that are named.
"""

import asyncio
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from bfsql.cli import bfsql as command
from bfsql_test_support.loaded_graph import check_graph


class Case(NamedTuple):
    """A file, how it is loaded, and what is known then."""

    name: str
    source: str
    """Where files of this form are from."""
    text: str
    counts: tuple[int, int]
    """Nodes and edges."""
    types: set[str]
    """Some of those that `describe_schema` lists."""
    edges: list[str]
    """Some edges, with all that share two of their three parts; another name follows after `=`."""
    note: str = ""
    """A part of the report."""
    options: tuple[str, ...] = ()


def lines(*objects: dict[str, Any]) -> str:
    return "".join(json.dumps(one) + "\n" for one in objects)


MEMORY: list[dict[str, Any]] = [
    {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["likes tea"]},
    {"type": "entity", "name": "Bob", "entityType": "person", "observations": []},
    {"type": "entity", "name": "Acme", "entityType": "company", "observations": ["in Bonn"]},
    {"type": "relation", "from": "Ann", "to": "Acme", "relationType": "works_at"},
    {"type": "relation", "from": "Bob", "to": "Acme", "relationType": "works_at"},
]
OF_MEMORY = (3, 2), {"person", "company"}, ["Ann -works_at-> Acme", "Bob -works_at-> Acme"]
APOC = [
    {"type": "node", "id": "0", "labels": ["Person"], "properties": {"name": "Tom", "born": 1956}},
    {"type": "node", "id": "1", "labels": ["Movie"], "properties": {"title": "Big"}},
    {
        "id": "0",
        "type": "relationship",
        "label": "ACTED_IN",
        "properties": {"roles": ["Josh"]},
        "start": {"id": "0", "labels": ["Person"]},
        "end": {"id": "1", "labels": ["Movie"]},
    },
]
OF_APOC = (2, 1), {"Person", "Movie"}, ["Tom -ACTED_IN-> Big"]
PIZZA = """<?xml version="1.0"?>
<rdf:RDF xmlns="http://www.co-ode.org/ontologies/pizza/pizza.owl#"
  xml:base="http://www.co-ode.org/ontologies/pizza/pizza.owl"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:owl="http://www.w3.org/2002/07/owl#">
<owl:ObjectProperty rdf:about="#hasTopping"/>
<owl:Class rdf:about="#Pizza"><rdfs:label xml:lang="en">Pizza</rdfs:label></owl:Class>
<owl:Class rdf:about="#MozzarellaTopping">
  <rdfs:label xml:lang="pt">CoberturaDeMozzarella</rdfs:label>
  <rdfs:label xml:lang="en">MozzarellaTopping</rdfs:label>
</owl:Class>
<owl:Class rdf:about="#American">
  <rdfs:label xml:lang="pt">Americana</rdfs:label><rdfs:label xml:lang="en">American</rdfs:label>
  <rdfs:subClassOf rdf:resource="#Pizza"/>
  <rdfs:subClassOf><owl:Restriction><owl:onProperty rdf:resource="#hasTopping"/>
    <owl:someValuesFrom rdf:resource="#MozzarellaTopping"/></owl:Restriction></rdfs:subClassOf>
  <rdfs:subClassOf><owl:Restriction><owl:onProperty rdf:resource="#hasTopping"/>
    <owl:allValuesFrom rdf:resource="#MozzarellaTopping"/></owl:Restriction></rdfs:subClassOf>
</owl:Class>
</rdf:RDF>
"""
STW = """@prefix stw: <http://zbw.eu/stw/descriptor/> .
@prefix zbwext: <http://zbw.eu/namespaces/zbw-extensions/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
zbwext:Descriptor rdfs:subClassOf skos:Concept .
stw:1 a skos:Concept , zbwext:Descriptor ;
    skos:prefLabel "Preisniveau"@de , "Price level"@en ; skos:related stw:2 .
stw:2 a zbwext:Descriptor , skos:Concept ;
    skos:prefLabel "Hedonic price index"@en , "Hedonischer Preisindex"@de .
"""
PEOPLE = """@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix vcard: <http://www.w3.org/2006/vcard/ns#> .
<#dan> a foaf:Person ; foaf:name "Dan" ; foaf:knows <#libby> ;
    vcard:adr [ vcard:locality "Bristol" ; vcard:country "UK" ] .
<#libby> a foaf:Person ; foaf:name "Libby" .
"""
_PARTS = {"author": {"@id": "https://orcid.org/1"}, "hasPart": [{"@id": "rain.csv"}]}
CRATE = {
    "@context": ["https://w3id.org/ro/crate/1.1/context", {"lab": "http://e.org/lab"}],
    "@graph": [
        {"@id": "./", "@type": "Dataset", "name": "Rainfall", **_PARTS},
        {"@id": "rain.csv", "@type": "File", "name": "Rain in Bonn", "lab": "A"},
        {"@id": "https://orcid.org/1", "@type": "Person", "name": "Ann"},
    ],
}
REMOTE = {
    "@context": "https://example.org/context.jsonld",
    "@id": "http://e.org/ann",
    "name": "Ann",
    "knows": {"@id": "http://e.org/bob", "name": "Bob"},
}
NANO = """<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="entity_type" attr.type="string"/>
<key id="d1" for="node" attr.name="description" attr.type="string"/>
<key id="d2" for="node" attr.name="source_id" attr.type="string"/>
<key id="d3" for="edge" attr.name="weight" attr.type="double"/>
<key id="d4" for="edge" attr.name="description" attr.type="string"/>
<key id="d5" for="edge" attr.name="source_id" attr.type="string"/>
<graph edgedefault="undirected">
<node id="&quot;SCROOGE&quot;"><data key="d0">"PERSON"</data>
  <data key="d1">"A miser."&lt;SEP&gt;"A man of business."</data>
  <data key="d2">chunk-1</data></node>
<node id="&quot;MARLEY&quot;"><data key="d0">"PERSON"</data><data key="d1">"A ghost."</data>
  <data key="d2">chunk-1</data></node>
<edge source="&quot;SCROOGE&quot;" target="&quot;MARLEY&quot;"><data key="d3">9.0</data>
  <data key="d4">"They were partners."</data><data key="d5">chunk-1</data></edge>
</graph></graphml>
"""
_INDICATES = {"source_ref": "indicator--1", "target_ref": "malware--1"}
STIX = [
    {"type": "malware", "id": "malware--1", "name": "Poison Ivy"},
    {"type": "indicator", "id": "indicator--1", "name": "File hash"},
    {"type": "relationship", "id": "r--1", "relationship_type": "indicates", **_INDICATES},
]
CASES = [
    Case("bundle.json", "oasis-open/cti-stix-common-objects",
        json.dumps({"type": "bundle", "id": "bundle--1", "objects": STIX}), (2, 1),
        {"malware", "indicator"}, ["File hash -indicates-> Poison Ivy"]),
    Case("memory.jsonl", "modelcontextprotocol/servers, src/memory", lines(*MEMORY), *OF_MEMORY,
        "read as a graph of the MCP memory server"),
    Case("memory.json", "modelcontextprotocol/servers before 2025-09: lines under .json",
        lines(*MEMORY), *OF_MEMORY),
    Case("graph.json", "the answer of read_graph of the memory server",
        json.dumps({"entities": MEMORY[:3], "relations": MEMORY[3:]}), *OF_MEMORY),
    Case("all.json", "neo4j-contrib/neo4j-apoc-procedures, apoc.export.json.all", lines(*APOC),
        *OF_APOC, "read as an export of Neo4j by APOC"),
    Case("object.json", "neo4j-contrib/neo4j-apoc-procedures, jsonFormat: JSON",
        json.dumps({"nodes": APOC[:2], "rels": APOC[2:]}), *OF_APOC),
    Case("pizza.owl", "owlcs/pizza-ontology", PIZZA, (4, 2), {"owl:Class"},
        ["American -:hasTopping-> MozzarellaTopping", "American -rdfs:subClassOf-> Pizza"],
        "left out, by predicate: :hasTopping 1"),
    Case("stw.ttl", "zbw/stw-thesaurus", STW, (4, 2), {"zbwext:Descriptor"},
        ["Price level=Preisniveau -skos:related-> Hedonic price index"],
        "names are in the language en"),
    Case("foaf.ttl", "danbri's foaf.rdf", PEOPLE, (2, 1), {"foaf:Person"},
        ["Dan -foaf:knows-> Libby"], "resolved against file:///foaf.ttl"),
    Case("ro-crate-metadata.json", "ResearchObject/ro-crate", json.dumps(CRATE), (3, 2),
        {"schema:Dataset", "schema:MediaObject", "schema:Person"},
        ["Rainfall -schema:author-> Ann", "Rainfall -schema:hasPart-> Rain in Bonn"]),
    Case("remote.json", "JSON-LD with a context at an address", json.dumps(REMOTE), (2, 1),
        {"owl:Thing"}, ["Ann -foaf:knows-> Bob"], options=("--context", "context.jsonld")),
    Case("graph_chunk_entity_relation.graphml", "gusye1234/nano-graphrag", NANO, (2, 1),
        {"PERSON"}, ["SCROOGE -related_to-> MARLEY"], "read as a graph from LightRAG"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_file_loads_and_can_be_asked_about(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("context.jsonld").write_text('{"@context": {"@vocab": "http://xmlns.com/foaf/0.1/"}}')
    Path(case.name).write_text(case.text)
    done = CliRunner().invoke(command, ["load", case.name, "--path", "g.db", *case.options])
    assert done.exit_code == 0, done.output
    report = " ".join(done.output.split())
    assert case.note in report
    nodes, edges = case.counts
    assert f"holds {nodes} nodes, {edges} edge" in report
    asyncio.run(check_graph(Path("g.db"), case.types, case.edges, whole=False))


MISTAKES = [
    ("modern.json", '{"id":{"@type":"g:Int32","@value":1}}\n', (), "GraphSON cannot be read"),
    ("deep.json", '{"@context": {}, "a": ' + "[" * 100_000, (), "is not JSON"),
    ("remote.json", json.dumps(REMOTE), (), "save it, and name it with --context FILE"),
    ("remote.json", json.dumps(REMOTE), ("--context", "none"), "cannot be read as a context"),
    ("go.json", '{"graphs": [{"nodes": [{"lbl": "x"}', (), "is not JSON"),
    ("g.ttl", "<#a> <#b> <#c> .", ("--base-iri", "here"), "is not an absolute IRI"),
    ("half.jsonl", lines(*MEMORY[:3], {"type": "relation", "from": "Ann"}), (), "is missing"),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[3])
def test_a_mistake_is_one_sentence(
    mistake: tuple[str, str, tuple[str, ...], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, text, options, sentence = mistake
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text)
    done = CliRunner().invoke(command, ["load", name, "--path", "g.db", *options])
    assert done.exit_code in {1, 2}
    assert sentence in " ".join(done.output.split())
    assert "Traceback" not in done.output


def test_several_files_are_one_graph_with_names_in_one_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    head = "@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
    Path("de.ttl").write_text(head + ':a rdfs:label "Preis"@de ; a :Term , :Price .')
    Path("en.nt").write_text(
        '<http://e.org/a> <http://www.w3.org/2000/01/rdf-schema#label> "price"@en .'
    )
    Path("classes.ttl").write_text(head + ":Term rdfs:subClassOf :Price .")
    done = CliRunner().invoke(command, ["load", "de.ttl", "en.nt", "classes.ttl", "--path", "g.db"])
    assert "names are in the language en" in done.output
    shown = CliRunner().invoke(command, ["describe-entity", "preis", "--path", "g.db", "--json"])
    node = json.loads(shown.output)
    assert (node["entity_type"], node["name"], node["synonyms"]) == (":Term", "price", ["Preis"])
