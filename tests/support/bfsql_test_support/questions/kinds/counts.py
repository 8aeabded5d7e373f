"""Questions that count, rank and group."""

import re
from collections import Counter
from typing import Any

from bfsql_test_support.questions.drawing import Drawing
from bfsql_test_support.questions.kinds.kind import MANY, Drawn, Form, Kind, Walk, largest
from bfsql_test_support.questions.toolsets import SixTools, SparqlTools


class TerminatedTrials(Kind):
    text = "How many trials that study {disease} were terminated?"
    form = Form.NUMBER
    walk = Walk("$disease", "<-studies- Trial", where=["status=terminated"])
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:studies]-(t:Trial {status: 'terminated'}) "
        "RETURN count(t) AS n"
    )
    sparql_query = (
        "SELECT (COUNT(DISTINCT ?t) AS ?n) { ?d a :Disease ; rdfs:label $disease . "
        '?t :studies ?d ; :status "terminated" }'
    )
    subject, sizes = "Disease", (2, MANY)

    def find(self, world: Drawing, disease: str, /) -> Any:
        return sum(world.has(t, status="terminated") for t in world.into(disease, "studies"))


class PapersAboutAHub(Kind):
    text = "How many papers mention {disease}?"
    form = Form.NUMBER
    walk = Walk("$disease", "<-mentions- Paper")
    cypher_query = "MATCH (:Disease {name: $disease})<-[:mentions]-(p:Paper) RETURN count(p) AS n"
    sparql_query = "SELECT (COUNT(?p) AS ?n) { ?d rdfs:label $disease . ?p :mentions ?d }"

    def draw(self, world: Drawing) -> Drawn:
        found = world.hub("Disease")
        return world.about(disease=found), len({*world.into(found, "mentions")})


class SponsorOfMostTrials(Kind):
    text = "Which company sponsors the most trials that study {disease}?"
    form = Form.NAME
    walk = Walk("$disease", "<-studies- Trial", "<-sponsors- Company", sort_by="-paths", limit=1)
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:studies]-(t:Trial)<-[:sponsors]-(c:Company) "
        "RETURN c.name AS name, count(t) AS n ORDER BY n DESC LIMIT 1"
    )
    sparql_query = (
        "SELECT ?name (COUNT(?t) AS ?n) { ?d rdfs:label $disease . ?t :studies ?d . "
        "?c :sponsors ?t ; rdfs:label ?name } GROUP BY ?c ?name ORDER BY DESC(?n) LIMIT 1"
    )
    subject = "Disease"

    def find(self, world: Drawing, disease: str, /) -> Any:
        return largest(Counter(world.follow(disease, "<-studies", "<-sponsors")))


class CentreWithMostPapers(Kind):
    text = "Members of which centre have written the most different papers that mention {disease}?"
    form = Form.NAME
    walk = Walk(
        "$disease",
        "<-mentions- Paper",
        "<-authored- Person",
        "-member_of-> Centre",
        count_distinct=1,
        sort_by="-distinct",
        limit=1,
    )
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:mentions]-(p:Paper)<-[:authored]-(:Person)"
        "-[:member_of]->(c:Centre) "
        "RETURN c.name AS name, count(DISTINCT p) AS n ORDER BY n DESC LIMIT 1"
    )
    sparql_query = (
        "SELECT ?name (COUNT(DISTINCT ?p) AS ?n) { ?d rdfs:label $disease . ?p :mentions ?d . "
        "?a :authored ?p ; :member_of ?c . ?c rdfs:label ?name } "
        "GROUP BY ?c ?name ORDER BY DESC(?n) LIMIT 1"
    )
    subject = "Disease"

    def find(self, world: Drawing, disease: str, /) -> Any:
        wrote = {
            (paper, centre)
            for paper in world.into(disease, "mentions")
            for centre in world.follow(paper, "<-authored", "member_of->")
        }
        return largest(Counter(centre for _, centre in wrote))


class TargetOfMostTreatments(Kind):
    text = "Which protein is inhibited by the most compounds that treat {disease}?"
    form = Form.NAME
    walk = Walk("$disease", "<-treats- Compound", "-inhibits-> Protein", sort_by="-paths", limit=1)
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:treats]-(c:Compound)-[:inhibits]->(p:Protein) "
        "RETURN p.name AS name, count(c) AS n ORDER BY n DESC LIMIT 1"
    )
    sparql_query = (
        "SELECT ?name (COUNT(?c) AS ?n) { ?d rdfs:label $disease . ?c :treats ?d ; "
        ":inhibits ?p . ?p rdfs:label ?name } GROUP BY ?p ?name ORDER BY DESC(?n) LIMIT 1"
    )
    subject = "Disease"

    def find(self, world: Drawing, disease: str, /) -> Any:
        return largest(Counter(world.follow(disease, "<-treats", "inhibits->")))


