"""JSON-LD in all its forms: the same graph as rdflib reads from the documents."""

import json
from typing import Any

import pytest
import rdflib
from rdflib.plugins.parsers.jsonld import to_rdf

from bfsql.errors import StoreError
from bfsql.memory import MemoryBackend
from bfsql.models import Refusal
from bfsql.models.rdf import Prefixes
from bfsql.sources import read_all
from bfsql.sources.options import SourceOptions

EX = "http://ex.test/"
PREFIXES = {"ex": EX, "ex2": "http://ex2.test/"}
CONTEXT: dict[str, Any] = {
    "ex": EX,
    "name": "http://schema.org/name",
    "knows": {"@id": "ex:knows", "@type": "@id"},
    "born": {"@id": "ex:born", "@type": "http://www.w3.org/2001/XMLSchema#date"},
    "childOf": {"@reverse": "ex:parentOf", "@type": "@id"},
    "label": {"@id": "http://www.w3.org/2000/01/rdf-schema#label", "@container": "@language"},
    "tags": {"@id": "ex:tag", "@container": "@set"},
    "posts": {"@id": "ex:post", "@container": "@index"},
    "byId": {"@id": "ex:friend", "@container": "@id"},
}
FORMS: dict[str, Any] = {
    "compact": {
        "@context": CONTEXT,
        "@id": "ex:a",
        "@type": "ex:Person",
        "name": "Ada",
        "born": "1815-12-10",
        "knows": ["ex:b", "ex:c"],
    },
    "expanded": [
        {
            "@id": f"{EX}a",
            "@type": [f"{EX}Person", f"{EX}Poet"],
            f"{EX}knows": [{"@id": f"{EX}b"}],
            "http://schema.org/name": [{"@value": "Ada L", "@language": "en"}, {"@value": "Ada"}],
            f"{EX}age": [{"@value": 36}],
        }
    ],
    "flattened": {
        "@context": CONTEXT,
        "@graph": [
            {"@id": "ex:a", "@type": "ex:Person", "knows": "ex:b"},
            {"@id": "ex:b", "@type": "ex:Person", "name": "Ben"},
        ],
    },
    "nested": {
        "@context": CONTEXT,
        "@id": "ex:a",
        "@type": "ex:Person",
        "ex:spouse": {
            "@id": "ex:b",
            "@type": "ex:Person",
            "name": "Ben",
            "ex:employer": {"@id": "ex:c", "@type": "ex:Firm"},
        },
    },
    "reverse": {
        "@context": CONTEXT,
        "@id": "ex:a",
        "@type": "ex:Person",
        "childOf": [{"@id": "ex:mum", "@type": "ex:Person"}, "ex:dad"],
        "@reverse": {"ex:likes": {"@id": "ex:cat"}},
    },
    "languages": {
        "@context": CONTEXT,
        "@id": "ex:a",
        "label": {"en": ["Ada", "Lady Ada"], "fr": "Ada (fr)"},
        "ex:motto": {"@value": "Hallo", "@language": "de"},
    },
    "containers": {
        "@context": CONTEXT,
        "@id": "ex:a",
        "tags": ["one", "two"],
        "posts": {"first": {"@id": "ex:p1"}, "second": {"@id": "ex:p2"}},
        "byId": {"ex:b": {"name": "Ben"}, "ex:c": {"name": "Cy"}},
    },
    "aliases": {
        "@context": {"id": "@id", "type": "@type", "@vocab": EX, "@base": EX},
        "id": "a",
        "type": "Person",
        "weight": 4.5,
        "alive": False,
        "knows": {"id": "b"},
    },
    "scoped": {
        "@context": {
            "@version": 1.1,
            "@vocab": EX,
            "Person": {"@id": "ex2:Person", "@context": {"pal": {"@id": "knows", "@type": "@id"}}},
            "ex2": "http://ex2.test/",
        },
        "@id": f"{EX}a",
        "@type": "Person",
        "pal": f"{EX}b",
    },
    "named graphs": {
        "@context": CONTEXT,
        "@id": "ex:g",
        "@graph": [{"@id": "ex:a", "knows": {"@id": "ex:b"}}, {"@id": "ex:b", "name": "Ben"}],
    },
    "included": {
        "@context": {"@version": 1.1, **CONTEXT},
        "@id": "ex:a",
        "knows": "ex:b",
        "@included": [{"@id": "ex:b", "@type": "ex:Person"}],
    },
    "@nest": {
        "@context": {"@version": 1.1, **CONTEXT, "more": "@nest"},
        "@id": "ex:a",
        "more": {"name": "Ada", "knows": "ex:b"},
    },
    "@nest by its term": {
        "@context": {
            "@version": 1.1,
            **CONTEXT,
            "labels": "@nest",
            "main": {"@id": "ex:main", "@nest": "labels"},
        },
        "@id": "ex:a",
        "labels": {"main": "Ada", "name": "Ada L"},
    },
    "container of types": {
        "@context": {
            "@version": 1.1,
            "ex": EX,
            "byType": {"@id": "ex:friend", "@container": "@type"},
        },
        "@id": "ex:a",
        "byType": {"ex:Person": {"@id": "ex:b"}, "ex:Cat": {"@id": "ex:d"}},
    },
    "property-valued index": {
        "@context": {
            "@version": 1.1,
            **CONTEXT,
            "works": {"@id": "ex:work", "@container": "@index", "@index": "ex:genre"},
        },
        "@id": "ex:a",
        "works": {"notes": {"@id": "ex:w1"}, "letters": {"@id": "ex:w2"}},
    },
    "type-scoped context that does not propagate": {
        "@context": {
            "@version": 1.1,
            "@vocab": EX,
            "Person": {"@context": {"likes": "http://ex2.test/likes"}},
        },
        "@id": f"{EX}a",
        "@type": "Person",
        "likes": {"@id": f"{EX}b", "likes": {"@id": f"{EX}c"}},
    },
    "property-scoped context": {
        "@context": {
            "@version": 1.1,
            "@vocab": EX,
            "works": {"@context": {"@vocab": "http://ex2.test/"}},
        },
        "@id": f"{EX}a",
        "works": {"@id": f"{EX}b", "title": "Notes"},
        "title": "Countess",
    },
    "protected terms": {
        "@context": [
            {"@version": 1.1, "@protected": True, "ex": EX, "name": "http://schema.org/name"},
            {"other": "ex:other"},
        ],
        "@id": "ex:a",
        "name": "Ada",
        "other": {"@id": "ex:b"},
    },
    "vocabulary-mapped values": {
        "@context": {
            "@vocab": EX,
            "state": {"@type": "@vocab"},
            "knows": {"@type": "@id"},
            "@base": EX,
        },
        "@id": "a",
        "state": "Active",
        "knows": ["b", "./c", "../d", "#e", "?f"],
    },
    "language maps of one language": {
        "@context": {"@language": "en", **CONTEXT, "plain": {"@id": "ex:plain", "@language": None}},
        "@id": "ex:a",
        "name": "Ada",
        "plain": "no language",
        "label": {"@none": "Ada", "de": "Ada (de)"},
    },
    "reverse in reverse": {
        "@context": CONTEXT,
        "@graph": [
            {
                "@id": "ex:a",
                "name": "Ada",
                "@reverse": {"ex:knows": [{"@id": "ex:b", "childOf": "ex:c"}]},
            },
            {"@id": "ex:b", "@type": ["ex:Person", "ex:Poet"]},
        ],
    },
    "values and their types": {
        "@context": {
            **CONTEXT,
            "xsd": "http://www.w3.org/2001/XMLSchema#",
            "when": {"@id": "ex:when", "@type": "xsd:dateTime"},
        },
        "@id": "ex:a",
        "when": "2026-01-01T00:00:00+00:00",
        "ex:count": 7,
        "ex:ratio": 0.25,
        "ex:yes": True,
        "ex:nothing": None,
        "ex:typed": {"@value": "12", "@type": "xsd:integer"},
        "ex:set": {"@set": ["x", "y"]},
    },
    "a list of documents": [
        {"@context": CONTEXT, "@id": "ex:a", "knows": "ex:b"},
        {"@context": {"@vocab": "http://ex2.test/"}, "@id": f"{EX}b", "name": "Ben"},
    ],
    "no term, no statement": {
        "@context": {"name": "http://schema.org/name", "hidden": None},
        "@id": f"{EX}a",
        "name": "Ada",
        "hidden": "x",
        "unknown": {"@id": f"{EX}b"},
    },
}
"""Based on the W3C test suite for JSON-LD 1.1: expansion, flattening, conversion to RDF."""


