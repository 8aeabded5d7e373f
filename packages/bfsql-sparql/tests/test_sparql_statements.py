"""Statements about edges: the same metadata from a file and from an endpoint with its triples."""

from collections import defaultdict

from pyoxigraph import RdfFormat, parse, serialize

from bfsql.models import EdgeRecord, merge_edges
from bfsql.sources import open_sources
from bfsql_test_support.case_table import case_table

E = "http://example.org/"
WD = "http://www.wikidata.org/"
HEAD = f"""@prefix : <{E}> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix wikibase: <http://wikiba.se/ontology#> .
:a :p :b , :c ; :q :b .
"""
PARTS = "rdf:subject :a ; rdf:predicate :p ; rdf:object :b"
SAID = ':since 2020 ; :note "x" , "y"@en ; :by :x ; prov:wasDerivedFrom :d2 , :d1 .'
WIKIDATA = f"""
<{WD}entity/P69> wikibase:claim <{WD}prop/P69> .
<{WD}entity/Q1> <{WD}prop/direct/P69> <{WD}entity/Q2> ; <{WD}prop/P69> <{WD}entity/statement/x> .
<{WD}entity/statement/x> <{WD}prop/statement/P69> <{WD}entity/Q2> ;
  <{WD}prop/qualifier/P580> "1890" , "1891" ; <{WD}prop/qualifier/value/P580> <{WD}value/1> ;
  wikibase:rank wikibase:NormalRank ; prov:wasDerivedFrom <{WD}reference/r> .
<{WD}reference/r> <{WD}prop/reference/P854> <{E}page> ; <{WD}prop/reference/P304> "17" .
"""


@case_table(
    "text",
    {
        "annotation": f":a :r :b {{| {SAID[:-1]} |}} {{| :since 2021 |}} .",
        "reifier": f":r rdf:reifies <<( :a :p :b )>> , <<( :a :q :b )>> ; {SAID}",
        "reified": f":r {PARTS} ; {SAID} [] {PARTS} ; :since 2021 .",
        "quoted": f"<< :b :p :a >> {SAID} << :a :p 1 >> {SAID} << :a :p :c >> {SAID}",
        "wikidata": WIKIDATA,
    },
)
async def test_a_file_has_the_same_edges_as_an_endpoint(tmp_path, serve, text):
    file = tmp_path / "graph.ttl"
    file.write_text(HEAD + text)
    (source,) = open_sources([file])
    loaded = defaultdict(list)
    for record in source.records:
        if isinstance(record, EdgeRecord):
            loaded[record.subject, record.predicate, record.object].append(record.metadata)
    merged = {edge: merge_edges(records) for edge, records in loaded.items()}
    assert any(merged.values())
    triples = serialize(parse(path=file), format=RdfFormat.N_TRIPLES)
    backend = await serve(triples, prefixes={"": E})
    assert await backend.metadata_for_edges_batch(list(merged)) == merged
