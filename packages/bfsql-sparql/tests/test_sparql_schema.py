"""The two lists of the schema: exact if a store provides them, otherwise marked as samples."""

import asyncio
import time
from functools import partial

import pytest

from bfsql import call
from bfsql.models.rdf import WELL_KNOWN
from bfsql.models.rdf_types import UNTYPED, TypeRanking
from bfsql_test_support.hostile_files import HOSTILE
from bfsql_test_support.servers.bad_replies import Reply, iri, refused, reset, results, silence

TYPE = f"<{WELL_KNOWN['rdf']}type>"
LABEL = f"<{WELL_KNOWN['rdfs']}label>"
SUBCLASS = f"<{WELL_KNOWN['rdfs']}subClassOf>"
PREFIX = {"x": "http://x.test/"}
ZOO = f"""\
<http://x.test/rex> {TYPE} <http://x.test/Dog> .
<http://x.test/rex> {TYPE} <http://x.test/Animal> .
<http://x.test/rex> {TYPE} <{UNTYPED}> .
<http://x.test/tom> {TYPE} <http://x.test/Cat> .
<http://x.test/tom> {TYPE} <http://x.test/Animal> .
<http://x.test/Dog> {TYPE} <{WELL_KNOWN["owl"]}Class> .
<http://x.test/Cat> {TYPE} <{WELL_KNOWN["owl"]}Class> .
<http://x.test/Animal> {TYPE} <{WELL_KNOWN["owl"]}Class> .
<http://x.test/Dog> {SUBCLASS} <http://x.test/Animal> .
<http://x.test/Cat> {SUBCLASS} <http://x.test/Animal> .
<http://x.test/rex> <http://x.test/chases> <http://x.test/tom> .
<http://x.test/tom> <http://x.test/chasedBy> <http://x.test/rex> .
<http://x.test/rex> {LABEL} "Rex" .
<http://x.test/rex> <http://x.test/eats> _:food .
_:food {TYPE} <http://x.test/OnlyBlank> .
_:food <http://x.test/madeOf> <http://x.test/rex> .
"""


STRANGER = "<http://x.test/rex> <http://x.test/knows> <http://x.test/stranger> .\n"
NEWT = """\
<http://x.test/rex> <http://x.test/knows> <http://x.test/newt> .
<http://x.test/newt> <http://x.test/kind> <http://x.test/Newt> .
"""
OWN = {"ontology": False, "inverse": {"x:chasedBy": "x:chases"}, "type_priority": ["x:Animal"]}
CLASSES, PETS = ["owl:Class"], ["x:Cat", "x:Dog"]
EDGES = ["rdfs:subClassOf", "x:chasedBy", "x:chases"]
LISTS = [
    (ZOO, {}, [*CLASSES, *PETS], EDGES),
    (ZOO + STRANGER, {}, [*CLASSES, "owl:Thing", *PETS], [*EDGES, "x:knows"]),
    (ZOO + NEWT, {}, [*CLASSES, "owl:Thing", *PETS], [*EDGES, "x:kind", "x:knows"]),
    (
        ZOO + NEWT,
        {"type_property": ["x:kind", "rdf:type"]},
        [*CLASSES, *PETS, "x:Newt"],
        [*EDGES, "x:knows"],
    ),
    (ZOO, OWN, ["x:Animal"], ["x:chases"]),
    (ZOO, {"only_predicate": ["x:chases"]}, [*CLASSES, *PETS], ["x:chases"]),
    (ZOO, {"predicate_namespace": ["http://elsewhere.test/"]}, [*CLASSES, *PETS], []),
    ("", {}, [], []),
]
"""Graphs and settings, with the types and the predicates that are listed."""


async def test_each_store_lists_the_types_of_nodes_and_the_predicates_of_edges(each, filled):
    for graph, settings, types, predicates in LISTS:
        with each(graph, settings):
            schema = (await filled(graph, prefix=PREFIX, **settings)).schema
            assert await schema.entity_types() == types
            assert await schema.predicates() == predicates
            assert await schema.comprehensive()


async def test_lists_are_asked_afresh(oxigraph, look):
    oxigraph.clear()
    oxigraph.load(ZOO)
    store = await look(endpoint=oxigraph.query_url, prefix=PREFIX)
    assert "x:Bird" not in await store.schema.entity_types()
    oxigraph.load(f"<http://x.test/kiwi> {TYPE} <http://x.test/Bird> .\n")
    assert "x:Bird" in await store.schema.entity_types()