async def described(opened, pages, document, **settings):
    """The id of `ex:a` in a document, and the contents of the document."""
    pages["/doc"] = document
    backend = await opened(entity_path="/doc", relations="document", reading="json-ld", **settings)
    return await backend._source._document("http://ex.test/a")


async def test_a_document_is_the_graph_that_rdflib_reads(each, opened, pages, tmp_path):
    for form, document in FORMS.items():
        with each(form):
            _, found = await described(opened, pages, document, prefixes=PREFIXES)
            statements = to_rdf(document, rdflib.Graph(), base=EX)
            short = Prefixes(PREFIXES).short
            assert sorted(found.edges) == sorted(
                (short(str(s)), short(str(p)), short(str(o)))
                for s, p, o in statements.triples((None, None, None))
                if isinstance(o, rdflib.URIRef) and p != rdflib.RDF.type
            )
            path = tmp_path / "document.jsonld"  # the same by `bfsql load`, which uses rdflib
            path.write_text(json.dumps(document))
            options = SourceOptions(prefixes=PREFIXES)
            memory = MemoryBackend(
                r for r in read_all([path], options) if not isinstance(r, Refusal)
            )
            assert found.nodes
            for entity_id, (entity_type, metadata) in found.nodes.items():
                assert (await memory.get_node(entity_id)).entity_type == entity_type
                assert await memory.metadata_for_node(entity_id) == metadata


