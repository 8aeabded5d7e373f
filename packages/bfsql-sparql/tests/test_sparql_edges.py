"""Edges, also of hubs, and their metadata in each form in which a store may keep it."""

import pytest

import bfsql
from bfsql import call
from bfsql.models import Edge, Omission
from bfsql_sparql.backend import SparqlBackend
from bfsql_test_support.servers.sparql import SparqlServer

E = "http://example.org/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
PROV = "http://www.w3.org/ns/prov#"
DOUBLE = "http://www.w3.org/2001/XMLSchema#double"
EDGES = [(f"{E}a", f"{E}p", f"{E}b"), (f"{E}a", f"{E}p", f"{E}c"), (f"{E}a", f"{E}q", f"{E}b")]
PLAIN = "\n".join(f"<{s}> <{p}> <{o}> ." for s, p, o in EDGES)


def reified(name, edge, *said):
    """A reified edge, with statements about it."""
    parts = [f"{RDF}{one}" for one in ("subject", "predicate", "object")]
    lines = [f"{name} <{part}> <{end}> ." for part, end in zip(parts, edge, strict=True)]
    return "\n".join([*lines, *(f"{name} {one} ." for one in said)])


STATEMENTS = "\n".join(
    [
        PLAIN,
        reified(
            "_:s1",
            EDGES[0],
            f'<{E}certainty> "0.75"^^<{DOUBLE}>',
            f'<{E}note> "one"',
            f'<{E}note> "two"',
            f"<{PROV}wasDerivedFrom> <{E}doc2>",
            f"<{PROV}wasDerivedFrom> <{E}doc1>",
            f"<{E}by> <{E}curator>",
            f"<{RDF}type> <{RDF}Statement>",
        ),
        reified("_:s2", EDGES[2], f'<{E}certainty> "0.5"^^<{DOUBLE}>'),
        reified("_:s3", EDGES[2], f'<{E}certainty> "0.25"^^<{DOUBLE}>', f'<{E}note> "late"'),
    ]
)
TOLD = {
    EDGES[0]: {
        "confidence": 0.75,
        f"{E}note": ["one", "two"],
        "source_documents": [f"{E}doc1", f"{E}doc2"],
        f"{E}by": f"{E}curator",
    },
    EDGES[1]: {},
    EDGES[2]: {
        "confidence": 0.5,
        "confidences": [0.25, 0.5],
        "multiplicity": 2,
        f"{E}note": "late",
    },
}


async def test_reified_statements_are_the_metadata_of_their_edges_and_no_nodes(serve_each):
    backend = await serve_each(STATEMENTS, confidence_property=[f"{E}certainty"])
    unknown = (f"{E}b", f"{E}p", f"{E}a")
    typed = (f"{E}a", "rdf:type", f"{E}T")
    assert await backend.metadata_for_edges_batch([*EDGES, unknown, typed]) == TOLD
    assert await backend.metadata_for_edge(Edge(*EDGES[0])) == TOLD[EDGES[0]]
    with pytest.raises(KeyError):
        await backend.metadata_for_edge(Edge(*unknown))
    ends = [f"{E}{name}" for name in "abc"]
    assert set(await backend.edges_batch([*ends, f"{RDF}Statement"])) == set(EDGES)
    assert await backend.get_nodes_batch([f"{RDF}Statement"]) == []


@pytest.mark.parametrize("name", ["oxigraph", "fuseki"])
async def test_reifiers_of_triple_terms_are_the_metadata_of_their_edges(request, name):
    server: SparqlServer = request.getfixturevalue(name)
    server.clear()
    s, p, o = EDGES[0]
    server.update(
        f"INSERT DATA {{ {PLAIN} _:r <{RDF}reifies> <<( <{s}> <{p}> <{o}> )>> ; "
        f'<{E}certainty> 0.75e0 ; <{E}note> "one", "two" . }}'
    )
    backend = await SparqlBackend.create(
        server.query_url, confidence_property=[f"{E}certainty"], graph=[]
    )
    try:
        assert await backend.metadata_for_edges_batch(EDGES) == {
            EDGES[0]: {"confidence": 0.75, f"{E}note": ["one", "two"]},
            EDGES[1]: {},
            EDGES[2]: {},
        }
        assert set(await backend.edges_batch([s, o])) == set(EDGES)
    finally:
        await backend.close()


