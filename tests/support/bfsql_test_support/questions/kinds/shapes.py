"""Questions whose relations form a chain, a cycle or a fork, and walks as rows."""

import re
from typing import Any

import networkx as nx

from bfsql_test_support.questions.drawing import Drawing
from bfsql_test_support.questions.kinds.kind import MANY, Drawn, Form, Kind, Walk, names
from bfsql_test_support.questions.toolsets import CypherTools, SixTools, SparqlTools

FAR = 5
"""Most papers on a chain of coauthors, where a plan has to set a bound."""


class PeopleBetweenTwoAuthors(Kind):
    text = "How many people stand between {one} and {other} on a shortest chain of coauthors?"
    form = Form.NUMBER

    def draw(self, world: Drawing) -> Drawn:
        edges = [(s, o) for s, o, p in world.graph.edges(keys=True) if p == "authored"]
        authored = nx.Graph(edges)

        def chosen() -> Drawn | None:
            one = world.one("Person", authored.has_node)
            other = world.one("Person", authored.has_node)
            if one == other or not nx.has_path(authored, one, other):
                return None
            papers = nx.shortest_path_length(authored, one, other) // 2
            about = {"one": world.name(one), "other": world.name(other)}
            return (about, papers - 1) if 2 <= papers <= FAR else None

        return world.until(chosen)

    async def six_tools(self, ask: SixTools, one: str, other: str) -> int:
        answer = await ask.bfs(one, to=[other], along=["-authored-"], limit=0)
        [edges] = [int(n) for note in answer["notes"] for n in re.findall(r"(\d+) edge", note)]
        return edges // 2 - 1

    async def cypher(self, ask: CypherTools, one: str, other: str) -> int:
        edges = await ask.value(
            "MATCH p = shortestPath((:Person {name: $one})-[:authored*..10]-"
            "(:Person {name: $other})) RETURN length(p) AS n",
            one=one,
            other=other,
        )
        return int(edges) // 2 - 1

    async def sparql(self, ask: SparqlTools, one: str, other: str) -> int:
        for papers in range(1, FAR + 1):
            chain = "/".join([":authored/^:authored"] * papers)
            query = (
                f"SELECT ?a {{ ?a rdfs:label $one ; {chain} ?b . ?b rdfs:label $other }} LIMIT 1"
            )
            if await ask.rows(query, one=one, other=other):
                return papers - 1
        raise ValueError(f"{one} and {other} are not connected")


class EverythingAboveADisease(Kind):
    text = "Of which diseases is {disease} a kind, directly or through any number of others?"
    cypher_query = "MATCH (:Disease {name: $disease})-[:is_a*]->(d) RETURN DISTINCT d.name AS name"
    sparql_query = (
        "SELECT DISTINCT ?name { ?a a :Disease ; rdfs:label $disease ; :is_a+ ?d . "
        "?d rdfs:label ?name }"
    )
    subject, sizes = "Disease", (2, MANY)

    def find(self, world: Drawing, disease: str, /) -> Any:
        return world.within(disease, "is_a", len(world.of("Disease")))

    async def six_tools(self, ask: SixTools, disease: str) -> list[str]:
        answer = await ask.bfs(disease, along=["-is_a->"], fields=["name"])
        return [name for name in names(answer["nodes"]) if name != disease]


class TrianglesOfAProtein(Kind):
    text = "Which proteins interact with {protein} and with another protein that does so, too?"
    cypher_query = (
        "MATCH (a:Protein {name: $protein})-[:interacts_with]-(p)-[:interacts_with]-()"
        "-[:interacts_with]-(a) RETURN DISTINCT p.name AS name"
    )
    subject, sizes = "Protein", (2, 20)

    def find(self, world: Drawing, protein: str, /) -> Any:
        around = {*world.follow(protein, "-interacts_with-")}
        return {p for p in around if around & {*world.follow(p, "-interacts_with-")}}

    async def six_tools(self, ask: SixTools, protein: str) -> list[str]:
        steps = ["-interacts_with- Protein"] * 3
        return names(await ask.walk(protein, *steps, where=["3 = 0"], show="1"))

    async def sparql(self, ask: SparqlTools, protein: str) -> list[str]:
        both = "(:interacts_with|^:interacts_with)"
        return await ask.column(
            f"SELECT DISTINCT ?name {{ ?a a :Protein ; rdfs:label $protein ; {both} ?p . "
            f"?p {both} ?q ; rdfs:label ?name . ?q {both} ?a }}",
            protein=protein,
        )


