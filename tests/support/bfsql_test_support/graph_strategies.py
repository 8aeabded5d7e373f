"""Small graphs drawn by hypothesis, with the irregularities of real stores."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord

TYPES = ("Drug", "Disease", "Gene")
PREDICATES = ("TREATS", "causes", "associated with")
PLAIN = tuple(f"n:{number}" for number in range(25))
HOSTILE = (
    'quo"te\\', "new\nline", "nul\x00byte", "\u202eevil\u202c", "\x7f\x9f", "e\u0301", "\u00e9",
    "\uffff", "\U0001f600", "'; DROP TABLE nodes; --", "%_*?[]", " outer space ", "N:1", "[1]",
    "long:" + "x" * 300,
)  # fmt: skip
"""Ids that break a careless encoder, sort order or query."""
ORDERED = (
    "Z", "a", "\u00c4", "\u00e4", "\u00e9", "\u00df", "ss", "i", "\u0131", "\u0130", "\u200b",
    "\ue000", "\ufffd", "\U00010000", "\U0010ffff", "9", "10", "a b", "a-b", "aa",
)  # fmt: skip
"""Ids that sort differently by locale, UTF-16 or number than by code point."""
BLANK = (" ", "\u00a0", "\u3000")
"""Blank ids; no tool accepts them."""
GONE = ("gone:1", "gone:2", "\uffffgone")
"""Ends of edges that no node record describes."""

_NODE_METADATA: tuple[dict[str, Any], ...] = (
    {},
    {"name": "plain"},
    {"name": "m\u00e9t\u00e9o\u202e", "synonyms": ["zeta", "alpha"], "total_mentions": 1},
    {"name": "other", "total_mentions": 2, "nested": {"b": [1, {"d": None, "c": True}], "a": 0.5}},
    {"total_mentions": 3.5, "empty": None, "source": "here"},
    {"total_mentions": "many", "name": "text\nof\ttwo lines \x07"},
    {"total_mentions": True, "id": "hidden", "entity_type": "hidden", "notes": "hidden"},
    {"total_mentions": 2, "vector": [0.25] * 70, "name": "vector"},
    {"name": "verbose", "text": "many words " * 40},
)
_EDGE_METADATA: tuple[dict[str, Any], ...] = (
    {},
    {"confidence": 0.5, "source_documents": ["doc:1"]},
    {"confidence": 0.9, "source_documents": ["doc:2", "doc:1"], "note": "words " * 20},
    {"confidence": 1, "note": "others", "created_at": "2024-02-29"},
    {
        "strongest_evidence_quote": "quote",
        "evidence_confidence_avg": 0.7,
        "text_span": "span",
        "provenance": [{"document_id": "doc:3", "text_span": "words", "confidence": 0.25}],
    },
)
_ITEMS: tuple[dict[str, Any], ...] = (
    {"document_id": "doc:1", "section": "abstract", "text_span": "It does.", "confidence": 0.5},
    {"document_id": "n:0", "text_span": "It does.", "confidence": 0.5},
    {"document_id": "doc:2"},
)


@dataclass(frozen=True)
class Drawn:
    """A graph as records in the order in which a loader gets them, and its ids and triples."""

    records: tuple[GraphRecord, ...]
    ids: tuple[str, ...]
    """Ids that have a node record."""
    triples: frozenset[tuple[str, str, str]]
    """Triples that have an edge record, including those with ends that are not nodes."""


@st.composite
def graphs(draw: st.DrawFn, least: int = 0, most: int = 25, *, hostile: bool = True) -> Drawn:
    """A graph with parallel edges, self-loops, cycles, isolated nodes and dangling ends.

    Args:
        hostile: Whether `HOSTILE` ids may occur.
    """
    known = PLAIN + HOSTILE if hostile else PLAIN
    ids = draw(
        st.lists(st.sampled_from(known), min_size=least, max_size=most, unique=True), label="ids"
    )
    again = draw(st.lists(st.sampled_from(ids), max_size=3), label="again") if ids else []
    node = st.tuples(st.sampled_from(TYPES), st.sampled_from(_NODE_METADATA))
    described = [NodeRecord(i, *draw(node)) for i in (*ids, *again)]
    ends = st.sampled_from([*ids, *ids, *ids, *GONE]) if ids else st.sampled_from(GONE)
    triples = draw(
        st.lists(st.tuples(ends, st.sampled_from(PREDICATES), ends), max_size=2 * len(ids) + 4),
        label="triples",
    )
    related = [EdgeRecord(*t, draw(st.sampled_from(_EDGE_METADATA))) for t in triples]
    supported = [
        EvidenceRecord(*t, draw(st.sampled_from(_ITEMS)))
        for t in (draw(st.lists(st.sampled_from(triples), max_size=4)) if triples else [])
    ]
    records: list[GraphRecord] = [*supported, *related, *described]
    if draw(st.booleans(), label="shuffled"):
        records = draw(st.permutations(records))
    return Drawn(tuple(records), tuple(ids), frozenset(triples))


@st.composite
def hubs(draw: st.DrawFn) -> Drawn:
    """A graph with a hub: edges with several predicates, most of them at one node.

    Many of its ids sort differently by locale or UTF-16. Around the hub there are nodes with few
    edges, self-loops and ends that are not nodes.
    """
    known = st.sampled_from(ORDERED + HOSTILE[:-1] + PLAIN[:4])
    ids = draw(st.lists(known, min_size=4, max_size=24, unique=True), label="ids")
    ids += draw(st.lists(st.sampled_from(BLANK), max_size=2, unique=True), label="blank")
    node = st.tuples(st.sampled_from(TYPES), st.sampled_from(_NODE_METADATA))
    described = [NodeRecord(i, *draw(node)) for i in ids]
    ends, predicates = st.sampled_from([*ids, *ids, *GONE]), st.sampled_from(PREDICATES)
    spokes = st.lists(st.tuples(st.booleans(), predicates, ends), min_size=3, max_size=40)
    around = [
        (ids[0], predicate, end) if leaves else (end, predicate, ids[0])
        for leaves, predicate, end in draw(spokes, label="spokes")
    ]
    others = draw(st.lists(st.tuples(ends, predicates, ends), max_size=12), label="others")
    related = [EdgeRecord(*t, draw(st.sampled_from(_EDGE_METADATA))) for t in (*around, *others)]
    records = draw(st.permutations([*described, *related]))
    return Drawn(tuple(records), tuple(ids), frozenset((*around, *others)))


@st.composite
def graphs_with_seeds(draw: st.DrawFn, seeds: int = 1, least: int = 0) -> tuple[Drawn, list[str]]:
    """A graph, and some of its ids as seeds.

    Args:
        seeds: Minimum number of seeds; at most 4 are drawn.
    """
    graph = draw(graphs(least=max(seeds, least)))
    return graph, draw(_seeds(graph, seeds), label="seeds")


@st.composite
def hubs_with_seeds(draw: st.DrawFn) -> tuple[Drawn, list[str]]:
    """A graph with a hub, and two to four of its ids as seeds."""
    graph = draw(hubs())
    return graph, draw(_seeds(graph, 2), label="seeds")


def _seeds(graph: Drawn, least: int) -> st.SearchStrategy[list[str]]:
    ids = [entity_id for entity_id in graph.ids if entity_id not in BLANK]
    return st.lists(st.sampled_from(ids), min_size=least, max_size=4, unique=True)


def removing() -> st.SearchStrategy[dict[str, Any]]:
    """Arguments for the two filters that remove nodes, often none."""
    return st.fixed_dictionaries(
        {},
        optional={
            "exclude_node_types": st.lists(st.sampled_from(TYPES), min_size=1, max_size=2),
            "min_mentions": st.integers(1, 4),
        },
    )


def detailing() -> st.SearchStrategy[dict[str, Any]]:
    """Arguments for the filters that choose detail, often none."""
    return st.fixed_dictionaries(
        {},
        optional={
            "node_types": st.lists(st.sampled_from(TYPES), min_size=1, max_size=2, unique=True),
            "predicates": st.lists(st.sampled_from(PREDICATES), min_size=1, max_size=2),
            "topology_only": st.booleans(),
        },
    )


def filtering() -> st.SearchStrategy[dict[str, Any]]:
    """Arguments for both kinds of filter."""
    return st.tuples(detailing(), removing()).map(lambda both: both[0] | both[1])


CONDITIONS = (
    "total_mentions>=2", "Drug.total_mentions<3.5", "drug . name != Plain", "name~o",
    "name=METEO|other", "synonyms=zeta", "causes.confidence>0.5", "associated with.note=others",
    "confidence!=0.9", "created_at>2020", "causes.created_at<2025", "nowhere=1",
)  # fmt: skip
ORDERS = ("name", "-name", "-total_mentions", "total_mentions", "degree", "-degree", "synonyms")
FACETS = ("name:2", "total_mentions", "Drug.synonyms", "vector", "causes.confidence", "nowhere")
FIELDS = ("name", "confidence", "total_mentions", "nested", "provenance", "id", "nowhere")


def narrowing() -> st.SearchStrategy[dict[str, Any]]:
    """Arguments for all filters, often with conditions on metadata, an order or fields to show."""
    further = st.fixed_dictionaries(
        {},
        optional={
            "where": st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=3, unique=True),
            "sort_by": st.sampled_from(ORDERS),
            "facets": st.lists(st.sampled_from(FACETS), min_size=1, max_size=3, unique=True),
            "fields": st.lists(st.sampled_from(FIELDS), min_size=1, max_size=3, unique=True),
        },
    )
    return st.tuples(filtering(), further).map(lambda both: both[0] | both[1])