class MostCitedPapersOfACentre(Kind):
    text = (
        "Which three papers by members of {centre} are cited by the most papers, the most cited "
        "first?"
    )
    form = Form.RANKING
    walk = Walk(
        "$centre",
        "<-member_of- Person",
        "-authored-> Paper",
        "<-cites- Paper",
        show="2",
        count_distinct=3,
        sort_by="-distinct",
        limit=3,
    )
    cypher_query = (
        "MATCH (:Centre {name: $centre})<-[:member_of]-(:Person)-[:authored]->(p:Paper)"
        "<-[:cites]-(c:Paper) "
        "RETURN p.name AS name, count(DISTINCT c) AS n ORDER BY n DESC LIMIT 3"
    )
    sparql_query = (
        "SELECT ?name (COUNT(DISTINCT ?c) AS ?n) { ?m rdfs:label $centre . ?a :member_of ?m ; "
        ":authored ?p . ?p rdfs:label ?name . ?c :cites ?p } "
        "GROUP BY ?p ?name ORDER BY DESC(?n) LIMIT 3"
    )
    subject = "Centre"

    def find(self, world: Drawing, centre: str, /) -> Any:
        papers = world.follow(centre, "<-member_of", "authored->")
        return largest({paper: len(world.into(paper, "cites")) for paper in papers}, 3)


class NeighboursByType(Kind):
    text = "How many entities of each type are directly connected with {disease}?"
    form = Form.TABLE
    hint = "from type to number"
    cypher_query = (
        "MATCH (:Disease {name: $disease})--(x) RETURN labels(x)[0] AS type, count(DISTINCT x) AS n"
    )
    subject = "Disease"

    def find(self, world: Drawing, disease: str, /) -> Any:
        return dict(Counter(world.type(node) for node in world.undirected[disease]))

    def fits(self, world: Drawing, disease: str, /) -> bool:
        return len(world.undirected[disease]) > 8

    async def six_tools(self, ask: SixTools, disease: str) -> dict[str, int]:
        counts = (await ask.bfs(disease, max_hops=1, limit=0))["schema_summary"]["node_counts"]
        found = counts | {"Disease": counts["Disease"] - 1}  # without the seed
        return {entity_type: n for entity_type, n in found.items() if n}

    async def sparql(self, ask: SparqlTools, disease: str) -> dict[str, int]:
        rows = await ask.rows(
            "SELECT ?type (COUNT(DISTINCT ?x) AS ?n) { ?d a :Disease ; rdfs:label $disease . "
            "{ ?d ?p ?x } UNION { ?x ?p ?d } ?x a ?type FILTER(isIRI(?x)) } GROUP BY ?type",
            disease=disease,
        )
        return {row["type"].rpartition(":")[2]: int(row["n"]) for row in rows}


class TrialsInEachPhase(Kind):
    text = "How many trials that study {disease} are there in each phase?"
    form = Form.TABLE
    hint = "from phase to number"
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:studies]-(t:Trial) "
        "RETURN t.phase AS phase, count(t) AS n"
    )
    sparql_query = (
        "SELECT ?phase (COUNT(?t) AS ?n) { ?d rdfs:label $disease . "
        "?t :studies ?d ; :phase ?phase } GROUP BY ?phase"
    )
    subject = "Disease"

    def find(self, world: Drawing, disease: str, /) -> Any:
        return dict(Counter(str(world.get(t, "phase")) for t in world.into(disease, "studies")))

    def fits(self, world: Drawing, disease: str, /) -> bool:
        return 6 <= len(world.into(disease, "studies")) <= 40

    async def six_tools(self, ask: SixTools, disease: str) -> dict[str, int]:
        answer = await ask.bfs(disease, path=["<-studies- Trial"], facets=["phase"], limit=0)
        return {value: count for value, count, *_ in answer["facets"]["phase"]["values"]}


class RelationsOfAProtein(Kind):
    text = "Which relations does {protein} have, and to how many entities each?"
    form = Form.TABLE
    hint = "from predicate to number, both directions together"
    cypher_query = "MATCH (:Protein {name: $protein})-[r]-() RETURN type(r) AS type, count(r) AS n"
    subject, sizes = "Protein", (4, MANY)

    def find(self, world: Drawing, protein: str, /) -> Any:
        both = (world.graph.out_edges, world.graph.in_edges)
        return dict(Counter(p for edges in both for _, _, p in edges(protein, keys=True)))

    async def six_tools(self, ask: SixTools, protein: str) -> dict[str, int]:
        relations = (await ask.call("describe_schema", seeds=[protein]))["relations"]
        found: Counter[str] = Counter()
        for relation in relations:
            matched = re.fullmatch(r".* -(.+)-> .* \((\d+)\)", relation)
            if matched is None:
                raise ValueError(f"{relation!r} is not a relation with its count")
            found[matched[1]] += int(matched[2])
        return dict(found)

    async def sparql(self, ask: SparqlTools, protein: str) -> dict[str, int]:
        rows = await ask.rows(
            "SELECT ?p (COUNT(?x) AS ?n) { ?a rdfs:label $protein . "
            "{ ?a ?p ?x } UNION { ?x ?p ?a } FILTER(isIRI(?x) && ?p != rdf:type) } GROUP BY ?p",
            protein=protein,
        )
        return {row["p"].rpartition(":")[2]: int(row["n"]) for row in rows}