async def test_a_list_that_is_being_read_is_waited_for_and_not_read_again(filled, monkeypatch):
    store = await filled(ZOO, prefix=PREFIX)
    dataset, asked = store.schema._dataset, []
    select = dataset.select

    async def watched(query, seconds):
        asked.append(query)
        return await select(query, seconds)

    monkeypatch.setattr(dataset, "select", watched)
    schema = store.schema
    *_, whole = await asyncio.gather(
        schema.entity_types(), schema.predicates(), schema.comprehensive()
    )
    assert whole
    assert len(asked) == len(set(asked))


# --- samples ----------------------------------------------------------------


async def test_where_distinct_is_not_safe_the_lists_are_samples_and_say_so(each, filled):
    for seeds in ({}, {"probe_seed": ["x:tom"]}):
        with each(seeds):
            schema = (await filled(ZOO, prefix=PREFIX, distinct=False, **seeds)).schema
            assert {"x:Cat", "x:Dog"} <= set(await schema.entity_types())
            assert {"x:chases", "x:chasedBy"} <= set(await schema.predicates())
            assert not await schema.comprehensive()
            advice = await schema.next_steps()
            named = ("sample", "schema_summary", "--probe-seed")
            assert all(word in advice for word in named), advice


async def test_a_sample_takes_what_the_store_publishes_of_itself(filled):
    void = WELL_KNOWN["void"]
    told = f"""\
<http://x.test/part> <{void}class> <http://x.test/Published> .
<http://x.test/part> <{void}property> <http://x.test/chases> .
<http://x.test/part> <{void}property> <{WELL_KNOWN["rdfs"]}label> .
"""
    store = await filled(ZOO + told, prefix=PREFIX, distinct=False)
    assert "x:Published" in await store.schema.entity_types()
    predicates = await store.schema.predicates()
    assert "x:chases" in predicates
    assert "rdfs:label" not in predicates


DESCRIPTION = f"""\
@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
@prefix void: <{WELL_KNOWN["void"]}> .
[] a sd:Service ; sd:defaultDataset [ sd:defaultGraph [
    void:classPartition [ void:class <http://x.test/Told> ] ;
    void:propertyPartition [ void:property <http://x.test/tells> ] ] ] .
"""

LONG_IRI = HOSTILE["a long IRI in Turtle"][1]


async def test_a_sample_takes_what_the_service_description_names(bad_endpoint, look):
    def behave(request):
        if request.method == "GET":
            assert request.headers["Accept"] == "text/turtle"
            assert request.fields == {}
            return Reply(body=DESCRIPTION.encode(), content_type="text/turtle; charset=utf-8")
        if "<http://x.test/tells>" in request.query:  # whether an edge has this predicate
            return results({"p": iri("http://x.test/tells")})
        return results(variables=["s"])

    bad_endpoint.always(behave)
    store = await look(endpoint=bad_endpoint.url, distinct=False, search="contains", prefix=PREFIX)
    assert not [one for one in bad_endpoint.requests if one.method == "GET"]
    assert await store.schema.entity_types() == ["x:Told"]
    assert await store.schema.predicates() == ["x:tells"]
    assert not await store.schema.comprehensive()


async def test_a_description_that_is_none_is_no_fault(each, bad_endpoint, look):
    for said in [
        refused(404),
        Reply(body=b"<html>", content_type="text/html"),
        Reply(body=b"no turtle {", content_type="text/turtle"),
        Reply(body=b"# nothing\n" * 500_000, content_type="text/turtle"),
        Reply(body=DESCRIPTION.encode() + LONG_IRI, content_type="text/turtle"),
        reset(),
    ]:
        with each(said):
            bad_endpoint.requests.clear()
            others = results(variables=["s"])
            bad_endpoint.always(partial(described, said, others))
            store = await look(endpoint=bad_endpoint.url, distinct=False, search="contains")
            assert await store.schema.entity_types() == []
            assert any(one.method == "GET" for one in bad_endpoint.requests)


def described(said, others, request):
    return said if request.method == "GET" else others


