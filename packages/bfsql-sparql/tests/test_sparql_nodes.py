"""Which nodes exist, their types, and the metadata in their literals."""

import bfsql
from bfsql import call
from bfsql.models import Node
from bfsql_sparql.backend import SparqlBackend

E = "http://example.org/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
OWL = "http://www.w3.org/2002/07/owl#"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


async def types_of(backend, *names):
    """The types of the nodes that exist, without the namespace of the test."""
    nodes = await backend.get_nodes_batch([E + name for name in names])
    return {node.id.removeprefix(E): node.entity_type.removeprefix(E) for node in nodes}


async def test_a_node_is_found_under_any_spelling_and_given_under_one(serve):
    backend = await serve(f"<{E}a> <{RDF}type> <{E}T> .", prefix={"ex": E})
    for spelling in ("ex:a", f"{E}a", f"<{E}a>"):
        assert await backend.get_node(spelling) == Node("ex:a", "ex:T")
    assert list(await backend.metadata_for_nodes_batch([f"<{E}a>", "ex:a"])) == [f"<{E}a>", "ex:a"]


async def test_a_type_of_the_settings_counts_first(serve):
    told = f"<{E}a> <{RDF}type> <{E}A> .\n<{E}a> <{RDF}type> <{E}Z> ."
    backend = await serve(told, type_priority=[f"{E}Z"])
    assert await types_of(backend, "a") == {"a": "Z"}


NAMES = f"""
<{E}a> <{RDFS}label> "Wein"@de .
<{E}a> <{RDFS}label> "wine"@en-GB .
<{E}a> <{RDFS}label> "vin"@fr .
<{E}a> <{SKOS}prefLabel> "Wine"@en .
<{E}a> <{SKOS}altLabel> "vino"@es .
<{E}a> <{SKOS}altLabel> "plonk"@en .
<{E}a> <{E}about> "ein Getränk"@de .
<{E}a> <{E}about> "un breuvage"@fr .
<{E}a> <{E}years> "3"^^<{INTEGER}> .
<{E}a> <{E}years> "1"^^<{INTEGER}> .
<{E}b> <{RDFS}label> "nur deutsch"@de .
<{E}b> <{SKOS}prefLabel> "English"@en .
"""


async def test_names_come_in_the_wanted_languages(each, serve_each):
    for language, told in [
        (["en"], {"name": "wine", "synonyms": ["Wine", "plonk"]}),
        (["de", "en"], {"name": "Wein", "synonyms": ["Wine", "plonk", "wine"]}),
        (["ja"], {"name": "Wein", "synonyms": ["Wine", "plonk", "vin", "vino", "wine"]}),
        (["fr", "all"], {"name": "vin", "synonyms": ["Wein", "Wine", "plonk", "vino", "wine"]}),
    ]:
        with each(language, told):
            backend = await serve_each(NAMES, language=language)
            metadata = await backend.metadata_for_node(f"{E}a")
            assert {key: metadata[key] for key in told} == told
            assert metadata[f"{E}years"] == [1, 3]


async def test_a_property_without_a_wanted_language_keeps_all_of_its_texts(serve):
    backend = await serve(NAMES)
    metadata = await backend.metadata_for_node(f"{E}a")
    assert metadata[f"{E}about"] == ["ein Getränk", "un breuvage"]
    # ... but a name in a wanted language takes precedence over one without a language.
    assert (await backend.metadata_for_node(f"{E}b"))["name"] == "English"


