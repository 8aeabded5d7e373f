"""The backend reads triples as core's source reads the same file."""

import asyncio
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode, RdfFormat, parse, serialize

from bfsql.memory import MemoryBackend
from bfsql.models import NodeRecord, Refusal, SourceAccount
from bfsql.models.merge import sorted_union
from bfsql.models.rdf import Prefixes
from bfsql.sources import read_all
from bfsql.sources.options import SourceOptions
from bfsql.sources.rdf import open_rdf
from bfsql_sparql.backend import SparqlBackend
from bfsql_sparql.queries.graph import iri
from bfsql_test_support.case_table import case_table

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ALIAS = "http://www.w3.org/2004/02/skos/core#altLabel"
_NAMED = ("name", "synonyms", "other_types")
XSD = "http://www.w3.org/2001/XMLSchema#"

LOCAL = st.lists(
    st.sampled_from([*"abAB09-._~:/?@!$&'()*+,;=\u00e9\u4e2d\U0001f9ec", "%41", "%20", "%c3%a9"]),
    max_size=6,
).map("".join)
NODES = st.one_of(
    st.sampled_from([f"http://example.org/{name}" for name in "abcdef"]),
    LOCAL.map(lambda local: f"http://example.org/{local}"),
    LOCAL.map(lambda local: f"urn:bfsql:{local}"),
    LOCAL.map(lambda local: f"http://dbpedia.org/resource/{local}"),
)
PREDICATES = st.sampled_from(
    ["http://example.org/p", "http://example.org/q", "http://schema.org/knows", "urn:bfsql:treats"]
)
PROPERTIES = st.sampled_from([LABEL, ALIAS, "http://example.org/age", "urn:bfsql:note"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
LITERALS = st.one_of(
    st.tuples(TEXTS, st.none() | st.sampled_from(["@en", "@de", "@en-GB"])),
    st.tuples(st.integers(-(2**31), 2**31).map(str), st.just(f"^^<{XSD}integer>")),
    st.tuples(st.sampled_from(["true", "false"]), st.just(f"^^<{XSD}boolean>")),
    st.tuples(st.sampled_from(["0.5", "1e3", "2.0"]), st.just(f"^^<{XSD}double>")),
)
TRIPLES = st.one_of(
    st.tuples(NODES.map(iri), PREDICATES.map(iri), NODES.map(iri)),
    st.tuples(
        NODES.map(iri),
        st.just(iri(TYPE)),
        st.sampled_from(["T", "U"]).map(lambda t: f"<urn:t:{t}>"),
    ),
    st.tuples(
        NODES.map(iri),
        PROPERTIES.map(iri),
        LITERALS.map(lambda one: f"{_quoted(one[0])}{one[1] or ''}"),
    ),
)


def _quoted(text):
    """A literal of N-Triples, with all characters escaped that are not alphanumeric."""
    return '"' + "".join(c if c.isalnum() else f"\\U{ord(c):08x}" for c in text) + '"'


def _reference(file):
    account = SourceAccount(str(file), "ntriples")
    found = open_rdf(file, SourceOptions(), account)
    records: list[Any] = [one for one in found if not isinstance(one, Refusal)]
    # Stores do not keep the order of types in the file: the alphabetically first one counts.
    types: dict[str, set[str]] = defaultdict(set)
    for record in records:
        if isinstance(record, NodeRecord) and record.entity_type:
            types[record.id].add(record.entity_type)
    first = [NodeRecord(id_, min(several)) for id_, several in types.items()]
    return MemoryBackend([*first, *records])


def _comparable(metadata, iri_of):
    """Keys as IRIs, and names as a set: which label is the name depends on the file's order."""
    names = [metadata[key] for key in ("name",) if key in metadata]
    types = [iri_of(name) for name in metadata.get("other_types", [])]
    return {
        **{iri_of(key): value for key, value in metadata.items() if key not in _NAMED},
        "names": sorted_union([*names, *metadata.get("synonyms", [])]),
        "types": sorted(map(str, types)),
    }


async def _told(backend, asked, iri_of):
    """Everything that a backend returns about some nodes, with IRIs in place of ids."""
    nodes = {iri_of(n.id): iri_of(n.entity_type) for n in await backend.get_nodes_batch(asked)}
    edges = {tuple(map(iri_of, edge)) for edge in await backend.edges_batch(asked)}
    metadata = await backend.metadata_for_nodes_batch(asked)
    return [
        nodes,
        edges,
        {iri_of(id_): _comparable(told, iri_of) for id_, told in metadata.items()},
    ]


async def _same(reference, server, **chosen):
    told = {"language": ["all"], "search": "contains"} | chosen
    backend = await SparqlBackend.create(server.query_url, **told)
    try:
        full = Prefixes({}).full
        ids = [*reference._types, "http://example.org/unknown", "urn:c"]
        own = [backend._mapping.ids.id(full(id_) or id_) for id_ in ids]
        theirs = await _told(reference, ids, full)
        assert await _told(backend, own, backend._mapping.ids.iri) == theirs
    finally:
        await backend.close()


@settings(max_examples=60, deadline=None)
@given(triples=st.lists(TRIPLES, min_size=1, max_size=30))
def test_any_graph_of_iris_and_literals_is_read_as_the_source_reads_it(oxigraph, triples):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.nt"
        file.write_text("".join(f"{' '.join(triple)} .\n" for triple in triples), encoding="utf-8")
        oxigraph.clear()
        oxigraph.load(file.read_bytes())
        asyncio.run(_same(_reference(file), oxigraph))


CHOSEN = """
<urn:a> a <urn:T>, <urn:U> ; <urn:kind> <urn:K> ; <urn:title> "A" ; <urn:other> "the A" ;
    <http://www.w3.org/2000/01/rdf-schema#label> "an a" ; <urn:p> <urn:b> ; <urn:q> <urn:b> .
<urn:b> a <urn:T> ; <urn:title> "B" .
<urn:g> { <urn:a> <urn:p> <urn:c> ; <urn:title> "C" . <urn:b> <urn:p> <urn:a> . }
"""


@case_table(
    "chosen",
    [
        {"graph": ["urn:g"]},
        {"type_property": ["urn:kind"]},
        {"type_property": ["rdf:type", "urn:kind"]},
        {"type_priority": ["urn:U"]},
        {"label_property": ["urn:title"], "alias_property": ["urn:other", "rdfs:label"]},
        {"only_predicate": ["urn:p"]},
        {"exclude_predicate": ["urn:p"]},
    ],
)
async def test_choices_of_files_are_those_of_an_endpoint(tmp_path, oxigraph, chosen):
    file = tmp_path / "graph.trig"
    file.write_text(CHOSEN)
    options = SourceOptions(default_type="owl:Thing", **{k: tuple(v) for k, v in chosen.items()})
    reference = MemoryBackend([*read_all([file], options)])
    oxigraph.clear()
    statements = [*parse(path=file)]
    named = [one for one in statements if one.graph_name == NamedNode("urn:g")]
    for some, graph in ((statements, None), (named, "urn:g")):
        triples = serialize({one.triple for one in some}, format=RdfFormat.N_TRIPLES)
        oxigraph.load(triples, graph)
    await _same(reference, oxigraph, **chosen)
