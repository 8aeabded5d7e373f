"""The kit's graphs: small ones, each with one feature that a careless backend gets wrong."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import inf, nan
from typing import Any

from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord

HOSTILE = (
    *("single'quote", 'double"quote', "back\\slash", "trailing\\", "<http://example.org/a b>"),
    *("{brace}", "$dollar $1 ${name}", "new\nline", "carriage\rreturn\ttab", "nul\0inside"),
    *("\u202eright to left\u202c", "\U0001f9ec\U0001f469\u200d\U0001f52c", "\uffff"),
    *("e\u0301", "\u00e9", "long:" + "x" * 10_000),
    *("42", "4.20", "1e3", "-0", "null", "true", "%41", "A", "a"),
    *("percent%20escape", " outer space ", "inner  space", "%_*?[]^", "`tick`"),
    *("semi;colon--comment", "'; DROP TABLE nodes; --", "' OR '1'='1"),
    *("x> } DELETE WHERE { ?s ?p ?o } #", '" } UNION { ?s ?p ?o }'),
    *("n'}) DETACH DELETE n //", "`) MATCH (m) RETURN m //"),
    *("http://example.org/thing?a=1&b=%20#part", "[1]", '{"id": "a"}'),
)
"""Ids and names that break careless queries, encoders or sort orders."""

GONE = "gone:1"
"""An end that no record describes."""


def node_ids(records: Iterable[GraphRecord]) -> list[str]:
    """Ids of all nodes, each once, in the order of the records."""
    return list(dict.fromkeys(r.id for r in records if isinstance(r, NodeRecord)))


def smallest() -> list[GraphRecord]:
    """One node and nothing else."""
    return [NodeRecord("only", "Thing", {"name": "the only one"})]


def empty() -> list[GraphRecord]:
    """A graph without nodes."""
    return []


PAIRS = (
    *(("id:Case", "id:case"), ("id:e\u0301", "id:\u00e9"), ("id:x", "id:x "), ("id:1", "id:01")),
    *(("id:stra\u00dfe", "id:strasse"), ("id:%41", "id:A"), ("id:pattern", "id:patt%")),
    *(("id:pattern", "id:patter_"), ("007", "7"), ("4.20", "4.2"), ("id:\uff11", "id:1")),
)
"""Pairs of different ids, the first of which is in the store."""


def near_ids() -> list[GraphRecord]:
    """Nodes of which each has the first id of a pair."""
    return [NodeRecord(one, "Thing", {"name": one}) for one, _ in PAIRS]


def pairs_of_ids() -> list[GraphRecord]:
    """Nodes with both ids of each pair."""
    ids = dict.fromkeys(i for pair in PAIRS for i in pair)
    return [NodeRecord(i, "Thing", {"mark": i}) for i in ids]


def two_of_a_pattern() -> list[GraphRecord]:
    """Two nodes whose ids a pattern matches."""
    nodes = [NodeRecord("pat:ab", "Thing", {"name": "one"}), NodeRecord("pat:cd", "Thing", {})]
    return [*nodes, EdgeRecord("pat:ab", "near", "pat:cd")]


def shapes() -> list[GraphRecord]:
    """Parallel edges, self-loops, a cycle, isolated nodes, two components."""
    nodes = [
        NodeRecord(f"s:{n}", ("Drug", "Gene")[n % 2], {"name": f"shape {n}"}) for n in range(9)
    ]
    triples = [
        ("s:0", "treats", "s:1"),
        ("s:0", "causes", "s:1"),
        ("s:1", "treats", "s:0"),
        ("s:1", "treats", "s:1"),
        ("s:1", "part_of", "s:2"),
        ("s:2", "part_of", "s:3"),
        ("s:3", "part_of", "s:1"),
        ("s:5", "treats", "s:6"),
        ("s:7", "is", "s:7"),
    ]
    edges = [EdgeRecord(*triple, {"weight": n}) for n, triple in enumerate(triples)]
    return [*edges, *nodes]


def parallel() -> list[GraphRecord]:
    """Several records of one triple, of one node, and triples that read alike."""
    return [
        NodeRecord("p:1", "Drug", {"name": "one", "total_mentions": 2, "colour": "red"}),
        NodeRecord("p:2", "Gene", {"name": "two", "total_mentions": 5}),
        NodeRecord("p:1", "Drug", {"name": "another one", "colour": "blue"}),
        EdgeRecord("p:1", "treats", "p:2", {"confidence": 0.5, "note": "first", "docs": ["b"]}),
        EdgeRecord("p:1", "treats", "p:2", {"confidence": 0.75, "note": "second", "docs": ["a"]}),
        EdgeRecord("p:1", "treats", "p:2", {"confidence": 0.25, "note": "first"}),
        EdgeRecord("p:2", "treats", "p:1", {"confidence": 0.125}),
        NodeRecord("j", "Drug"),
        NodeRecord("j:k", "Drug"),
        EdgeRecord("j:k", "l", "j", {"note": "joined with a colon, it reads"}),
        EdgeRecord("j", "k:l", "j", {"note": "like this one"}),
    ]


JOINS = (":", "|", "/", "\t", "->")
"""Separators with which careless stores join the parts of a triple into one key."""


def joined() -> list[GraphRecord]:
    """Pairs of edges whose triples join to one text: `a:b` - `c` - `d` and `a` - `b:c` - `d`."""
    pairs = [((f"a{join}b", "c", "d"), ("a", f"b{join}c", "d")) for join in JOINS]
    edges = [
        EdgeRecord(*edge, {"mark": f"edge {n}"})
        for n, edge in enumerate(edge for pair in pairs for edge in pair)
    ]
    ids = sorted({end for edge in edges for end in (edge.subject, edge.object)})
    return [*(NodeRecord(i, "Thing", {"name": i}) for i in ids), *edges]


def hub(degree: int = 1_200) -> list[GraphRecord]:
    """A node with more edges than a careless limit allows."""
    nodes = [NodeRecord("hub", "Hub", {"name": "hub"})]
    nodes += [NodeRecord(f"spoke:{n:04}", "Spoke", {"name": f"spoke {n}"}) for n in range(degree)]
    half = degree // 2
    leaving = [EdgeRecord("hub", "to", f"spoke:{n:04}") for n in range(half)]
    entering = [EdgeRecord(f"spoke:{n:04}", "from", "hub") for n in range(half, degree)]
    return [*nodes, *leaving, *entering]


def dangling() -> list[GraphRecord]:
    """Edges whose other end is not a node."""
    return [
        NodeRecord("d:1", "Drug", {"name": "known"}),
        NodeRecord("d:2", "Gene", {"name": "known too"}),
        EdgeRecord("d:1", "treats", "d:2"),
        EdgeRecord("d:1", "treats", GONE),
        EdgeRecord(GONE, "causes", "d:2"),
        EdgeRecord("gone:2", "causes", GONE),
    ]


def several_types() -> list[GraphRecord]:
    """Nodes with several types, and with none."""
    return [
        NodeRecord("t:1", "Drug", {"name": "a drug and a chemical"}),
        NodeRecord("t:1", "Chemical", {"other_types": ["Compound"]}),
        NodeRecord("t:2", "", {"name": "nobody knows"}),
        NodeRecord("t:3", "", {"name": "told later"}),
        NodeRecord("t:3", "Gene"),
        EdgeRecord("t:1", "near", "t:2"),
        EdgeRecord("t:3", "near", "t:2"),
    ]


def hostile() -> list[GraphRecord]:
    """Every hostile text as an id, a name and a value, and also as a predicate or a type."""
    nodes: list[GraphRecord] = [
        NodeRecord(text, "Odd", {"name": f"named {text}"[:300], "says": text}) for text in HOSTILE
    ]
    plain = [text for text in HOSTILE if len(text) < 100 and "\0" not in text]
    types = [NodeRecord(f"typed:{n}", text, {"name": text}) for n, text in enumerate(plain)]
    ring = zip(HOSTILE, (*HOSTILE[1:], HOSTILE[0]), strict=True)
    edges = [EdgeRecord(one, "next", other, {"says": one}) for one, other in ring]
    labels = [EdgeRecord("42", text, f"typed:{n}") for n, text in enumerate(plain)]
    return [*nodes, *types, *edges, *labels]


VALUES: dict[str, Any] = {
    "text": "plain",
    "empty_text": "",
    "hostile": "'\"\\<>{}$`\n\u202e\U0001f600",
    "nul": "a\0b",
    "number_text": "42",
    "true": True,
    "false": False,
    "zero": 0,
    "negative": -17,
    "int64": 2**63 - 1,
    "huge": 2**63 + 1,
    "very_huge": -(10**40),
    "half": 0.5,
    "tenth": 0.1,
    "small": 5e-324,
    "large": 1.7976931348623157e308,
    "one": 1.0,
    "minus_zero": -0.0,
    "nan": nan,
    "infinite": inf,
    "exact": Decimal("0.1000000000000000055511151231257827"),
    "price": Decimal("19.90"),
    "whole": Decimal(7),
    "far": Decimal("1E+40"),
    "tiny": Decimal("1E-40"),
    "null": None,
    "date": date(2024, 2, 29),
    "old": date(1066, 10, 14),
    "moment": datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=UTC),
    "noon": time(12, 30),
    "texts": ["b", "a", "b"],
    "numbers": [3, 1, 2],
    "truths": [True, False],
    "nothing": [],
    "blank": [""],
    "nulls": ["a", None],
    "mixed": [1, "1", True, 1.5],
    "nested_list": [[1, 2], ["a"]],
    "map": {"b": 1, "a": "x"},
    "deep": {"a": {"b": {"c": [1, {"d": "e"}]}}},
    "maps": [{"a": 1}, {"b": 2}],
    "embedding": [0.25 + n for n in range(100)],
    "bytes": b"\x00\xff",
    "long_text": "word " * 2_000,
    "breaks": "one\r\ntwo\rthree\nfour",
    "camelCase": "Capital",
    "snake_case_2": "identifier",
    "spaced key": "odd",
    "quo'te\"d": "odd",
    "dot.ted": "odd",
    "$dollar": "odd",
    "\u00fcml\u00e4ut-\U0001f600": "odd",
    "id": "not the id",
    "entity_type": "not the type",
    "notes": "not the notes",
}
"""Values of every JSON type, and of types that are converted to one."""


def values() -> list[GraphRecord]:
    """Each value on its own node and its own edge, and all of them together."""
    names = list(VALUES)
    nodes = [NodeRecord(f"v:{n}", "Value", {key: VALUES[key]}) for n, key in enumerate(names)]
    edges = [EdgeRecord("all", "has", f"v:{n}", {key: VALUES[key]}) for n, key in enumerate(names)]
    return [NodeRecord("all", "All", {"name": "all values", **VALUES}), *nodes, *edges]


def mixed() -> list[GraphRecord]:
    """One key with values of all kinds, some of which differ only in their spelling."""
    spellings = (
        *("Caf\u00e9", "CAFE\u0301", "cafe", "stra\u00dfe", "STRASSE", "\u212aelvin", "\u0130zmir"),
        *(42, 42.0, "42.0", " 42 ", "4.2e1", "1e400", "1e-400", "9" * 40, "0" * 30 + "42", 2024),
        *("2024", "2024-02", "2024-02-29T23:30:00+02:00", "TRUE", ["Caf\u00e9", 42], ["cafe", "b"]),
        *(9_223_372_036_854_775_808, 9_007_199_254_740_993, "0.1000000000000000055511151231257827"),
        *(text for text in HOSTILE if len(text) < 100),
    )
    return [
        NodeRecord(
            f"m:{n:03}",
            ("Mixed", "Other")[n % 2],
            {"value": value} | ({"other": n % 3} if n % 4 else {}),
        )
        for n, value in enumerate((*VALUES.values(), *spellings))
    ]


def evidence() -> list[GraphRecord]:
    """Passages that support edges, some from documents that are nodes."""
    passages = [
        {"document_id": "doc:1", "section": "abstract", "text_span": "It does.", "confidence": 0.5},
        {"document_id": "doc:2", "text_span": "It does not.", "confidence": 0.25},
        {"document_id": "doc:1", "text_span": 'It\'s "said" \\ twice\n', "confidence": 0.75},
    ]
    return [
        NodeRecord("e:1", "Drug", {"name": "one"}),
        NodeRecord("e:2", "Gene", {"name": "two"}),
        NodeRecord("doc:1", "Document", {"name": "a paper"}),
        EdgeRecord("e:1", "treats", "e:2", {"confidence": 0.5}),
        EdgeRecord("e:2", "causes", "e:2"),
        *(EvidenceRecord("e:1", "treats", "e:2", item) for item in passages),
        EvidenceRecord("e:2", "causes", "e:2", passages[0]),
    ]


def crowd() -> list[GraphRecord]:
    """Sixty nodes of one name, half of each of two types, and others with similar names."""
    nodes: list[GraphRecord] = [
        NodeRecord(f"c:{n:02}", ("Person", "Place")[n % 2], {"name": "Paris"}) for n in range(60)
    ]
    nodes += [NodeRecord(f"a:{n:02}", "Person", {"name": f"About Paris {n}"}) for n in range(25)]
    others = ("Paris Hilton", "Parisienne", "Plaster of Paris", "c:05")
    nodes += [NodeRecord(f"b:{n}", "Person", {"name": name}) for n, name in enumerate(others)]
    return [*nodes, NodeRecord("Paris", "Place", {"name": "a place whose id is a name"})]


def people() -> list[GraphRecord]:
    """Nodes with names of several words, for tests of misspellings."""
    names = (
        *("Margaret Hamilton", "Katherine Johnson", "Hedy Lamarr", "Rosalind Franklin"),
        *("Chinua Achebe", "Wisława Szymborska", "Parkinson Disease", "acetylsalicylic acid"),
    )
    return [NodeRecord(f"p:{n}", "Person", {"name": name}) for n, name in enumerate(names)]


def village() -> list[GraphRecord]:
    """A graph like those in real stores, for the rules that read: shapes, evidence, odd names."""
    odd = [text for text in HOSTILE if len(text) < 100 and "\0" not in text]
    houses = [NodeRecord(f"v:{n}", "House", {"name": f"house {odd[n]}"}) for n in range(len(odd))]
    street = [EdgeRecord(f"v:{n}", "beside", f"v:{n + 1}") for n in range(len(odd) - 1)]
    return [*shapes(), *parallel(), *evidence(), *several_types(), *houses, *street]


def laboratory() -> list[GraphRecord]:
    """Values to filter and sort by, parallel and opposite edges, a loop, an end without a node."""
    states, tags = ("open", "paused", "closed"), (["a", "b"], ["b"], ["c"])
    nodes: list[GraphRecord] = [NodeRecord("l:0", "Lab", {"name": "Laboratory", "year": 1970})]
    for n in range(6):
        known = {
            "name": f"Trial {n}",
            "year": 2000 + n,
            "status": states[n % 3],
            "tags": tags[n % 3],
        }
        nodes.append(NodeRecord(f"t:{n}", "Trial", known))
    nodes += [NodeRecord(f"c:{n}", "Compound", {"name": f"Compound {n}"}) for n in range(4)]
    nodes += [
        NodeRecord(f"d:{n}", "Disease", {"name": "Twin", "since": "2020-02-29"}) for n in (0, 1)
    ]
    nodes.append(NodeRecord("d:2", "Disease", {"total_mentions": 1}))
    weighed = [
        ("c:0", "treats", "d:0", 0.25),
        ("c:1", "treats", "d:0", 0.75),
        ("c:0", "treats", "d:1", 0.5),
        ("c:2", "treats", GONE, 0.5),
        ("c:0", "causes", "d:0", 0.75),
        ("c:0", "interacts_with", "c:1", 0.25),
        ("c:1", "interacts_with", "c:0", 0.25),
        ("c:1", "interacts_with", "c:2", 0.5),
        ("c:2", "interacts_with", "c:2", 0.5),
        *((f"t:{n}", "studies", f"d:{n % 3}", n / 4) for n in range(6)),
        *((f"t:{n}", "tests", f"c:{n % 4}", 0.5) for n in range(1, 6)),
    ]
    runs = [EdgeRecord("l:0", "runs", f"t:{n}") for n in range(5)]
    return [*nodes, *runs, *(EdgeRecord(s, p, o, {"confidence": c}) for s, p, o, c in weighed)]


def scored() -> list[GraphRecord]:
    """Numbers, text that is a number, and text, as the values of one property."""
    values = (1, 2.5, "3", "high", "low", "2020-02-29")
    nodes = [NodeRecord(f"r:{n}", "Result", {"score": one}) for n, one in enumerate(values)]
    edges = [EdgeRecord(f"q:{n}", "has", f"r:{n % 6}") for n in range(20)]
    return [*nodes, *(NodeRecord(f"q:{n}", "Query") for n in range(20)), *edges]


def tangled() -> list[GraphRecord]:
    """Cases that break numbered ids: text orders, ends without a node, every shape of edge."""
    return [*village(), *dangling(), *hostile()]


def broad(predicates: int, spokes: int) -> list[GraphRecord]:
    """A hub with an edge of each predicate to each spoke."""
    nodes = [NodeRecord(f"spoke:{n:04}", "Spoke") for n in range(spokes)]
    names = [f"to:{n:04}" for n in range(predicates)]
    edges = [EdgeRecord("hub", name, spoke.id) for name in names for spoke in nodes]
    return [NodeRecord("hub", "Hub"), *nodes, *edges]


GRAPHS = {
    graph.__name__: graph
    for graph in (
        *(empty, smallest, shapes, parallel, hub, dangling, several_types, hostile, values),
        *(evidence, crowd),
    )
}
"""Every graph of the kit by its name."""
