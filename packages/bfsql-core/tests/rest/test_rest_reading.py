"""Every route that reads: its answers, and that they are JSON-LD."""

import json
from typing import Any
from urllib.parse import quote, urljoin

import httpx2
import pytest
from rdflib import RDF, Graph, Literal, URIRef

from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EntityStub, NodeRecord
from bfsql.models.name_keys import NameKeys

TERM = "urn:bfsql:vocabulary:"

by_rdflib = pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning:rdflib")
"""rdflib's reader of JSON-LD uses functions that rdflib itself deprecates."""


async def read(web: httpx2.AsyncClient, path: str) -> Any:
    answer = await web.get(path)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    kind = "ld+json" if "@context" in document else "json"
    assert answer.headers["content-type"] == f"application/{kind}"
    return document


async def test_an_entity_is_its_metadata_beside_its_identity(web):
    assert await read(web, "/entities/film:1") == {
        "@context": ["../context", {"@base": "../entities/"}],
        "id": "film:1",
        "@type": "Film",
        "name": "Sleepless in Seattle",
        "year": 1993,
    }


async def test_metadata_never_hides_what_belongs_to_the_document(served):
    known = {
        "id": "their own",
        "@type": "T",
        "metadata.x": 1,
        "omissions": "none",
        "relations": 2,
        "metadata": 3,
    }
    web = await served(MemoryBackend([NodeRecord("n", "Thing", known)]))
    document = await read(web, "/entities/n")
    assert (document["id"], document["@type"]) == ("n", "Thing")
    given = {
        key.removeprefix("metadata."): value
        for key, value in document.items()
        if key not in ("@context", "id", "@type")
    }
    assert given == known
    [one] = (await web.post("/entities/batch", json={"ids": ["n"], "metadata": True})).json()[
        "results"
    ]
    declared = {"@base": "../entities/", "relations": {"@type": "@json"}}
    assert {"@context": ["../context", declared], **one} == document


async def test_values_are_cleaned_as_in_answers(served):
    known = {"vector": [0.5] * 100, "gone": None, "text": "a\u202eb\x00", "nan": float("nan")}
    web = await served(MemoryBackend([NodeRecord("n", "Thing", known)]))
    document = await read(web, "/entities/n")
    assert document["vector"] == "[vector: 100 numbers]"
    assert document["text"] == "ab"
    assert document["nan"] == "NaN"
    assert "gone" not in document


@pytest.mark.parametrize(("direction", "count"), [("", 3), ("both", 3), ("in", 3), ("out", 0)])
async def test_relations_are_those_of_the_direction(web, direction, count):
    query = f"?direction={direction}" if direction else ""
    document = await read(web, f"/entities/film:1/relations{query}")
    assert document["id"] == "film:1"
    assert len(document["relations"]) == count
    assert "next" not in document


async def test_pages_of_relations_follow_each_other_to_the_end(served):
    others = [f"o/{number:02} ?" for number in range(25)]
    web = await served(
        MemoryBackend(
            [NodeRecord(i, "Thing") for i in ("hub", *others)]
            + [EdgeRecord("hub", "p", other) for other in others[:12]]
            + [EdgeRecord(other, "p", "hub") for other in others[10:]]
        )
    )
    path, seen, pages = "/entities/hub/relations?limit=5", [], 0
    while path:
        answer = await web.get(path)
        document = answer.json()
        seen += [tuple(edge.values()) for edge in document["relations"]]
        assert len(document["relations"]) <= 5
        assert answer.links.get("next", {}).get("url") == document.get("next")
        path = urljoin(path, document["next"]) if "next" in document else ""
        pages += 1
    everything = (await read(web, "/entities/hub/relations"))["relations"]
    assert seen == [tuple(edge.values()) for edge in everything] == sorted(seen)
    assert (len(seen), pages) == (27, 6)


async def test_a_page_of_all_there_is_has_no_next(web):
    assert "next" not in await read(web, "/entities/film:1/relations?limit=3")


async def test_evidence_is_what_the_backend_gives(web):
    document = await read(web, "/entities/film:1/provenance?limit=5")
    assert document["total"] == 1
    assert document["items"][0]["text_span"] == "They met."
    assert document["items"][0]["subject"] == "person:1"


async def test_a_search_gives_hits_without_nulls(web):
    document = await read(web, "/entities?q=tom")
    assert document["results"] == [
        {"id": "person:1", "@type": "Person", "name": "Tom Hanks", "match": "prefix"}
    ]