class PapersThatTheirAuthorCites(Kind):
    text = "Which of their own papers does {person} cite?"
    walk = Walk(
        "$person",
        "-authored-> Paper",
        "-cites-> Paper",
        "<-authored- Person",
        where=["3 = 0"],
        show="2",
    )
    cypher_query = (
        "MATCH (a:Person {name: $person})-[:authored]->(:Paper)-[:cites]->(p:Paper)"
        "<-[:authored]-(a) RETURN DISTINCT p.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?a rdfs:label $person ; :authored ?q , ?p . ?q :cites ?p . "
        "?p rdfs:label ?name }"
    )
    subject, sizes = "Person", (2, MANY)

    def find(self, world: Drawing, person: str, /) -> Any:
        papers = {*world.out(person, "authored")}
        return {cited for paper in papers for cited in world.out(paper, "cites")} & papers


class CompoundsThatTreatAndInhibit(Kind):
    text = "Which compounds treat {disease} and inhibit {protein}?"
    walk = Walk("$disease", "<-treats- Compound[-inhibits-> $protein]")
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:treats]-(c:Compound)-[:inhibits]->"
        "(:Protein {name: $protein}) RETURN c.name AS name"
    )
    sparql_query = (
        "SELECT ?name { ?d rdfs:label $disease . ?p rdfs:label $protein . "
        "?c :treats ?d ; :inhibits ?p ; rdfs:label ?name }"
    )

    def attempt(self, world: Drawing) -> Drawn | None:
        protein = world.one("Protein", lambda p: len(world.into(p, "inhibits")) > 2)
        disease = world.one("Disease")
        treating = world.into(disease, "treats")
        both = {*treating} & {*world.into(protein, "inhibits")}
        if len(both) < 2 or len(both) == len(treating):
            return None
        return world.about(disease=disease, protein=protein), world.names(both)


class RivalsOfACompound(Kind):
    text = (
        "Which compounds other than {compound} are tested in a trial of a disease that another "
        "trial, of {compound}, studies?"
    )
    walk = Walk(
        "$compound",
        "<-tests- Trial",
        "-studies-> Disease",
        "<-studies- Trial",
        "-tests-> Compound",
        where=["4 != 0"],
    )
    cypher_query = (
        "MATCH (a:Compound {name: $compound})<-[:tests]-(:Trial)-[:studies]->(:Disease)"
        "<-[:studies]-(:Trial)-[:tests]->(c:Compound) WHERE c <> a "
        "RETURN DISTINCT c.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?a rdfs:label $compound . ?t :tests ?a ; :studies ?d . "
        "?u :studies ?d ; :tests ?c . ?c rdfs:label ?name FILTER(?t != ?u && ?c != ?a) }"
    )
    subject, sizes = "Compound", (2, 40)

    def find(self, world: Drawing, compound: str, /) -> Any:
        trials = world.into(compound, "tests")
        pairs = ((t, d) for t in trials for d in world.out(t, "studies"))
        others = {u for t, d in pairs for u in world.into(d, "studies") if u != t}
        return {c for u in others for c in world.out(u, "tests")} - {compound}


class SponsorsOfEachTrial(Kind):
    text = "Which trials test {compound}, and which companies sponsor each of them?"
    form = Form.TABLE
    hint = "from trial to the list of its companies"
    subject, sizes = "Compound", (3, 20)

    def find(self, world: Drawing, compound: str, /) -> Any:
        trials = world.into(compound, "tests")
        return {world.name(t): world.names(world.into(t, "sponsors")) for t in trials}

    async def six_tools(self, ask: SixTools, compound: str) -> dict[str, list[str]]:
        steps = ["<-tests- Trial", "<-sponsors- Company"]
        answer = await ask.bfs(compound, path=steps, show="walks", fields=["name"])
        called = {node["id"]: node["metadata"]["name"] for node in answer["nodes"]}
        rows = [[called[node] for node in walk["nodes"]] for walk in answer["walks"]]
        return _grouped([(trial, company) for _, trial, company in rows])

    async def cypher(self, ask: CypherTools, compound: str) -> dict[str, list[str]]:
        rows = await ask.rows(
            "MATCH (:Compound {name: $compound})<-[:tests]-(t:Trial)<-[:sponsors]-(c:Company) "
            "RETURN t.name AS trial, c.name AS company",
            compound=compound,
        )
        return _grouped([(row["trial"], row["company"]) for row in rows])

    async def sparql(self, ask: SparqlTools, compound: str) -> dict[str, list[str]]:
        rows = await ask.rows(
            "SELECT ?trial ?company { ?a rdfs:label $compound . ?t :tests ?a ; rdfs:label ?trial . "
            "?c :sponsors ?t ; rdfs:label ?company }",
            compound=compound,
        )
        return _grouped([(row["trial"], row["company"]) for row in rows])


def _grouped(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for first, second in pairs:
        found.setdefault(first, []).append(second)
    return found
