"""Questions about connections between entities, and about what they share."""

import re
from itertools import pairwise
from typing import Any

import networkx as nx

from bfsql_test_support.questions.drawing import Drawing
from bfsql_test_support.questions.kinds.kind import Drawn, Form, Kind, Walk, names
from bfsql_test_support.questions.toolsets import CypherTools, SixTools, SparqlTools

FAR = 5
"""Most relations on a connection, where a plan has to set a bound."""


class HowTwoAreConnected(Kind):
    text = (
        "How are {one} and {other} connected, by as few relations as possible? Name everything "
        "that lies on the shortest connections."
    )
    hint = "without the two"

    def attempt(self, world: Drawing) -> Drawn | None:
        one, other = world.one("Compound"), world.one("Person")
        paths = list(nx.all_shortest_paths(world.undirected, one, other))
        between = {node for path in paths for node in path[1:-1]}
        if not 2 <= len(between) <= 16 or len(paths[0]) > 4:
            return None
        return world.about(one=one, other=other), world.names(between)

    async def six_tools(self, ask: SixTools, one: str, other: str) -> list[str]:
        answer = await ask.bfs(one, to=[other], fields=["name"])
        return [name for name in names(answer["nodes"]) if name not in (one, other)]

    async def cypher(self, ask: CypherTools, one: str, other: str) -> list[str]:
        found = await ask.column(
            "MATCH p = allShortestPaths((:Compound {name: $one})-[*..5]-(:Person {name: $other})) "
            "RETURN [n IN nodes(p) | n.name] AS names, [r IN relationships(p) | type(r)] AS types",
            one=one,
            other=other,
        )
        return [name for path in found for name in path[1:-1]]

    async def sparql(self, ask: SparqlTools, one: str, other: str) -> list[str]:
        for far in range(1, FAR + 1):
            rows = await ask.rows(_chain(far), one=one, other=other)
            if rows:
                return [row[f"n{step}"] for row in rows for step in range(1, far)]
        raise ValueError(f"{one} and {other} are not connected")


def _chain(far: int) -> str:
    """A query for connections of a given number of relations, each in either direction."""
    ends = ["?one", *(f"?x{step}" for step in range(1, far)), "?other"]
    steps = [
        f"{{ {a} ?p{i} {b} }} UNION {{ {b} ?p{i} {a} }} FILTER(?p{i} != rdf:type)"
        for i, (a, b) in enumerate(pairwise(ends))
    ]
    inner = range(1, far)
    called = [f"?x{step} rdfs:label ?n{step} ." for step in inner]
    shown = [*(f"?n{step}" for step in inner), *(f"?p{i}" for i in range(far))]
    return (
        f"SELECT DISTINCT {' '.join(shown)} {{ ?one rdfs:label $one . ?other rdfs:label $other . "
        f"{' '.join(steps)} {' '.join(called)} }}"
    )


class HowFarApart(Kind):
    text = "How many relations are there at the least on a connection of {one} and {other}?"
    form = Form.NUMBER
    cypher_query = (
        "MATCH p = shortestPath((:Company {name: $one})-[*..5]-(:Family {name: $other})) "
        "RETURN length(p) AS n"
    )

    def attempt(self, world: Drawing) -> Drawn | None:
        one, other = world.one("Company"), world.one("Family")
        far = nx.shortest_path_length(world.undirected, one, other)
        return (world.about(one=one, other=other), far) if 2 < far <= FAR else None

    async def six_tools(self, ask: SixTools, one: str, other: str) -> int:
        answer = await ask.bfs(one, to=[other], limit=0)
        lengths = [re.search(r"(\d+) (?:edge|hop|step|relation)", note) for note in answer["notes"]]
        [found] = [int(length[1]) for length in lengths if length]
        return found

    async def sparql(self, ask: SparqlTools, one: str, other: str) -> int:
        for far in range(1, FAR + 1):
            if await ask.rows(f"{_chain(far)} LIMIT 1", one=one, other=other):
                return far
        raise ValueError(f"{one} and {other} are not connected")


