"""Partial rings and selected metadata keys: what queries read, and that results are the same."""

from typing import Any

from bfsql.models.parts import only, part_of

E = "http://example.org/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
COMMENT = "http://www.w3.org/2000/01/rdf-schema#comment"
ALIAS = "http://www.w3.org/2004/02/skos/core#altLabel"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
DOUBLE = "http://www.w3.org/2001/XMLSchema#double"


def triple(s, p, o):
    return f"<{E}{s}> <{E}{p}> <{E}{o}> ."


EDGES = [
    triple(f"n{i}", ("p", "q", "hasPart", "partOf")[i * j % 4], f"n{j}")
    for i in range(6)
    for j in range(6)
    if i * j % 5 < 3
]
PROPERTIES = [
    line
    for i in range(6)
    for line in (
        f"<{E}n{i}> <{RDF}type> <{E}{'T' if i % 2 else 'U'}> .",
        f'<{E}n{i}> <{LABEL}> "name {i}" .',
        f'<{E}n{i}> <{ALIAS}> "alias {i}" .',
        f'<{E}n{i}> <{COMMENT}> "about {i}"@en .',
        f'<{E}n{i}> <{E}year> "{1990 + i}"^^<{INTEGER}> .',
    )
]
SAID = [
    line
    for number, certainty in enumerate((0.5, 0.25))
    for line in (
        f"_:s{number} <{RDF}subject> <{E}n1> .",
        f"_:s{number} <{RDF}predicate> <{E}q> .",
        f"_:s{number} <{RDF}object> <{E}n1> .",
        f'_:s{number} <{E}certainty> "{certainty}"^^<{DOUBLE}> .',
        f'_:s{number} <{E}note> "note {number}" .',
    )
]
GRAPH = "\n".join([*EDGES, *PROPERTIES, *SAID])
IDS = [*(f"{E}n{i}" for i in range(6)), f"{E}nobody"]
PREDICATES = (
    None,
    [f"{E}p"],
    [f"{E}q", f"{E}partOf"],
    [f"{E}hasPart"],
    [f"{E}nothing", "no iri <>", "rdf:type", "\ud800"],
    [f"{E}{name}" for name in ("p", "q", "hasPart", "partOf", "nothing")],
    [],
)
KEYS: tuple[set[str], ...] = (
    {"name"},
    {"synonyms", f"{E}year"},
    {"description", "other_types"},
    {"rdfs:comment", "nothing", "no iri <>"},
    set(),
)
EDGE_KEYS: tuple[set[str], ...] = (
    {f"{E}note"},
    {"confidence"},
    {"multiplicity", "confidences", f"{E}note"},
    {"nothing", "graphs", "provenance", "source_documents"},
    set(),
)


async def assert_same(backend):
    """Check that parts are what core would keep of the whole."""
    for asked in ([f"{E}n1"], IDS):
        ring = await backend.edges_batch(asked)
        for predicates in PREDICATES:
            for direction in (None, "out", "in"):
                part: dict[str, Any] = {"predicates": predicates, "direction": direction}
                wanted = set(part_of(ring, asked, predicates, direction))
                assert set(await backend.edges_batch(asked, **part)) == wanted, part
    nodes = await backend.metadata_for_nodes_batch(IDS)
    edges = set(await backend.edges_batch(IDS))
    described = await backend.metadata_for_edges_batch(edges)
    assert any("multiplicity" in known for known in described.values())
    for keys, of_edges in zip(KEYS, EDGE_KEYS, strict=True):
        assert await backend.metadata_for_nodes_batch(IDS, keys) == only(nodes, keys)
        found = await backend.metadata_for_edges_batch(edges, of_edges)
        assert found == only(described, of_edges)


async def test_a_part_is_what_core_would_keep(each, serve_each):
    for inverse in [{}, {f"{E}hasPart": f"{E}partOf"}]:
        with each(inverse):
            await assert_same(
                await serve_each(GRAPH, inverse=inverse, confidence_property=[f"{E}certainty"])
            )


async def test_a_step_reads_only_the_edges_that_it_names(serve, texts_of):
    backend = await serve(GRAPH)
    texts = texts_of(backend)
    assert await backend.edges_batch([f"{E}n1"], predicates=[f"{E}p"], direction="out")
    [text] = texts
    assert f"VALUES ?s {{ <{E}n1> }} ?s <{E}p> ?o ." in text
    assert "?o ?p" not in text
    assert "?s ?p ?o ." not in text
    texts.clear()
    several = [f"{E}{name}" for name in "abcdefg"]
    await backend.edges_batch([f"{E}n1"], predicates=several, direction="in")
    [text] = texts
    assert f"?p IN ({', '.join(f'<{one}>' for one in several)})" in text
    texts.clear()
    unknown = ["> . } DROP ALL #", "rdf:type", "\ud800"]
    assert await backend.edges_batch([f"{E}n1"], predicates=unknown) == []
    assert not any("DROP ALL" in text for text in texts)


async def test_a_part_of_a_hub_is_read_in_windows(serve):
    lines = [triple("hub", "pq"[i % 2], f"n{i}") for i in range(300)]
    backend = await serve("\n".join(lines), page_size=100, batch_size=5)
    found = await backend.edges_batch([f"{E}hub"], predicates=[f"{E}p"], direction="out")
    assert sorted(found) == sorted((f"{E}hub", f"{E}p", f"{E}n{i}") for i in range(0, 300, 2))


async def test_only_the_properties_of_the_keys_are_read(serve, texts_of):
    backend = await serve(GRAPH, confidence_property=[f"{E}certainty"])
    texts = texts_of(backend)
    found = await backend.metadata_for_nodes_batch([f"{E}n1"], [f"{E}year"])
    assert found == {f"{E}n1": {f"{E}year": 1991}}
    [text] = texts
    assert LABEL not in text
    assert f"?p IN (<{E}year>)" in text
    texts.clear()
    edge = (f"{E}n1", f"{E}q", f"{E}n1")
    assert await backend.metadata_for_edges_batch([edge], ["graphs"]) == {edge: {}}
    assert not any("?k" in text for text in texts)
