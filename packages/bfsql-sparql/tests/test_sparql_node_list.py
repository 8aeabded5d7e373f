"""Entities by type and properties: what the store leaves out never meets the conditions."""

import re

import pytest

from bfsql import call, open_graph
from bfsql.models import NodeRecord
from bfsql.models.condition import PropertyCondition
from bfsql.models.rdf import Prefixes
from bfsql_sparql.dataset import TooSlow
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.listings import assert_listed, graph_of, listed
from bfsql_test_support.nasty_values import LITERALS, VALUES, every_condition, nodes_of
from bfsql_test_support.tool_calls import read

LABELS = """\
<e:a> <rdf:type> <e:Film> .
<e:a> <rdfs:label> "Heat" .
<e:b> <rdf:type> <e:Book> .
<e:b> <skos:prefLabel> "Heat" .
<e:c> <rdf:type> <e:Book> .
<e:c> <rdfs:label> "Cy" .
"""


async def test_a_property_of_labels_is_the_name_by_its_own_key(serve_each):
    full = Prefixes({"e": "http://e.test/"}).full
    text = re.sub(r"<(.*?)>", lambda found: f"<{full(found[1])}>", LABELS)
    backend = await serve_each(text, prefixes={"e": "http://e.test/"})
    asked = {"fields": ["rdfs:label"], "facets": ["rdfs:label"], "sort_by": "-skos:prefLabel"}
    seeds = ["*[rdfs:label=Heat]", "e:Book[rdfs:label=Cy]", "e:Book[skos:prefLabel=Heat]"]
    async with open_graph(backend) as graph:
        found = [
            await read(graph, "bfs_query", seeds=[one], **asked) for one in [*seeds, "*[name=Cy]"]
        ]
        ids = [[node["id"] for node in answer["nodes"]] for answer in found]
        assert ids == [["e:a", "e:b"], ["e:c"], ["e:b"], ["e:c"]]
        assert [node["metadata"] for node in found[0]["nodes"]] == [{"name": "Heat"}] * 2
        assert found[0]["facets"]["rdfs:label"]["values"] == [["Heat", 2, 1.0]]
        usage = (await read(graph, "describe_schema"))["tool_usage_notes"]
        assert "is the name of" not in usage


@pytest.mark.parametrize("serve_each", ["fuseki", "virtuoso"], indirect=True)
async def test_types_and_predicates_that_no_query_can_contain_are_left_out_and_counted(serve_each):
    odd = LABELS.replace("e:Film", "http://e.test/a\\u0020b")
    triple = "<e:b> <http://e.test/a\\u0022> <e:c> .\n"
    full = Prefixes({"e": "http://e.test/"}).full
    text = re.sub(r"<([a-z]+:\w+)>", lambda found: f"<{full(found[1])}>", odd + triple)
    async with open_graph(await serve_each(text, prefixes={"e": "http://e.test/"})) as graph:
        answer = await read(graph, "describe_schema")
        assert (answer["entity_types"], answer["predicates"]) == (["e:Book"], [])
        assert answer["next_steps"].endswith("no query can contain: 2, left out.")


KEYS = ("x", "name", "synonyms")


def literals_for(store, key):
    """All for the fastest; for others a third, and each of it with one of the keys."""
    return LITERALS if THOROUGH or store == "oxigraph" else LITERALS[3 * KEYS.index(key) :: 9]


@pytest.mark.parametrize("name", ["oxigraph", "fuseki", "virtuoso", "rdf4j"])
async def test_no_entity_that_meets_a_condition_is_left_out(name, place):
    records = nodes_of(VALUES)
    store = place(name)
    store.server.clear()
    async with store.filled(records) as backend:
        graph = await graph_of(backend, [one.id for one in records])
        assert len(graph) == len(records)
        assert await assert_listed(backend, graph, []) == 0
        assert await assert_listed(backend, graph, [], ["T"]) == 0
        for key in KEYS:
            for condition in every_condition(key, literals_for(name, key)):
                await assert_listed(backend, graph, [condition])


FOREIGN = """
<urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:T> .
<urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:U> .
<urn:U> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:T> .
<urn:b> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:T> .
<urn:a> <urn:p> "0.1"^^<http://www.w3.org/2001/XMLSchema#float> .
<urn:a> <urn:p> "Zug"@de .
<urn:a> <urn:p> "train"@en .
<urn:b> <urn:p> "2004-12-31T23:30:00-02:00"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
<urn:b> <urn:q> <urn:c> .
<urn:c> <urn:p> "train" .
<urn:c> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> _:none .
"""


async def test_literals_types_and_nodes_without_a_type_of_any_rdf_are_listed(serve_each):
    backend = await serve_each(FOREIGN)
    ids = ["urn:a", "urn:b", "urn:c", "urn:T", "urn:U"]
    graph = await graph_of(backend, ids)
    assert {one.id for one in await listed(backend)} == graph.keys()
    for types in (None, ["urn:T"], ["urn:U", "owl:Thing"]):
        for one in every_condition("urn:p", ["train", "0.1", "2005", "2005-01", "zug"]):
            await assert_listed(backend, graph, [one], types)
    for types in (None, ["urn:T"], ["urn:U", "owl:Thing"], ["urn:unknown"], []):
        for one in ("has", "lacks"):
            found = await assert_listed(backend, graph, [PropertyCondition("urn:p", one)], types)
            assert found == 0


@pytest.mark.parametrize("name", ["oxigraph", "fuseki", "virtuoso", "rdf4j"])
async def test_more_nodes_than_a_page_has_are_listed_by_windows(name, place):
    records = [NodeRecord(f"n{i} ü", "TU"[i % 2], {"other_types": ["V"]}) for i in range(250)]
    async with place(name).filled(records, page_size=100) as backend:
        graph = {one.id: (one.entity_type, one.metadata) for one in records}
        assert await assert_listed(backend, graph, []) == 0
        assert await assert_listed(backend, graph, [], ["T"]) == 0


async def test_an_equal_value_is_found_among_a_thousand_others(serve):
    names = [*(f"Ünal {i}" for i in range(500)), *(f"Wilson {i}" for i in range(500))]
    backend = await serve("\n".join(f'<urn:{i}> <urn:p> "{n}" .' for i, n in enumerate(names)))
    for value in ("wilson 77", "UNAL 77"):
        found = await listed(backend, [PropertyCondition("urn:p", "=", (value,))])
        assert len(found) == 1


async def test_an_endpoint_too_slow_for_folding_is_asked_for_some_spellings(serve):
    backend = await serve('<urn:a> <urn:p> "Wilson" .\n<urn:b> <urn:p> "wIlson" .')
    dataset = backend._store.dataset
    reply = dataset.reply

    async def slow(query, seconds=None):
        if "LCASE" in query:
            raise TooSlow("The query took too long.")
        return await reply(query, seconds)

    dataset.reply = slow
    with call.scope() as under_way:
        found = await listed(backend, [PropertyCondition("urn:p", "=", ("wilson",))])
    assert [one.id for one in found] == ["urn:a"]
    assert [(one.id, one.direction) for one in under_way.omissions] == [("*", "nodes")]