async def test_a_text_for_all_languages_comes_after_the_wanted_ones(each, serve_each):
    for language in [["en"], ["ja", "en"]]:
        with each(language):
            label = f"<{RDFS}label>"
            names = {
                "c": ["ar", "mul"],
                "d": ["ar", "mul", "en"],
                "e": ["ar", ""],
                "f": ["", "mul"],
            }
            lines = [
                f'<{E}{one}> {label} "Z {tag}"{f"@{tag}" * bool(tag)} .'
                for one, tags in names.items()
                for tag in tags
            ]
            backend = await serve_each("\n".join(lines), language=language)
            found = await backend.metadata_for_nodes_batch([f"{E}{one}" for one in names])
            assert [found[f"{E}{one}"]["name"] for one in names] == ["Z mul", "Z en", "Z ", "Z mul"]
            hits = await backend.search_entities("Z mul")
            assert {f"{E}c", f"{E}f"} <= {stub.id for stub in hits[:3]}


async def test_the_best_description_is_the_description(serve):
    backend = await serve(
        NAMES, description_property=[f"{E}none", f"{E}about"], language=["fr", "de"]
    )
    metadata = await backend.metadata_for_node(f"{E}a")
    assert metadata["description"] == "un breuvage"
    assert metadata[f"{E}about"] == "ein Getränk"


async def test_blank_nodes_are_left_out_and_counted(serve_each):
    backend = await serve_each(
        f"<{E}a> <{E}p> <{E}b> .\n<{E}a> <{E}p> _:x .\n<{E}a> <{E}q> _:x .\n_:y <{E}p> <{E}a> .\n"
    )
    with call.scope() as scope:
        assert set(await backend.edges_batch([f"{E}a"])) == {(f"{E}a", f"{E}p", f"{E}b")}
    told = [(one.id, one.direction, one.at_least) for one in scope.omissions]
    assert sorted(told) == [(f"{E}a", "in", 1), (f"{E}a", "out", 2)]


WALKED = f"""
<{E}a> <{E}p> <{E}b> .
<{E}a> <{E}q> <{E}b> .
<{E}a> <http://other.example/r> <http://other.example/b> .
<{E}a> <{RDF}type> <{E}T> .
<{E}T> <{RDF}type> <{OWL}Class> .
<{E}T> <{RDFS}subClassOf> <{E}S> .
"""


async def test_the_settings_say_which_edges_are_walked(each, serve_each):
    for settings, predicates in [
        ({}, {"p", "q", "r"}),
        ({"exclude_predicate": [f"{E}q"]}, {"p", "r"}),
        ({"only_predicate": [f"{E}q", "http://other.example/r"]}, {"q", "r"}),
        ({"predicate_namespace": [E]}, {"p", "q"}),
        ({"node_namespace": ["http://example.org/"]}, {"p", "q"}),
        ({"node_namespace": ["ex:"], "prefix": {"ex": E}}, {"p", "q"}),
    ]:
        with each(settings, predicates):
            backend = await serve_each(WALKED, **settings)
            ring = await backend.edges_batch([f"{E}a", f"{E}b", "http://other.example/b"])
            assert {edge[1].rpartition("/")[2].removeprefix("ex:") for edge in ring} == predicates


async def test_nodes_of_another_namespace_are_unknown(serve):
    backend = await serve(WALKED, node_namespace=[E])
    assert await backend.get_nodes_batch(["http://other.example/b"]) == []
    assert await backend.edges_batch(["http://other.example/b"]) == []