async def test_a_search_gives_as_many_hits_as_it_is_asked_for(served):
    class Vectors(MemoryBackend):
        async def search_entities(self, query, node_types=None):
            return [
                EntityStub("a", "T", None, 0.75),
                EntityStub("b", "T", "B", float("nan")),
                EntityStub("c", "T", "C", 0.5),
            ]

    web = await served(Vectors([]))
    hits = (await read(web, "/entities?q=x&limit=2"))["results"]
    assert hits == [
        {"id": "a", "@type": "T", "match": "meaning", "score": 0.75},
        {"id": "b", "@type": "T", "name": "B", "match": "meaning"},
    ]


async def test_hits_say_how_they_match_and_what_tells_namesakes_apart(served):
    people = [NodeRecord(f"p:{n}", "Person", {"name": "Tom Hanks"}) for n in (1, 2)]
    others = [NodeRecord("f:1", "Film", {"name": "Big"}), NodeRecord("f:2", "Film", {"name": "Io"})]
    acted = [EdgeRecord(f"p:{n}", "ACTED_IN", f"f:{n}") for n in (1, 2)]
    web = await served(MemoryBackend([*people, *others, *acted]))
    results = (await read(web, "/entities?q=Tom%20Hnaks"))["results"]
    assert results == [
        {"id": f"p:{n}", "@type": "Person", "name": "Tom Hanks", "match": "similar"}
        | {"context": [f"ACTED_IN {film}"]}
        for n, film in ((1, "Big"), (2, "Io"))
    ]
    assert (await read(web, "/entities?q=aspirin"))["results"] == []


async def test_types_are_repeated_or_joined_by_commas(served):
    kinds = ("A", "B", "C,D")
    web = await served(MemoryBackend([NodeRecord(k, k, {"name": "same"}) for k in kinds]))
    for query, types in {
        "types=A": {"A"},
        "types=A&types=B": {"A", "B"},
        "types=B%2C%20A": {"A", "B"},
        "types=C%2CD&types=A,B": {"A", "B", "C,D"},
        "types=": {"A", "B", "C,D"},
        "types=E": set(),
    }.items():
        found = (await read(web, f"/entities?q=same&{query}"))["results"]
        assert {hit["@type"] for hit in found} == types, query


async def test_a_relation_has_its_metadata_evidence_and_all(web):
    query = "subject=person:1&predicate=ACTED_IN&object=film:1"
    document = await read(web, f"/relations?{query}")
    assert document["metadata"]["confidence"] == 0.9
    assert document["metadata"]["provenance"][0]["document_id"] == "doc:1"


async def test_the_schema_says_where_batches_are_taken(web):
    document = await read(web, "/schema")
    assert document["entity_types"] == ["Film", "Person"]
    assert document["predicates"] == ["ACTED_IN", "DIRECTED"]
    assert document["comprehensive"] is True
    assert document["node_counts"] == {"Film": 2, "Person": 3}
    assert document["description"] == "Films"
    assert document["batch"] == {
        "entities": "/entities/batch",
        "relations": "/relations/batch",
        "limit": 10_000,
        "max_bytes": 1_000_000,
        "parts": True,
    }


async def test_a_part_of_a_ring_and_some_keys_are_given_as_asked(web):
    ids = ["film:1", "film:2", "person:1"]
    ring = (await web.post("/relations/batch", json={"ids": ids})).json()["relations"]
    for direction in ("out", "in", "both"):
        for predicates in (["DIRECTED"], ["ACTED_IN", "nothing"], [], None):
            part = {"direction": direction, "predicates": predicates}
            found = (await web.post("/relations/batch", json={"ids": ids, **part})).json()
            assert found["relations"] == [
                [s, p, o]
                for s, p, o in ring
                if (predicates is None or p in predicates)
                and (direction == "both" or (s if direction == "out" else o) in ids)
            ]
    path = "/entities/film:2/relations?limit=1&direction=in&predicates=DIRECTED&predicates=ACTED_IN"
    pages = [await read(web, path)]
    while "next" in pages[-1]:
        pages.append(await read(web, f"/entities/film:2/relations{pages[-1]['next']}"))
    assert [list(edge.values()) for page in pages for edge in page["relations"]] == [
        [s, p, o] for s, p, o in ring if o == "film:2"
    ]
    whole = await read(web, "/entities/film:1")
    assert await read(web, "/entities/film:1?keys=name&keys=nothing") == {
        key: whole[key] for key in ("@context", "id", "@type", "name")
    }
    asked = {"ids": ["film:1"], "metadata": True, "keys": ["name"]}
    [known] = (await web.post("/entities/batch", json=asked)).json()["results"]
    assert known == {"id": "film:1", "@type": "Film", "name": whole["name"]}
    edge = ring[0]
    query = "&".join(
        f"{name}={quote(part)}"
        for name, part in zip(("subject", "predicate", "object"), edge, strict=True)
    )
    assert (await read(web, f"/relations?{query}&keys=nothing"))["metadata"] == {}
    asked = {"relations": [edge], "keys": ["nothing"]}
    [known] = (await web.post("/relations/batch", json=asked)).json()["results"]
    assert known["metadata"] == {}