@pytest.mark.parametrize("name", ["oxigraph", "virtuoso"])
async def test_real_servers_describe_themselves(name, request, opened):
    endpoint = await opened(request.getfixturevalue(name).query_url)
    assert b"sparql-service-description#" in (await endpoint.description(10) or b"")


async def test_a_list_that_virtuoso_cut_is_a_sample(small_virtuoso, look):
    small_virtuoso.clear()
    many = (f"<http://x.test/n{n}> {TYPE} <http://x.test/T{n}> .\n" for n in range(1_200))
    small_virtuoso.load("".join(many))
    store = await look(endpoint=small_virtuoso.query_url, graph=[small_virtuoso.graph])
    found = await store.schema.entity_types()
    assert 0 < len(found) <= 1_200
    assert not await store.schema.comprehensive()


@pytest.mark.parametrize("how", ["refused", "slow"])
async def test_a_store_that_does_not_list_is_sampled_within_the_time(how, bad_endpoint, look):
    def behave(request):
        query = request.query
        if "LIMIT 10001" in query:
            return refused(400, "too dear") if how == "refused" else silence(30)
        if "?type" in query:
            return results({"type": iri("http://x.test/Dog")})
        return results(variables=["s"])

    bad_endpoint.always(behave)
    store = await look(
        endpoint=bad_endpoint.url, schema_timeout=3, search="contains", prefix=PREFIX
    )
    began = time.monotonic()
    assert await store.schema.entity_types() == ["x:Dog"]
    assert time.monotonic() - began < 15
    assert not await store.schema.comprehensive()


async def test_a_silent_store_holds_no_list_longer_than_its_time(bad_endpoint, look):
    bad_endpoint.always(results(variables=["s"]))
    store = await look(endpoint=bad_endpoint.url, schema_timeout=0.5, search="contains")
    bad_endpoint.always(silence(30))
    began = time.monotonic()
    assert await store.schema.entity_types() == []
    assert await store.schema.predicates() == []
    assert time.monotonic() - began < 15
    with call.scope(seconds=0.5):
        await store.schema.entity_types()  # leaves some of the call's time


# --- capabilities and classes -----------------------------------------------


async def test_it_is_found_out_which_statements_occur(filled):
    assert (await filled(ZOO)).store.capabilities.statements == frozenset()
    rdf = WELL_KNOWN["rdf"]
    reified = f"""\
_:r <{rdf}subject> <http://x.test/rex> .
_:r <{rdf}predicate> <http://x.test/chases> .
_:r <{rdf}object> <http://x.test/tom> .
"""
    assert (await filled(ZOO + reified)).store.capabilities.statements == {"reification"}
    assert (
        await filled(ZOO + reified, statements="none")
    ).store.capabilities.statements == frozenset()


async def test_a_schema_opens_on_a_store_that_refuses_everything_else(bad_endpoint, look):
    def behave(request):
        plain = request.query == "ASK { }"
        return Reply(body=b'{"head": {}, "boolean": true}') if plain else refused(400, "no")

    bad_endpoint.always(behave)
    store = await look(endpoint=bad_endpoint.url)
    assert store.store.capabilities.search == "contains"
    assert store.store.capabilities.statements == frozenset()
    assert not await store.schema.comprehensive()


def test_the_most_specific_type_counts():
    above = [("Poodle", "Dog"), ("Dog", "Animal"), ("Cat", "Animal"), ("Poodle", "Animal")]
    ranking = TypeRanking(above=above)
    assert ranking.ranked(["Animal", "Dog", "Poodle"]) == ["Poodle", "Dog", "Animal"]
    assert ranking.ranked(["Cat", "Dog"]) == ["Cat", "Dog"]
    assert ranking.ranked([UNTYPED, "Animal"]) == ["Animal", UNTYPED]
    assert ranking.depth("Poodle") == 2
    assert TypeRanking(["Animal"], above=above).ranked(["Poodle", "Animal"])[0] == "Animal"
    assert TypeRanking((), ["Ani"], above).ranked(["Poodle", "Animal"])[0] == "Animal"


def test_classes_in_a_circle_have_a_depth():
    ranking = TypeRanking(above=[("A", "B"), ("B", "A"), ("C", "A")])
    assert (ranking.depth("A"), ranking.depth("B"), ranking.depth("C")) == (1, 1, 2)
