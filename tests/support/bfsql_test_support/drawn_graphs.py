"""Graphs made from a number: the same records in every process, without a line of BFS-QL.

A graph has what real stores have: hubs, loops, parallel edges and records, ends that are no nodes,
namesakes, types called like predicates, and properties of one key with values of several kinds.
`DrawnGraph.form` says over which kind of store it is served, `limits` with which limits of a call.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

Record: TypeAlias = list[Any]
"""`["node", id, type, metadata]`, `["edge", s, p, o, metadata]` or, alike, `"evidence"`."""
Metadata: TypeAlias = dict[str, Any]

FORMS = (*("columns", "columns", "strings", "memory"), *("redacted", "hidden", "eight", "lossy"))
"""An embedded file as integers, its strings, memory; redacted columns and redacted memory; the
eight methods alone; and a store that leaves things out and knows a sample of its schema."""
LIMITS: tuple[dict[str, Any], ...] = (
    *({}, {}, {}, {"answer_format": "lines"}, {"answer_format": "lines"}),
    {"max_tokens": 600},
    {"max_tokens": 900, "ceilings": True},
    {"max_tokens": 500, "answer_format": "lines", "ceilings": True},
    {"max_nodes": 12},
    {"max_edges": 25, "stripped": ["share", "text_span"]},
    {"max_answer_bytes": 2000},
)
TYPES = ("Drug", "Disease", "Gene", "drug class", "Wörk", "Person", "treats", "A|B")
PREDICATES = ("treats", "causes", "is_a", "part-of", "Gene", "référence à", "knows", "x.y")
NAMES = (
    *("Aspirin", "aspirine", "Zoë Ünal", "Zoe Unal", "Gene", "Ærø naïve", "Crohn disease", "Drug"),
    *("Crohn's syndrome", "Ibuprofen", "war and peace", "[brackets]", "no year", "Metformin XR"),
)
GONE = ("gone:1", "gone:2", "Gone three")
"""Ends of edges that are no nodes."""

_NODE_VALUES: dict[str, Sequence[Any]] = {
    "year": (1998, 2004, 2010, 2010, 2021.5, "2015", "about 1990", None),
    "status": ("done", "running", "done", "Dóne", "stopped|early", ["done", "paid"]),
    "total_mentions": (1, 2, 3, 7, "many"),
    "born": ("1990-05-17", "1990-05", "2001", "24/08/2017", "1969-12-31T23:59:00Z"),
    "big": (2**53 + 1, 2**53 + 2, 10**30, -(2**60), 1.5),
    "score": (0.1, 0.2, 0.30000000000000004, -1, "NaN", "1e3"),
    "size": ("10 km", "9 km", "12 km"),
    "code": tuple(f"c{number}" for number in range(12)),
    "flag": (True, False, "true", 1),
    "synonyms": (["alpha", "zeta"], ["Ädel"], [], ["alpha", None, 3]),
    "note": ("words " * 30, "line\nbreak\ttab \u202e", "", "text " * 9),
    "nested": ({"b": [1, {"d": None}], "a": 0.5}, [[1, 2], [3]]),
    "other_types": (["Thing"], ["Thing", "Gene"]),
    "a.b": (1, 2, "x"),
}
_MANY_VALUES = _NODE_VALUES | {f"k{number}": (number, "v") for number in range(12)}
_MANY_VALUES["text"] = ("many words " * 300,)
"""More properties than `describe_schema` lists, and a value larger than most budgets."""
_EDGE_VALUES: dict[str, Sequence[Any]] = {
    "confidence": (0.25, 0.5, 0.9, 1, "high"),
    "share": ("0.1", "0.2", 0.3, "half"),
    "since": ("2001-03", "1999", 2005, None),
    "source_documents": (["doc:1"], ["doc:2", "doc:1"]),
    "strongest_evidence_quote": ("A quote. " * 6,),
    "kind": ("a", "b", ["a", "c"]),
}
_ITEMS: tuple[Metadata, ...] = (
    {"document_id": "doc:1", "section": "abstract", "text_span": "It does.", "confidence": 0.5},
    {"document_id": "n:0", "text_span": "It does. " * 40},
    {"document_id": "doc:2"},
)


@dataclass(frozen=True)
class DrawnGraph:
    """A graph, and how it is served."""

    number: int
    form: str
    limits: dict[str, Any]
    records: list[Record]

    @cached_property
    def nodes(self) -> dict[str, tuple[str, Metadata]]:
        """Type and metadata of the first record of each node."""
        return {r[1]: (r[2], r[3]) for r in reversed(self.records) if r[0] == "node"}

    @cached_property
    def edges(self) -> list[tuple[str, str, str, Metadata]]:
        return [(r[1], r[2], r[3], r[4]) for r in self.records if r[0] == "edge"]

    @cached_property
    def names(self) -> list[str]:
        return [known["name"] for _, known in self.nodes.values() if known.get("name")]

    @cached_property
    def types(self) -> list[str]:
        return sorted({of for of, _ in self.nodes.values()})

    @cached_property
    def predicates(self) -> list[str]:
        return sorted({edge[1] for edge in self.edges})

    @cached_property
    def hub(self) -> str:
        """The node with the most edges."""
        return max(self.nodes or ["n:0"], key=lambda node: len(self.ways.get(node, ())))

    @cached_property
    def ways(self) -> dict[str, list[tuple[str, str, str, Metadata]]]:
        """From a node, its edges as `out` or `in`, predicate, other end and metadata."""
        ways = defaultdict(list)
        for subject, predicate, other, metadata in self.edges:
            ways[subject].append(("out", predicate, other, metadata))
            ways[other].append(("in", predicate, subject, metadata))
        return ways


def drawn_graph(number: int) -> DrawnGraph:
    """The graph of a number."""
    draw = random.Random(f"graph {number}")
    form = FORMS[number % len(FORMS)]
    sizes = {3: 100, 6: 100, 7: 30, 8: 30, 11: 0, 32: 30, 33: 30}
    count = sizes.get(number % 41, draw.choice((4, 7, 10, 14, 20, 30)))
    types = draw.sample(TYPES, 8 if count > 50 else draw.randint(2, 5))
    predicates = draw.sample(PREDICATES, 8 if count > 50 else draw.randint(2, 5))
    namesakes = number % 20 in (12, 13)
    keys = draw.sample(sorted(_NODE_VALUES), 8) if draw.random() < 0.85 else sorted(_MANY_VALUES)
    alike = draw.random() < 0.4  # values of one kind alone, as in a table
    ids = [draw.choice((f"n:{place}", f"n:{place}", f"Node {place}é")) for place in range(count)]

    def values(of: dict[str, Sequence[Any]], keys: Sequence[str], most: int) -> Metadata:
        chosen = draw.sample(keys, min(draw.randint(0, most), len(keys)))
        return {
            key: of[key][0] if alike and draw.random() < 0.5 else draw.choice(of[key])
            for key in chosen
        }

    records: list[Record] = []
    for node in [*ids, *draw.sample(ids, min(2, count))]:
        metadata = values(_MANY_VALUES, keys, draw.choice((3, 6, 30)))
        if draw.random() < 0.85:
            name, more = draw.choice(NAMES), draw.choice(("", f" {node[-2:]}"))
            metadata["name"] = f"{NAMES[2]} {node[-2:]}" if namesakes else name + more
        records.append(["node", node, draw.choice(types), metadata])
    if namesakes and records:  # as in a table: one type, and a column with nine values
        records[0][3]["name"] = NAMES[2]
        for place, record in enumerate(records):
            record[2], record[3]["code"] = types[0], f"c{place % 9}"
    ends = [*ids * 6, *GONE] if draw.random() < 0.6 else ids
    triples = []
    if (draw.random() < 0.6 or count >= 30) and ids:  # a hub, with more edges than an answer lists
        triples += [
            (end, draw.choice(predicates[:2]), ids[0])
            if draw.random() < 0.7
            else (ids[0], draw.choice(predicates), end)
            for end in draw.choices(ends, k=draw.choice((count, 3 * count)))
        ]
    if draw.random() < 0.5:  # a hierarchy
        triples += [(ids[place], predicates[0], ids[place // 2]) for place in range(1, count)]
    if ids:
        more = draw.randint(0, 3 * count)
        triples += [
            (draw.choice(ends), draw.choice(predicates), draw.choice(ends)) for _ in range(more)
        ]
        triples += [(end, draw.choice(predicates), end) for end in draw.choices(ids, k=2)]
        triples += draw.choices(triples, k=3)
    records += [
        ["edge", *triple, values(_EDGE_VALUES, sorted(_EDGE_VALUES), 4)] for triple in triples
    ]
    records += [
        ["evidence", *triple, draw.choice(_ITEMS)]
        for triple in draw.sample(triples, len(triples) // 3)
    ]
    draw.shuffle(records)
    return DrawnGraph(number, form, LIMITS[number % len(LIMITS)], records)