@pytest.mark.parametrize(
    ("path", "body", "argument"),
    [
        ("/relations/batch", {"ids": ["a"], "direction": "up"}, "direction"),
        ("/relations/batch", {"ids": ["a"], "predicates": "p"}, "predicates"),
        ("/relations/batch", {"relations": [["a", "b", "c"]], "keys": [1]}, "keys"),
        ("/relations/batch", {"relations": [["a", "b", "c"]], "direction": "in"}, None),
        ("/relations/batch", {"keys": ["a"]}, None),
        ("/entities/batch", {"ids": ["a"], "keys": {}}, "keys"),
    ],
)
async def test_a_part_that_is_wrong_is_named(web, path, body, argument):
    answer = await web.post(path, json=body)
    assert answer.status_code == 400
    assert answer.json().get("argument") == argument


async def test_batches_leave_out_what_there_is_not(web):
    ids = ["film:1", "nobody", "person:3", "film:1"]
    plain = (await web.post("/entities/batch", json={"ids": ids})).json()["results"]
    assert plain == [{"id": "film:1", "@type": "Film"}, {"id": "person:3", "@type": "Person"}]
    full = (await web.post("/entities/batch", json={"ids": ids, "metadata": True})).json()
    assert [one["name"] for one in full["results"]] == ["Sleepless in Seattle", "Nora Ephron"]
    ring = (await web.post("/relations/batch", json={"ids": ["film:2", "nobody"]})).json()
    assert ring == {
        "relations": [["person:1", "ACTED_IN", "film:2"], ["person:2", "ACTED_IN", "film:2"]]
    }
    asked = [["person:1", "ACTED_IN", "film:1"], ["film:1", "ACTED_IN", "person:1"]]
    [known] = (await web.post("/relations/batch", json={"relations": asked})).json()["results"]
    assert known["metadata"]["confidence"] == 0.9


async def test_a_tool_gives_the_same_bytes_as_anywhere(web):
    answer = await web.post("/tools/bfs_query", json={"seeds": ["film:2"], "max_hops": 1})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["node_count"] == 3
    listed = await web.post("/tools/describe_entities", json={"ids": ["film:2", "nobody"]})
    assert listed.json()["result"][0]["name"] == "You've Got Mail"
    assert "nobody" in listed.json()["notes"][0]
    assert (await web.post("/tools/describe_schema")).json()["graph_description"] == "Films"


ODD = [
    *("a/b", "a?b=c", "a#b", "a%2Fb", "%", "..", ".", "../schema", " two  words ", "Größe/中/🎬"),
    *("e\u0301", "http://example.org/a?b#c", "a;b=c", "a+b&c", "batch", 'quote"\\'),
    *("tab\tand\nline", ""),
]


async def test_an_id_may_hold_anything(served):
    nodes = [NodeRecord(odd, "Thing", {"name": f"odd {odd}"}) for odd in ODD]
    web = await served(MemoryBackend([*nodes, *(EdgeRecord(odd, odd, odd) for odd in ODD)]))
    for odd in ODD:
        path = f"/entities/{quote(odd, safe='').replace('.', '%2E')}"
        document = await read(web, path)
        assert (document["id"], document["name"]) == (odd, nodes[ODD.index(odd)].metadata["name"])
        relation = {"subject": odd, "predicate": odd, "object": odd}
        assert (await read(web, f"{path}/relations"))["relations"] == [relation]
        assert (await read(web, f"{path}/provenance"))["items"] == []
        alone = (await web.get("/relations", params=relation)).json()
        assert {**relation, "metadata": {}, "@context": alone["@context"]} == alone
        batch = await web.post("/entities/batch", json={"ids": [odd]})
        assert batch.json()["results"] == [{"id": odd, "@type": "Thing"}]