async def test_containers_of_two_kinds_are_read_where_rdflib_does_not(each, opened, pages):
    for container, value in [
        (["@id", "@set"], {"ex:b": [{"name": "Ben"}], "ex:c": [{}]}),
        (["@type", "@set"], {"ex:Person": ["ex:b", {"@id": "ex:c"}]}),
        (["@graph", "@id"], {"ex:g1": {"@id": "ex:b"}}),
        (["@index", "@set"], {"first": [{"@id": "ex:b"}], "@none": ["ex:c"]}),
        (["@graph", "@index"], {"one": {"@id": "ex:b", "knows": "ex:c"}}),
    ]:
        with each(container, value):
            context = {"@version": 1.1, **CONTEXT, "pals": {"@id": "ex:pal", "@type": "@id"}}
            context["pals"]["@container"] = container
            document = {"@context": context, "@id": "ex:a", "pals": value}
            _, found = await described(opened, pages, document, prefixes=PREFIXES)
            due = {
                "@set": {("ex:a", "ex:pal", "ex:b"), ("ex:a", "ex:pal", "ex:c")},
                "@id": {("ex:a", "ex:pal", "ex:g1")},
                "@index": {("ex:b", "ex:knows", "ex:c")},
            }
            assert set(found.edges) == due[container[1]]


async def test_who_is_only_pointed_to_is_there_if_the_document_is_about_it(opened, pages):
    document = {"@context": CONTEXT, "@id": "ex:a", "@reverse": {"ex:knows": {"@id": "ex:b"}}}
    known, found = await described(opened, pages, document)
    assert found.nodes[known] == ("owl:Thing", {})
    assert set(found.edges) == {(f"{EX}b", f"{EX}knows", known)}


async def test_short_ids_are_made_by_the_prefix_map(opened, pages):
    pages["/doc"] = FORMS["compact"]
    backend = await opened(
        entity_path="/doc", relations="document", reading="json-ld", prefixes={"ex": EX}
    )
    assert (await backend.get_node("ex:a"))[:2] == ("ex:a", "ex:Person")
    assert (await backend.get_node(f"{EX}a")).id == "ex:a"
    assert await backend.edges_from("ex:a") == [
        ("ex:a", "ex:knows", "ex:b"),
        ("ex:a", "ex:knows", "ex:c"),
    ]
    assert await backend.metadata_for_node("ex:a") == {"name": "Ada", "ex:born": "1815-12-10"}


async def test_a_node_without_an_iri_is_a_value_and_a_list_keeps_its_order(opened, pages):
    document = {
        "@context": {"@vocab": EX, "seq": {"@id": f"{EX}seq", "@container": "@list"}},
        "@id": f"{EX}a",
        "address": {"@type": "Address", "city": "Paris", "of": {"@id": f"{EX}b"}},
        "seq": ["z", "a", "z"],
        "friends": {"@list": [{"@id": f"{EX}b"}, {"@id": f"{EX}c"}]},
    }
    known, found = await described(opened, pages, document)
    assert found.nodes[known][1] == {
        f"{EX}address": {"type": f"{EX}Address", f"{EX}city": "Paris", f"{EX}of": f"{EX}b"},
        f"{EX}seq": ["z", "a", "z"],
    }
    assert set(found.edges) == {(known, f"{EX}friends", f"{EX}{end}") for end in "bc"}


