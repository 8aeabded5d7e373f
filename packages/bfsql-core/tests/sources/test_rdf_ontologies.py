"""Ontologies as they are written: restrictions and other blank nodes, names, types, ids."""

from itertools import permutations
from time import thread_time

import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql.models import EdgeRecord, NodeRecord, merge_node_records
from bfsql.sources import open_source, read_all

HEAD = """@prefix : <http://e.org/p#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""


def some(property_: str, filler: str) -> str:
    return f"[ a owl:Restriction ; owl:onProperty {property_} ; owl:someValuesFrom {filler} ]"


def node(found, id_):
    return merge_node_records([one for one in found.nodes if one.id == id_])


def test_restrictions_are_edges_of_the_class(read):
    text = f"""{HEAD}
:Margherita rdfs:subClassOf :Pizza , {some(":top", ":Mozzarella")} , {some(":top", ":Tomato")} ,
    [ a owl:Restriction ; owl:onProperty :country ; owl:hasValue :Italy ] ,
    [ a owl:Restriction ; owl:onProperty :kcal ; owl:hasValue 263 ] ,
    [ a owl:Restriction ; owl:onProperty :base ; owl:onClass :Thin ;
      owl:qualifiedCardinality "1"^^<http://www.w3.org/2001/XMLSchema#nonNegativeInteger> ] ,
    [ a owl:Restriction ; owl:onProperty :slice ; owl:onClass :Pear ;
      owl:minQualifiedCardinality "0"^^<http://www.w3.org/2001/XMLSchema#nonNegativeInteger> ] ,
    [ a owl:Restriction ; owl:onProperty :top ; owl:allValuesFrom [ owl:unionOf (:Tomato) ] ] .
:Meaty owl:equivalentClass [ owl:intersectionOf ( :Pizza {some(":top", ":Meat")} ) ] .
:Thin owl:disjointWith [ owl:complementOf :Thick ] .
"""
    found = read("pizza.ttl", text)
    assert set(found.triples) == {
        (":Margherita", "rdfs:subClassOf", ":Pizza"),
        (":Margherita", ":top", ":Mozzarella"),
        (":Margherita", ":top", ":Tomato"),
        (":Margherita", ":country", ":Italy"),
        (":Margherita", ":base", ":Thin"),
        (":Meaty", "rdfs:subClassOf", ":Pizza"),
        (":Meaty", ":top", ":Meat"),
    }
    known = {":kcal": 263, "blank_node_predicates": [":slice", ":top"]}
    assert node(found, ":Margherita") == ("owl:Thing", known)
    assert found.account.notes == [
        (
            "statements with blank nodes gave 6 of the edges and 2 values: restrictions of "
            "classes, lists, descriptions"
        ),
        (
            "2 statements with blank nodes were left out, by predicate: :slice 1, :top 1; "
            "blank_node_predicates of the nodes lists them"
        ),
    ]


PAGE = """{"@context": {"s": "http://schema.org/", "@vocab": "http://schema.org/"},
"@type": ["Recipe", "Thing"],
"name": "Bread", "author": {"@type": "Person", "name": "Ann", "knows": {"@type": "Person",
"name": "Bob"}}, "nutrition": {"calories": "200"}, "step": {"@list": ["mix", "bake"]}}"""
FRIENDS = """@prefix s: <http://schema.org/> .
[] a s:Recipe ; s:name "Bread" ; s:author _:x ;
  s:nutrition [ s:calories "200" ] ; s:step ( "mix" "bake" ) .
_:x a <http://www.w3.org/2002/07/owl#NamedIndividual> , s:Person ; s:name "Ann" ; s:knows _:y .
_:y s:name "Bob" ; a s:Person ; s:friend _:x . _:z s:name "Untyped" .
"""


@pytest.mark.parametrize(("name", "text"), [("p.jsonld", PAGE), ("p.ttl", FRIENDS)])
@pytest.mark.parametrize("base", [None, "http://e.org/p"])
def test_typed_blank_nodes_of_no_other_node_are_nodes_with_ids_of_the_file(read, name, text, base):
    start = f"{base or 'file:///' + name}#blank-"
    found, again = read(name, text, base=base), read(name, text, base=base)
    recipe, ann, bob = (start + one for one in ("Recipe-1", "Person-1", "Person-2"))
    known = {"name": "Bread", "s:nutrition.s:calories": "200", "s:step": ["bake", "mix"]}
    assert node(found, recipe)[1] | {"other_types": []} == known | {"other_types": []}
    assert {node(found, one)[1]["name"] for one in (ann, bob)} == {"Ann", "Bob"}
    assert {(recipe, "s:author", ann), (ann, "s:knows", bob)} <= set(found.triples)
    assert found.types(recipe) <= {"s:Recipe", "s:Thing"} != set()
    assert (found.nodes, found.edges) == (again.nodes, again.edges)
    assert "3 typed blank nodes are nodes" in found.account.notes[0]
    assert "-1; --base-iri names another beginning" in found.account.notes[0]
    assert not any("relative IRIs" in note for note in found.account.notes)


def test_blank_nodes_are_followed_one_level(read):
    text = f"""{HEAD}
:ann :address [ a :Address ; :street "Main Road 1" ; :in :Bonn ; :geo [ :lat 50.7 ] ] .
:bob :phone [ :kind "home" ; :number "1" ] , [ :kind "work" ; :number "2" ] ; :empty [] .
:book :authors ( :ann :bob ) ; :pages ( 1 2 ) .
[ a owl:AllDifferent ; owl:members ( :ann :bob ) ] .
:ann :knows :bob .
[ a owl:Axiom ; owl:annotatedSource :ann ; owl:annotatedProperty :knows ;
  owl:annotatedTarget :bob ; rdfs:comment "since school" ] .
[ a owl:Axiom ; owl:annotatedSource :book ; owl:annotatedProperty :title ;
  owl:annotatedTarget "B" ; :from :Cover ] .
"""
    found = read("g.ttl", text)
    assert node(found, ":ann")[1] == {
        ":address.rdf:type": ":Address",
        ":address.:street": "Main Road 1",
        ":address.:in": ":Bonn",
        "blank_node_predicates": [":geo"],
    }
    assert node(found, ":bob")[1] == {
        ":phone": [{":kind": "home", ":number": "1"}, {":kind": "work", ":number": "2"}],
        "blank_node_predicates": [":empty"],
    }
    assert node(found, ":book")[1] == {":pages": [1, 2]}
    assert set(found.triples) == {
        (":ann", ":knows", ":bob"),
        (":book", ":authors", ":ann"),
        (":book", ":authors", ":bob"),
    }
    told = {"rdfs:comment": "since school", "multiplicity": 0}
    assert EdgeRecord(":ann", ":knows", ":bob", told) in found.edges
    [note] = [note for note in found.account.notes if "3 statements" in note]
    assert "owl:members 1" in note


def test_cycles_and_depth_end(read):
    deep = ":A0"
    for n in range(300):
        deep = f"[ owl:intersectionOf ( :A{n} {deep} ) ]"
    text = f"""{HEAD}
:A rdfs:subClassOf :B . :B rdfs:subClassOf :A , {deep} . :x a :A , :B .
:C rdfs:subClassOf _:c . _:c owl:intersectionOf _:l .
_:l rdf:first _:c ; rdf:rest _:m . _:m rdf:first :D ; rdf:rest _:l .
"""
    found = read("g.ttl", text)
    of_b = {object_ for subject, _, object_ in found.triples if subject == ":B"}
    assert of_b == {":A", *(f":A{n}" for n in range(300))}
    assert (":C", "rdfs:subClassOf", ":D") in found.triples
    assert node(found, ":x") == (":A", {"other_types": [":B"]})


def test_the_most_specific_type_is_the_main_one_wherever_the_hierarchy_is(read):
    text = f"""{HEAD}
:x a owl:NamedIndividual , :Animal , :Dog ; rdfs:label "Rex" .
:y a owl:NamedIndividual , :Animal .
:Dog rdfs:subClassOf :Mammal . :Mammal rdfs:subClassOf :Animal .
"""
    found = read("g.ttl", text)
    others = {"other_types": [":Animal", "owl:NamedIndividual"]}
    assert node(found, ":x") == (":Dog", {**others, "name": "Rex"})
    assert node(found, ":y") == (":Animal", {"other_types": ["owl:NamedIndividual"]})
    assert found.account.nodes - found.account.joined_nodes == len(found.nodes)


def test_names_are_in_one_language(read):
    english = (
        ':a skos:prefLabel "Preis"@de , "price"@en-GB . :b skos:prefLabel "index"@en , "I"@de .'
    )
    german = ':c rdfs:label "Apfel"@de , "apple"@en . :d rdfs:label "Birne"@de , "poire"@fr .'
    found = read("a.ttl", HEAD + english)
    assert node(found, ":a")[1] == {"name": "price", "synonyms": ["Preis"]}
    assert node(found, ":b")[1] == {"name": "index", "synonyms": ["I"]}
    assert found.account.notes == [
        (
            "names are in the language en where there is one; names in others are synonyms. "
            "--language selects languages"
        )
    ]
    more = "".join(f':e{n} rdfs:label "Wort"@de .' for n in range(3))
    found = read("b.ttl", HEAD + german + more)
    assert node(found, ":c")[1] == {"name": "Apfel", "synonyms": ["apple"]}
    assert node(found, ":d")[1] == {"name": "Birne", "synonyms": ["poire"]}


def test_a_name_for_all_languages_comes_after_the_wanted_one_and_is_none_of_its_own(read):
    text = ':a rdfs:label "Z"@mul , "ز"@ar . :b rdfs:label "z"@en , "Z"@mul .'
    found = read("a.ttl", HEAD + text + ':c rdfs:label "C"@mul . :d rdfs:label "D"@mul .')
    assert node(found, ":a")[1] == {"name": "Z", "synonyms": ["ز"]}
    assert node(found, ":b")[1] == {"name": "z", "synonyms": ["Z"]}
    kept = read("a.ttl", HEAD + text, languages=("en",))
    assert node(kept, ":a")[1] == {"name": "Z"}


def test_types_and_names_are_chosen_once_for_all_files_of_a_load(write, sort_out):
    files = [
        (
            "data.ttl",
            ':x a :Animal , :Dog ; rdfs:label "Rex" . :y a :Animal . :z rdfs:label "chien"@fr .',
        ),
        ("german.ttl", ':a rdfs:label "Preis"@de . :b rdfs:label "Reis"@de . :y a :Dog .'),
        ("english.ttl", ':a rdfs:label "price"@en . :Dog rdfs:subClassOf :Animal .'),
        ("table.csv", "id,name\n:a,from a table\n"),
    ]
    paths = [write(name, text if "csv" in name else HEAD + text) for name, text in files]
    for order in permutations(paths[:-1]):
        found = sort_out(read_all([*order, paths[-1]]))
        assert node(found, ":x") == (":Dog", {"other_types": [":Animal"], "name": "Rex"})
        assert node(found, ":y") == (":Dog", {"other_types": [":Animal"]})
        assert node(found, ":z")[1] == {"name": "chien"}
        assert node(found, ":a")[1] == {"name": "price", "synonyms": ["Preis", "from a table"]}


def test_ids_of_rdf_xml_are_shortened_by_its_default_namespace(read):
    text = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ <!ENTITY pizza "http://e.org/pizza#"> ]>
<rdf:RDF xmlns="http://e.org/pizza#" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
<owl:Class rdf:about="&pizza;Napoli"><rdfs:subClassOf rdf:resource="&pizza;Pizza"/></owl:Class>
</rdf:RDF>
"""
    assert read("a.owl", text).triples == [(":Napoli", "rdfs:subClassOf", ":Pizza")]
    with_entity = text.replace('xmlns="http://e.org/pizza#"', 'xmlns:p="&pizza;"')
    assert read("b.owl", with_entity).triples == [("p:Napoli", "rdfs:subClassOf", "p:Pizza")]


def test_relative_iris_never_contain_the_path(read):
    text = "<#ann> <http://e.org/knows> <#bob> , <other.ttl> .\n"
    found = read("folder/people.ttl.gz", text)
    ann = "file:///people.ttl#ann"
    assert sorted(found.triples) == [
        (ann, "http://e.org/knows", "file:///other.ttl"),
        (ann, "http://e.org/knows", "file:///people.ttl#bob"),
    ]
    assert found.account.notes == [
        (
            "its relative IRIs were resolved against file:///people.ttl, for instance "
            f"{ann}; --base-iri names another IRI"
        )
    ]
    found = read("people.ttl", text, base="http://e.org/people")
    assert found.triples[0][0] == "http://e.org/people#ann"
    assert found.account.notes == []


_names = st.sampled_from([":A", ":B", ":C"])
_properties = st.sampled_from([":p", ":q"])
_classes = st.recursive(
    _names | st.builds(some, _properties, _names),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(
        lambda members: f"[ owl:intersectionOf ( {' '.join(members)} ) ]"
    ),
    max_leaves=6,
)
_axioms = st.tuples(_names, st.sampled_from(["rdfs:subClassOf", "owl:equivalentClass"]), _classes)
PATH = "(rdfs:subClassOf|owl:equivalentClass)/(owl:intersectionOf/rdf:rest*/rdf:first)*"


@given(st.lists(_axioms, max_size=5))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_restrictions_are_those_of_a_query(tmp_path_factory, axioms):
    text = HEAD + "".join(f"{' '.join(axiom)} .\n" for axiom in axioms)
    path = tmp_path_factory.mktemp("owl") / "g.ttl"
    path.write_text(text)
    query = f"SELECT ?c ?p ?d {{ ?c {PATH} ?r . ?r owl:onProperty ?p ; owl:someValuesFrom ?d }}"
    graph = rdflib.Graph().parse(data=text, format="turtle")
    expected = {
        tuple(":" + str(term).partition("#")[2] for term in row)
        for row in graph.query(query)
        if isinstance(row[0], rdflib.URIRef)
    }
    edges = [one for one in open_source(path) if isinstance(one, EdgeRecord)]
    found = {(one.subject, one.predicate, one.object) for one in edges}
    assert {triple for triple in found if triple[1] in {":p", ":q"}} == expected
    assert all(isinstance(one, NodeRecord | EdgeRecord) for one in open_source(path))


def test_time_for_blank_nodes_grows_with_their_number(write):
    def seconds(number: int) -> float:
        chain = "".join(f"_:a{n} a e:P ; e:k _:a{n + 1} .\n" for n in range(number))
        path = write("g.ttl", f"@prefix e: <http://e/> .\ne:x e:k _:a0 .\n{chain}")
        took = []
        for _ in range(3):
            start = thread_time()
            assert sum(1 for _ in open_source(path)) == 1
            took.append(thread_time() - start)
        return min(took)

    assert seconds(8_000) < 2.6 * seconds(4_000)