async def as_rdf(web: httpx2.AsyncClient, path: str) -> Graph:
    """The document as rdflib reads it, with the context embedded."""
    base = "http://graph.example"
    document = await read(web, path)
    references = document["@context"]
    first = references[0] if isinstance(references, list) else references
    assert urljoin(f"{base}{path}", first) == f"{base}/context"
    context = (await read(web, "/context"))["@context"]
    document["@context"] = [context, *(references[1:] if isinstance(references, list) else ())]
    return Graph().parse(data=json.dumps(document), format="json-ld", publicID=f"{base}{path}")


@by_rdflib
async def test_an_entity_is_triples_of_its_metadata(web):
    triples = set(await as_rdf(web, "/entities/film:1"))
    film = URIRef("film:1")
    assert triples == {
        (film, RDF.type, URIRef(f"{TERM}Film")),
        (film, URIRef(f"{TERM}name"), Literal("Sleepless in Seattle")),
        (film, URIRef(f"{TERM}year"), Literal(1993)),
    }


@by_rdflib
async def test_relations_are_statements(web):
    graph = await as_rdf(web, "/entities/person:3/relations")
    [statement] = graph.subjects(RDF.predicate)
    parts = dict(graph.predicate_objects(statement))
    assert parts == {
        RDF.subject: URIRef("person:3"),
        RDF.predicate: URIRef(f"{TERM}DIRECTED"),
        RDF.object: URIRef("film:1"),
    }
    assert (URIRef("person:3"), URIRef(f"{TERM}relations"), statement) in graph


@by_rdflib
async def test_a_relation_alone_is_a_statement_too(web):
    path = "/relations?subject=person:1&predicate=ACTED_IN&object=film:1"
    graph = await as_rdf(web, path)
    [statement] = graph.subjects(RDF.subject, URIRef("person:1"))
    assert graph.value(statement, RDF.predicate) == URIRef(f"{TERM}ACTED_IN")
    assert graph.value(statement, RDF.object) == URIRef("film:1")
    metadata = graph.value(statement, URIRef(f"{TERM}metadata"))
    assert json.loads(str(metadata)) == (await read(web, path))["metadata"]


async def test_what_is_about_no_entity_is_plain_json(web):
    for path in ("/schema", "/entities/film:1/provenance"):
        assert "@context" not in await read(web, path)
    for path, asked in (("/entities/batch", {"ids": []}), ("/relations/batch", {"ids": []})):
        answer = await web.post(path, json=asked)
        assert answer.headers["content-type"] == "application/json"
        assert list(answer.json().values()) == [[]]


@by_rdflib
@pytest.mark.parametrize("odd", ["a/b", "?q", "#f", "", "ä"])
async def test_an_id_that_is_no_iri_is_one_iri_in_every_document(served, odd):
    web = await served(
        MemoryBackend([NodeRecord(odd, "Thing", {"name": odd}), EdgeRecord(odd, "of", odd)])
    )
    path = f"/entities/{quote(odd, safe='')}"
    iri = URIRef(f"http://graph.example/entities/{odd}")
    assert (iri, RDF.type, URIRef(f"{TERM}Thing")) in await as_rdf(web, path)
    relations = await as_rdf(web, f"{path}/relations")
    assert set(relations.objects(None, RDF.object)) == {iri}
    assert set(relations.subjects(URIRef(f"{TERM}relations"))) == {iri}
    found = await as_rdf(web, f"/entities?q={quote(odd)}")
    assert set(found.subjects(RDF.type)) == ({iri} if odd else set())


@by_rdflib
async def test_odd_names_and_values_are_json_ld_all_the_same(served):
    known = {"@id": 5, "who": {"id": 7, "@type": [1]}, "list": [[1], [{"@value": {}}]], "a b": "c"}
    web = await served(
        MemoryBackend(
            [
                NodeRecord("http://example.org/n", "Odd Type", known),
                EdgeRecord("http://example.org/n", "part of", "http://example.org/n"),
            ]
        )
    )
    path = f"/entities/{quote('http://example.org/n', safe='')}"
    graph = await as_rdf(web, path)
    node = URIRef("http://example.org/n")
    assert (node, RDF.type, URIRef(f"{TERM}Odd%20Type")) in graph
    [who] = graph.objects(node, URIRef(f"{TERM}who"))
    assert isinstance(who, Literal)
    assert json.loads(who) == {"id": 7, "@type": [1]}
    relations = await as_rdf(web, f"{path}/relations")
    assert URIRef(f"{TERM}part%20of") in set(relations.objects())