async def test_quoted_triples_of_rdf4j_are_the_metadata_of_their_edges(rdf4j):
    rdf4j.clear()
    quoted = f"<< <{EDGES[0][0]}> <{EDGES[0][1]}> <{EDGES[0][2]}> >>"
    rdf4j.update(
        f'INSERT DATA {{ {PLAIN} {quoted} <{E}certainty> 0.75e0 ; <{E}note> "one", "two" ; '
        f"<{PROV}wasDerivedFrom> <{E}c> . }}"
    )
    backend = await SparqlBackend.create(rdf4j.query_url, confidence_property=[f"{E}certainty"])
    try:
        assert await backend.metadata_for_edges_batch(EDGES) == {
            EDGES[0]: {
                "confidence": 0.75,
                f"{E}note": ["one", "two"],
                "source_documents": [f"{E}c"],
            },
            EDGES[1]: {},
            EDGES[2]: {},
        }
        assert set(await backend.edges_batch([f"{E}c"])) == {EDGES[1]}
    finally:
        await backend.close()


async def test_the_named_graphs_of_an_edge_are_reported_where_the_settings_ask(sparql_server):
    graphs = [f"{E}g/{number}" for number in (1, 2)]
    sparql_server.clear()
    for graph, lines in zip(graphs, (PLAIN, PLAIN.splitlines()[0]), strict=True):
        sparql_server.load(lines, graph)
    backend = await SparqlBackend.create(
        sparql_server.query_url, graph=graphs, statement_graph=True
    )
    try:
        assert await backend.metadata_for_edges_batch(EDGES) == {
            EDGES[0]: {"graphs": graphs},
            EDGES[1]: {"graphs": graphs[:1]},
            EDGES[2]: {"graphs": graphs[:1]},
        }
    finally:
        await backend.close()