NODES = f"""
<{E}typed> <{RDF}type> <{E}T> .
<{E}named> <{RDFS}label> "named" .
<{E}from> <{E}p> <{E}to> .
<{E}blank> <{E}p> _:b .
_:b <{E}p> <{E}ofblank> .
"""
CLASSES = f"""
<{E}Drug> <{RDFS}subClassOf> <{E}Chemical> .
<{E}Chemical> <{RDFS}subClassOf> <{E}Substance> .
<{E}a> <{RDF}type> <{E}Drug> .
<{E}a> <{RDF}type> <{E}Chemical> .
<{E}a> <{RDF}type> <{E}Substance> .
<{E}a> <{RDF}type> <{OWL}Thing> .
<{E}b> <{RDF}type> <{E}Z> .
<{E}b> <{RDF}type> <{E}Y> .
"""
KINDS = f"<{E}a> <{RDF}type> <{E}A> .\n<{E}b> <{E}kind> <{E}B> .\n<{E}b> <{E}kind> <{E}B2> ."
THING, CLASS = "owl:Thing", "owl:Class"
TYPES = [
    # A node is what has a property, or an edge that enters it.
    (NODES, {}, {"typed": "T", "named": THING, "from": THING, "to": THING}, {}),
    # The most specific type counts, and the others are reported.
    (
        CLASSES,
        {},
        {"a": "Drug", "b": "Y"},
        {"a": [f"{E}Chemical", f"{E}Substance", THING], "b": [f"{E}Z"]},
    ),
    # Types may be told by several properties.
    (KINDS, {"type_property": [f"{E}kind", "rdf:type"]}, {"a": "A", "b": "B"}, {"b": [f"{E}B2"]}),
    # Classes are nodes, unless the settings leave them out.
    (WALKED, {}, {"a": "T", "b": THING, "T": CLASS, "S": THING}, {}),
    (WALKED, {"ontology": False}, {"a": "T", "b": THING}, {}),
]
"""Graphs and settings, with the types of the nodes, and the types that are not the first."""
NAMED = ("typed", "named", "from", "to", "blank", "ofblank", *"abcpqxBST")


async def test_each_store_has_the_same_nodes_with_the_same_types(each, serve_each):
    for graph, settings, types, others in TYPES:
        with each(settings, types):
            backend = await serve_each(graph, **settings)
            found = await types_of(backend, *NAMED)
            assert found == types
            metadata = await backend.metadata_for_nodes_batch([E + name for name in NAMED])
            assert {E + name for name in found} == metadata.keys()
            told = {key.removeprefix(E): one for key, one in metadata.items()}
            assert others == {n: o["other_types"] for n, o in told.items() if "other_types" in o}
            if graph == KINDS:
                assert await backend.edges_from(f"{E}b") == []


async def test_named_graphs_are_read_as_one(each, sparql_server):
    for graphs in [["1", "2"], ["1"], ["all"]]:
        with each(graphs):
            sparql_server.clear()
            sparql_server.load(f'<{E}a> <{E}p> <{E}b> .\n<{E}a> <{RDFS}label> "a" .', f"{E}g/1")
            sparql_server.load(
                f"<{E}a> <{E}p> <{E}b> .\n<{E}b> <{RDF}type> <{E}T> .\n<{E}b> <{E}p> <{E}c> .",
                f"{E}g/2",
            )
            graph = graphs if graphs == ["all"] else [f"{E}g/{name}" for name in graphs]
            backend = await SparqlBackend.create(sparql_server.query_url, graph=graph)
            try:
                whole = graphs != ["1"]
                ring = await backend.edges_batch([f"{E}a", f"{E}b"])
                edges = {(f"{E}a", f"{E}p", f"{E}b")}
                assert set(ring) == edges | ({(f"{E}b", f"{E}p", f"{E}c")} if whole else set())
                ab = {"a": "owl:Thing", "b": "T" if whole else "owl:Thing"}
                assert await types_of(backend, "a", "b", "c") == ab | (
                    {"c": "owl:Thing"} if whole else {}
                )
                assert await backend.metadata_for_node(f"{E}a") == {"name": "a"}
            finally:
                await backend.close()


async def test_a_cold_answer_takes_few_requests(serve_each, texts_of):
    lines = [f"<{E}n{n}> <{E}p> <{E}n{2 * n}> ." for n in range(1, 400)]
    lines += [f'<{E}n{n}> <{RDFS}label> "n {n}" .' for n in range(1, 800)]
    backend = await serve_each("\n".join(lines))
    texts = texts_of(backend)
    async with bfsql.open_graph(backend) as graph:
        await graph.bfs_query(seeds=[f"{E}n1"], max_hops=3)
        texts.clear()
        await graph.bfs_query(seeds=[f"{E}n3"], max_hops=3)
    assert len(texts) <= 2 * 3 + 6