async def test_only_texts_in_the_wanted_languages_are_kept(opened, pages):
    _, found = await described(opened, pages, FORMS["languages"], languages=["fr"])
    assert found.nodes["http://ex.test/a"][1] == {"name": "Ada (fr)"}


async def test_the_name_is_in_the_wanted_language_or_in_english(each, opened, pages):
    for languages, name in [([], "price"), (["de"], "Preis")]:
        with each(languages, name):
            document = {"@context": CONTEXT, "@id": "ex:a", "label": {"de": "Preis", "en": "price"}}
            _, found = await described(opened, pages, document, languages=languages)
            metadata = found.nodes["http://ex.test/a"][1]
            assert metadata == {"name": name} | ({} if languages else {"synonyms": ["Preis"]})


async def test_a_context_by_url_of_the_api_is_fetched_once(opened, pages):
    pages["/context.jsonld"] = {"@context": CONTEXT}
    document = {**FORMS["compact"], "@context": "/context.jsonld"}
    pages["/doc"] = document
    backend = await opened(entity_path="/doc", relations="document", reading="json-ld")
    for _ in range(2):
        assert len(await backend.edges_from(f"{EX}a")) == 2
    assert pages.targets == ["/doc", "/context.jsonld", "/doc"]


async def test_a_context_in_a_link_header_is_for_plain_json(opened, pages):
    link = '<ctx>; rel="http://www.w3.org/ns/json-ld#context"; type="application/ld+json"'
    pages["/ctx"] = {"@context": {**CONTEXT, "id": "@id"}}
    pages["/doc"] = (200, {"link": link}, {"id": "ex:a", "knows": "ex:b"})
    backend = await opened(entity_path="/doc", relations="document", reading="json-ld")
    assert await backend.edges_from(f"{EX}a") == [(f"{EX}a", f"{EX}knows", f"{EX}b")]


async def test_a_file_stands_for_a_context_elsewhere(opened, pages, tmp_path):
    path = tmp_path / "context.json"
    path.write_text(json.dumps({"@context": CONTEXT}))
    pages["/doc"] = {**FORMS["compact"], "@context": "https://nowhere.test/context"}
    backend = await opened(
        entity_path="/doc",
        relations="document",
        reading="json-ld",
        context_files={"https://nowhere.test/context": str(path)},
    )
    assert len(await backend.edges_from(f"{EX}a")) == 2


async def test_contexts_that_need_contexts_are_fetched_to_a_bound(opened, pages):
    for number in range(6):
        pages[f"/c{number}"] = {"@context": [f"/c{number + 1}", {}]}
    pages["/doc"] = {"@context": "/c0", "@id": f"{EX}a"}
    backend = await opened(
        entity_path="/doc", relations="document", reading="json-ld", max_contexts=4
    )
    with pytest.raises(StoreError, match="more than 4 contexts"):
        await backend.get_node(f"{EX}a")


async def test_routes_may_answer_in_json_ld_without_the_fields_of_a_web_api(opened, pages):
    pages["/entities/ex%3Aa"] = {"@context": CONTEXT, "@graph": [FORMS["compact"]]}
    pages["/entities/ex%3Aa/relations?direction=out"] = [FORMS["compact"], FORMS["nested"]]
    pages["/entities/ex%3Aa/relations?direction=in"] = FORMS["reverse"]
    pages["/entities?q=ada&limit=20"] = FORMS["flattened"]
    backend = await opened(prefixes={"ex": EX})
    assert (await backend.get_node("ex:a"))[:2] == ("ex:a", "ex:Person")
    assert {edge[2] for edge in await backend.edges_from("ex:a")} == {"ex:b", "ex:c"}
    assert {edge[0] for edge in await backend.edges_to("ex:a")} == {"ex:mum", "ex:dad", "ex:cat"}
    hits = await backend.search_entities("ada")
    assert [(hit.id, hit.name) for hit in hits] == [("ex:a", None), ("ex:b", "Ben")]