async def test_statements_about_the_edges_of_a_hub_are_found_by_their_other_ends(
    serve_each, request
):
    # Reading all statements of the hub for each of its edges would read millions, and take 40 times
    # as long as for edges that share no node. Virtuoso does not have this problem, but plans with
    # what it knows of the data of earlier tests: this takes from seconds to half a minute, mostly
    # regardless of the number of edges.
    own = request.node.callspec.params["serve_each"]
    number = 300 if own == "virtuoso" else 3_000
    apart = [(f"{E}a{n}", f"{E}in", f"{E}b{n}") for n in range(number)]
    edges = [
        (f"{E}n{n}", f"{E}in", f"{E}hub") if n % 2 else (f"{E}hub", f"{E}out", f"{E}n{n}")
        for n in range(number)
    ]
    lines = [f"<{s}> <{p}> <{o}> ." for s, p, o in (*edges, *apart)]
    lines += [
        reified(f"_:{s}{n}", edge, f'<{E}note> "{n}"')
        for s, some in (("s", edges), ("t", apart))
        for n, edge in enumerate(some)
    ]
    backend = await serve_each("\n".join(lines))
    processes, used = request.getfixturevalue(own).process.family(), []
    for some in ([], apart[: number // 3], edges[: number // 3]):
        told = await backend.metadata_for_edges_batch(some)
        assert told == {edge: {f"{E}note": str(n)} for n, edge in enumerate(some)}
        assert (await backend.provenance_for_node(f"{E}hub", 20))["total"] == 0
        used.append(sum(sum(one.cpu_times()[:2]) for one in processes))
    if own != "virtuoso":  # seconds of processor time, of which clocks count hundredths
        assert used[2] - used[1] < 5 * (used[1] - used[0]) + 0.3


async def test_a_store_without_statements_is_not_asked_about_many_edges(serve, texts_of):
    lines = [f"<{E}a> <{E}p> <{E}n{number}> ." for number in range(150)]
    backend = await serve("\n".join(lines))
    texts = texts_of(backend)
    ring = await backend.edges_batch([f"{E}a"])
    texts.clear()
    assert await backend.metadata_for_edges_batch(ring) == {edge: {} for edge in ring}
    assert texts == []


WD = "http://www.wikidata.org/"
SAID = f"<{WD}entity/statement/Q1-x>"
WIKIDATA = f"""
<{WD}entity/P69> <http://wikiba.se/ontology#claim> <{WD}prop/P69> .
<{WD}entity/Q1> <{WD}prop/direct/P69> <{WD}entity/Q2> .
<{WD}entity/Q1> <{WD}prop/P69> {SAID} .
{SAID} <{WD}prop/statement/P69> <{WD}entity/Q2> .
{SAID} <{WD}prop/qualifier/P512> <{WD}entity/Q3> .
{SAID} <{WD}prop/qualifier/P580> "1890-01-01" .
{SAID} <{WD}prop/qualifier/value/P580> <{WD}value/1> .
{SAID} <http://wikiba.se/ontology#rank> <http://wikiba.se/ontology#NormalRank> .
{SAID} <{PROV}wasDerivedFrom> <{WD}reference/r1> .
<{WD}reference/r1> <{WD}prop/reference/P248> <{WD}entity/Q9> .
<{WD}reference/r1> <{WD}prop/reference/P304> "17" .
"""


async def test_statement_nodes_of_wikibase_give_qualifiers_rank_and_references(serve_each):
    backend = await serve_each(WIKIDATA)
    edge = ("wd:Q1", "wdt:P69", "wd:Q2")
    prop = "http://www.wikidata.org/prop/"
    assert await backend.metadata_for_edges_batch([edge]) == {
        edge: {
            f"{prop}qualifier/P512": "wd:Q3",
            f"{prop}qualifier/P580": "1890-01-01",
            "wikibase:rank": "wikibase:NormalRank",
            "provenance": [
                {
                    "document_id": "wd:Q9",
                    f"{prop}reference/P248": "wd:Q9",
                    f"{prop}reference/P304": "17",
                }
            ],
        }
    }
    found = await backend.provenance_for_node("wd:Q1", 20)
    assert [item["document_id"] for item in found["items"]] == ["wd:Q9"]


async def test_edges_told_from_their_other_end_are_edges_of_the_predicate_that_says_the_same(
    serve_each,
):
    told = f"<{E}whole> <{E}hasPart> <{E}part> .\n<{E}part2> <{E}partOf> <{E}whole> ."
    said = reified("_:s", (f"{E}whole", f"{E}hasPart", f"{E}part"), f'<{E}note> "turned"')
    backend = await serve_each(f"{told}\n{said}", inverse={f"{E}hasPart": f"{E}partOf"})
    turned = (f"{E}part", f"{E}partOf", f"{E}whole")
    straight = (f"{E}part2", f"{E}partOf", f"{E}whole")
    assert set(await backend.edges_batch([f"{E}whole"])) == {turned, straight}
    assert await backend.edges_from(f"{E}whole") == []
    assert set(await backend.edges_to(f"{E}whole")) == {turned, straight}
    assert await backend.edges_from(f"{E}part") == [turned]
    asked = [turned, straight, (f"{E}whole", f"{E}hasPart", f"{E}part")]
    assert await backend.metadata_for_edges_batch(asked) == {
        turned: {f"{E}note": "turned"},
        straight: {},
    }


# --- hubs: more edges or values than one answer holds ------------------------

DEGREE = 2_500


def hub(degree=DEGREE):
    """A node with edges to and from each of `degree` others, one of them by further predicates."""
    lines = [f'<{E}hub> <http://www.w3.org/2000/01/rdf-schema#label> "the hub" .']
    for n in range(degree):
        spoke = f"<{E}spoke/{'é中Zz'[n % 4]}{n}>"
        lines.append(f"{spoke} <{E}in> <{E}hub> .")
        lines.append(f"<{E}hub> <{E}out> {spoke} .")
    lines += [f"<{E}hub> <{E}out2> <{E}spoke/Z2> .", f"<{E}hub> <{E}out3> <{E}spoke/Z2> ."]
    return "\n".join(lines)


def values(number):
    """A node with many values."""
    return (f'<{E}wordy> <{E}says> "word {n}" .' for n in range(number))


cut_by_virtuoso = pytest.mark.parametrize("serve_each", ["small_virtuoso"], indirect=True)
"""In the Virtuoso that truncates answers to 1,000 rows."""


@cut_by_virtuoso
async def test_virtuoso_that_cuts_at_a_thousand_rows_gives_all_edges_of_a_hub(serve_each):
    backend = await serve_each(hub())
    with call.scope() as scope:
        assert len(set(await backend.edges_batch([f"{E}hub", f"{E}spoke/é0"]))) == 2 * DEGREE + 2
        assert len(await backend.edges_from(f"{E}hub")) == DEGREE + 2
        assert len(await backend.edges_to(f"{E}hub")) == DEGREE
    assert scope.omissions == ()


@cut_by_virtuoso
async def test_what_a_bound_leaves_out_of_a_hub_of_virtuoso_is_said_with_its_true_number(
    serve_each,
):
    backend = await serve_each(hub(), max_edges=2_000)
    async with bfsql.open_graph(backend) as graph:
        answer = await graph.bfs_query(seeds=[f"{E}hub"], max_hops=1, topology_only=True)
    notes = " ".join(answer.notes)
    assert f"At least {DEGREE - 2_000 + 2} outgoing edges of {E}hub are missing" in notes
    assert f"At least {DEGREE - 2_000} incoming edges of {E}hub are missing" in notes


@cut_by_virtuoso
async def test_a_batch_with_a_hub_of_virtuoso_has_the_edges_of_all_others(serve_each):
    others = "\n".join(f"<{E}n{n}> <{E}next> <{E}n{n + 1}> ." for n in range(50))
    backend = await serve_each(hub(1_500) + "\n" + others)
    with call.scope() as scope:
        ring = await backend.edges_batch([f"{E}hub", *(f"{E}n{n}" for n in range(50))])
    assert len(set(ring)) == 2 * 1_500 + 2 + 50
    assert scope.omissions == ()


@cut_by_virtuoso
async def test_types_and_metadata_of_more_nodes_than_virtuoso_sends_are_whole(serve_each):
    number = 1_500
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    backend = await serve_each("\n".join(f'<{E}n{n}> {label} "n{n}" .' for n in range(number)))
    ids = [f"{E}n{n}" for n in range(number)]
    assert {node.id for node in await backend.get_nodes_batch(ids)} == set(ids)
    metadata = await backend.metadata_for_nodes_batch(ids)
    assert {id_: told["name"] for id_, told in metadata.items()} == {
        f"{E}n{n}": f"n{n}" for n in range(number)
    }


@cut_by_virtuoso
async def test_a_node_with_more_values_than_virtuoso_sends_gives_them_all(serve_each):
    backend = await serve_each("\n".join(values(3_000)))
    metadata = await backend.metadata_for_node(f"{E}wordy")
    assert len(metadata[f"{E}says"]) == 3_000


async def test_windows_go_through_any_store(serve_each):
    backend = await serve_each(hub(300), page_size=100)
    with call.scope() as scope:
        assert len(await backend.edges_from(f"{E}hub")) == 302
        assert len(await backend.edges_to(f"{E}hub")) == 300
    assert scope.omissions == ()


async def test_blank_nodes_of_a_hub_are_counted_in_a_note(serve_each):
    blanks = "\n".join(f"<{E}hub> <{E}out> _:b{n} ." for n in range(7))
    backend = await serve_each(f"{hub(300)}\n{blanks}", page_size=100)
    with call.scope() as scope:
        assert len(await backend.edges_from(f"{E}hub")) == 302
    assert [(o.id, o.direction, o.at_least) for o in scope.omissions] == [(f"{E}hub", "out", 7)]


async def test_an_endpoint_that_cuts_without_a_word_is_found_out(serve):
    backend = await serve(hub(1_200))
    whole = backend._store.dataset.reply

    async def cut(query, seconds=None):
        head, _, limit = query.rpartition("LIMIT ")
        few = f"{head}LIMIT {min(int(limit), 1_000)}" if head else query
        return await whole(few, seconds)

    backend._store.dataset.reply = cut
    with call.scope() as scope:
        ids = [f"{E}hub", *(f"{E}spoke/{'é中Zz'[n % 4]}{n}" for n in range(1_200))]
        ring = await backend.edges_batch(ids)
        nodes = await backend.get_nodes_batch(ids)
        metadata = await backend.metadata_for_nodes_batch(ids)
    assert len(set(ring)) == 2 * 1_200 + 2
    assert {node.id for node in nodes} == set(metadata) == set(ids)
    assert Omission(f"{E}hub") not in scope.omissions


async def test_a_hub_that_is_not_read_in_time_has_its_degree_in_the_error(serve):
    backend = await serve(hub(300), page_size=100)
    whole = backend._store.dataset.reply

    async def slow(query, seconds=None):
        if "ORDER BY" in query:
            raise TimeoutError
        return await whole(query, seconds)

    backend._store.dataset.reply = slow
    with call.scope() as scope, pytest.raises(TimeoutError):
        await backend.edges_from(f"{E}hub")
    assert 302 in [omission.at_least for omission in scope.omissions]