@pytest.mark.parametrize(
    "path",
    ["/schema", "/context", "/entities?q=tom", "/entities/film:1", "/entities/film:1/relations"],
)
async def test_head_is_get_without_the_body(web, path):
    whole, head = await web.get(path), await web.head(path)
    assert head.content == b""
    for name in ("etag", "cache-control", "content-length", "content-type"):
        assert head.headers[name] == whole.headers[name]


async def test_who_has_the_bytes_already_is_told_so(web):
    whole = await web.get("/entities/film:1")
    tag = whole.headers["etag"]
    assert whole.headers["cache-control"] == "public, max-age=60"
    for given in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        same = await web.get("/entities/film:1", headers={"If-None-Match": given})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    other = await web.get("/entities/film:2", headers={"If-None-Match": tag})
    assert other.status_code == 200
    assert other.headers["etag"] != tag
    batch = await web.post("/entities/batch", json={"ids": []}, headers={"If-None-Match": "*"})
    assert (batch.status_code, batch.headers["cache-control"]) == (200, "no-store")


async def test_entities_are_listed_by_type_and_conditions_in_pages(web):
    document = await read(web, "/entities?type=Film&where=name~e&limit=1")
    assert document["count"] == 2
    seen = [*document["results"]]
    while following := document.get("next"):
        document = await read(web, urljoin("/entities", following))
        seen += document["results"]
    assert seen == [{"id": "film:1", "@type": "Film"}, {"id": "film:2", "@type": "Film"}]
    alone = await read(web, "/entities?where=year%3D1993")
    assert alone["results"] == [{"id": "film:1", "@type": "Film"}]
    assert (await read(web, "/entities?limit=1"))["count"] == 5
    none = await read(web, "/entities?type=Film&where=year%3D1800")
    assert (none["count"], none["results"]) == (0, [])
    assert none["notes"][0].startswith('Nothing matches "Film[year=1800]".')


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("q=x&where=year%3D1", "type, where and after are for a list of entities"),
        ("type=Flim", 'this graph has no type "Flim". The nearest: Film'),
        ("type=Film&where=year%3D", "has no value after ="),
        ("type=Film&limit=0", "limit must be a whole number from 1 to 10000"),
        ("type=Film&offset=1", "A search has no parameter"),
        ("type=Film&where=year%5D%20x", "is not one condition"),
    ],
)
async def test_what_cannot_be_listed_is_one_sentence(web, query, message):
    answer = await web.get(f"/entities?{query}")
    assert answer.status_code == 400
    assert message in answer.json()["detail"]


async def test_a_page_begins_behind_an_id_even_if_it_is_gone(web):
    for after, first in (
        ("", "film:1"),
        ("film:1", "film:2"),
        ("film:1x", "film:2"),
        ("film", "film:1"),
    ):
        document = await read(web, f"/entities?limit=1&after={after}")
        assert (document["count"], document["results"][0]["id"]) == (5, first)
    assert (await read(web, "/entities?after=z"))["results"] == []
    assert (await read(web, "/schema"))["entities"] == "/entities"


async def test_types_are_listed_exactly_however_they_are_called(served):
    types = ["A|B", "T[x=1]", "a,b", "T:*", '"', "film", "Film"]
    web = await served(MemoryBackend([NodeRecord(f"n:{t}", t) for t in types]))
    for name in types:
        document = await read(web, f"/entities?type={quote(name)}")
        assert document["results"] == [{"id": f"n:{name}", "@type": name}]
    assert (await read(web, "/entities?type=Film&type=film"))["count"] == 2
    assert (await read(web, "/entities?types=Film,film"))["count"] == 2


async def test_the_key_of_a_name_selects_and_shows_it(served):
    class Store(MemoryBackend):
        def name_keys(self) -> NameKeys:
            return NameKeys([("Film", "title")], [("Book", "title")])

    film, book = NodeRecord("f", "Film", {"name": "F1"}), NodeRecord("b", "Book", {"title": "F1"})
    web = await served(Store([film, book]))
    assert (await read(web, "/entities/f?keys=title"))["name"] == "F1"
    for kind, wanted in (("type=Film&", ["f"]), ("type=Book&", ["b"]), ("", ["b"])):
        page = await read(web, f"/entities?{kind}where=title%3DF1")
        assert [one["id"] for one in page["results"]] == wanted
    batch = {"ids": ["f"], "metadata": True, "keys": ["title"]}
    answer = await web.post("/entities/batch", json=batch)
    assert [one["name"] for one in answer.json()["results"]] == ["F1"]