class WhatTwoDiseasesShare(Kind):
    text = "What is directly connected with both {one} and {other}, and by which relations?"
    form = Form.TABLE
    hint = "from name to the list of its predicates, those of both sides together"

    def attempt(self, world: Drawing) -> Drawn | None:
        one, other = world.one("Disease"), world.one("Disease")
        if one == other or other in world.undirected[one]:
            return None
        common = set(nx.common_neighbors(world.undirected, one, other))
        if not 2 <= len(common) <= 16 or not common <= world.unique:
            return None
        how = {world.name(node): _predicates(world, node, [one, other]) for node in common}
        return world.about(one=one, other=other), how

    async def six_tools(self, ask: SixTools, one: str, other: str) -> dict[str, list[str]]:
        answer = await ask.call(
            "intersect_subgraphs", seeds=[one, other], k=1, connect=True, fields=["name"]
        )
        shared = {n["id"]: n["metadata"]["name"] for n in answer["nodes"] if not n.get("via")}
        how: dict[str, set[str]] = {name: set() for name in shared.values()}
        for edge in answer["edges"]:
            ends = {edge["subject"], edge["object"]}
            for end in ends & shared.keys() if ends & {*answer["seeds"]} else ():
                how[shared[end]].add(edge["predicate"])
        return {name: sorted(found) for name, found in how.items()}

    async def cypher(self, ask: CypherTools, one: str, other: str) -> dict[str, list[str]]:
        rows = await ask.rows(
            "MATCH (:Disease {name: $one})-[r]-(x)-[s]-(:Disease {name: $other}) "
            "RETURN x.name AS name, collect(DISTINCT type(r)) AS one, "
            "collect(DISTINCT type(s)) AS other",
            one=one,
            other=other,
        )
        return {row["name"]: sorted({*row["one"], *row["other"]}) for row in rows}

    async def sparql(self, ask: SparqlTools, one: str, other: str) -> dict[str, list[str]]:
        sides = (
            f"{{ ?{a} ?{p} ?x }} UNION {{ ?x ?{p} ?{a} }} FILTER(?{p} != rdf:type)"
            for a, p in (("a", "p"), ("b", "q"))
        )
        rows = await ask.rows(
            "SELECT DISTINCT ?name ?p ?q { ?a rdfs:label $one . ?b rdfs:label $other . "
            f"{' '.join(sides)} ?x rdfs:label ?name }}",
            one=one,
            other=other,
        )
        how: dict[str, set[str]] = {}
        for row in rows:
            both = (row[key].rpartition(":")[2] for key in ("p", "q"))
            how.setdefault(row["name"], set()).update(both)
        return {name: sorted(found) for name, found in how.items()}


def _predicates(world: Drawing, node: str, others: list[str]) -> list[str]:
    edges = world.graph.edges(keys=True)
    near = {frozenset((node, other)) for other in others}
    return sorted({p for s, o, p in edges if frozenset((s, o)) in near})


class WhatThreeProteinsShare(Kind):
    text = "What is directly connected with all three of {proteins}?"
    cypher_query = (
        "MATCH (p:Protein)--(x) WHERE p.name IN $proteins "
        "WITH x, count(DISTINCT p) AS n WHERE n = 3 RETURN x.name AS name"
    )

    def attempt(self, world: Drawing) -> Drawn | None:
        middle = world.of(world.choice(["Compound", "Disease", "Paper", "Protein"]))
        near = [p for p in world.undirected[world.choice(middle)] if p in world.unique]
        near = [p for p in near if world.type(p) == "Protein"]
        if len(near) < 3:
            return None
        three = world.chance.sample(sorted(near), 3)
        common = set.intersection(*(set(world.undirected[p]) for p in three)) - set(three)
        joined = any(world.undirected.has_edge(a, b) for a in three for b in three)
        about = {"proteins": [world.name(p) for p in three]}
        return (about, world.names(common)) if not joined and len(common) < 12 else None

    async def six_tools(self, ask: SixTools, proteins: list[str]) -> list[str]:
        answer = await ask.call("intersect_subgraphs", seeds=proteins, k=1, fields=["name"])
        return names(answer["nodes"])

    async def sparql(self, ask: SparqlTools, proteins: list[str]) -> list[str]:
        sides = (f"{{ ?a{i} ?p{i} ?x }} UNION {{ ?x ?p{i} ?a{i} }}" for i in range(3))
        called = " ".join(f"?a{i} rdfs:label $protein{i} ." for i in range(3))
        return await ask.column(
            f"SELECT DISTINCT ?name {{ {called} {' '.join(sides)} ?x rdfs:label ?name }}",
            **{f"protein{i}": protein for i, protein in enumerate(proteins)},
        )


class NeighboursApartFromPapers(Kind):
    text = "What is directly connected with {compound}, apart from papers?"
    walk = Walk("$compound", "--", exclude_node_types=["Paper"])
    cypher_query = (
        "MATCH (:Compound {name: $compound})--(x) WHERE NOT x:Paper RETURN DISTINCT x.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?c rdfs:label $compound . "
        "{ ?c ?p ?x } UNION { ?x ?p ?c } ?x rdfs:label ?name "
        "FILTER NOT EXISTS { ?x a :Paper } }"
    )
    subject, sizes = "Compound", (5, 30)

    def find(self, world: Drawing, compound: str, /) -> Any:
        return [n for n in world.undirected[compound] if world.type(n) != "Paper"]
