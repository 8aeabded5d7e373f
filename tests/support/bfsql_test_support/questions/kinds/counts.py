"""Questions that count, rank and group."""

from __future__ import annotations

import re
from collections import Counter

from bfsql_test_support.questions.drawing import Drawing
from bfsql_test_support.questions.kinds.kind import Drawn, Form, Kind, Walk
from bfsql_test_support.questions.toolsets import SixTools, SparqlTools


def _leader(counts: Counter[str]) -> str | None:
    """The most frequent item; None if another is as frequent, or if there is no other."""
    first = counts.most_common(2)
    return None if len(first) < 2 or first[0][1] == first[1][1] else first[0][0]


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

    def draw(self, world: Drawing) -> Drawn:
        def count(disease: str) -> int:
            trials = world.into(disease, "studies")
            return sum(world.get(t, "status") == "terminated" for t in trials)

        found = world.one("Disease", lambda d: count(d) > 1)
        return {"disease": world.name(found)}, count(found)


class PapersAboutAHub(Kind):
    text = "How many papers mention {disease}?"
    form = Form.NUMBER
    walk = Walk("$disease", "<-mentions- Paper")
    cypher_query = "MATCH (:Disease {name: $disease})<-[:mentions]-(p:Paper) RETURN count(p) AS n"
    sparql_query = "SELECT (COUNT(?p) AS ?n) { ?d rdfs:label $disease . ?p :mentions ?d }"

    def draw(self, world: Drawing) -> Drawn:
        found = world.hub("Disease")
        return {"disease": world.name(found)}, len(set(world.into(found, "mentions")))


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

    def draw(self, world: Drawing) -> Drawn:
        def sponsor(disease: str) -> str | None:
            trials = world.into(disease, "studies")
            return _leader(Counter(c for t in trials for c in world.into(t, "sponsors")))

        found = world.one("Disease", sponsor)
        return {"disease": world.name(found)}, world.name(sponsor(found) or "")


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

    def draw(self, world: Drawing) -> Drawn:
        def centre(disease: str) -> str | None:
            wrote = {
                (paper, where)
                for paper in world.into(disease, "mentions")
                for person in world.into(paper, "authored")
                for where in world.out(person, "member_of")
            }
            return _leader(Counter(where for _, where in wrote))

        found = world.one("Disease", centre)
        return {"disease": world.name(found)}, world.name(centre(found) or "")


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

    def draw(self, world: Drawing) -> Drawn:
        def target(disease: str) -> str | None:
            compounds = world.into(disease, "treats")
            return _leader(Counter(p for c in compounds for p in world.out(c, "inhibits")))

        found = world.one("Disease", target)
        return {"disease": world.name(found)}, world.name(target(found) or "")


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

    def draw(self, world: Drawing) -> Drawn:
        def ranking(centre: str) -> list[str] | None:
            members = world.into(centre, "member_of")
            papers = {paper for person in members for paper in world.out(person, "authored")}
            counts = Counter({paper: len(world.into(paper, "cites")) for paper in papers})
            first = counts.most_common(4)
            strict = len(first) == 4 and len({n for _, n in first}) == 4
            return [paper for paper, _ in first[:3]] if strict else None

        found = world.one("Centre", ranking)
        return {"centre": world.name(found)}, [world.name(p) for p in ranking(found) or ()]


class NeighboursByType(Kind):
    text = "How many entities of each type are directly connected with {disease}?"
    form = Form.TABLE
    hint = "from type to number"
    cypher_query = (
        "MATCH (:Disease {name: $disease})--(x) RETURN labels(x)[0] AS type, count(DISTINCT x) AS n"
    )

    def draw(self, world: Drawing) -> Drawn:
        found = world.one("Disease", lambda d: len(set(world.undirected[d])) > 8)
        counts = Counter(world.type(node) for node in world.undirected[found])
        return {"disease": world.name(found)}, dict(counts)

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

    def draw(self, world: Drawing) -> Drawn:
        found = world.one("Disease", lambda d: 6 <= len(world.into(d, "studies")) <= 40)
        counts = Counter(str(world.get(t, "phase")) for t in world.into(found, "studies"))
        return {"disease": world.name(found)}, dict(counts)

    async def six_tools(self, ask: SixTools, disease: str) -> dict[str, int]:
        answer = await ask.bfs(disease, path=["<-studies- Trial"], facets=["phase"], limit=0)
        return dict(answer["facets"]["phase"]["values"])


class RelationsOfAProtein(Kind):
    text = "Which relations does {protein} have, and to how many entities each?"
    form = Form.TABLE
    hint = "from predicate to number, both directions together"
    cypher_query = "MATCH (:Protein {name: $protein})-[r]-() RETURN type(r) AS type, count(r) AS n"

    def draw(self, world: Drawing) -> Drawn:
        def counts(protein: str) -> Counter[str]:
            edges = [p for _, _, p in world.graph.out_edges(protein, keys=True)]
            return Counter([*edges, *(p for _, _, p in world.graph.in_edges(protein, keys=True))])

        found = world.one("Protein", lambda p: len(counts(p)) > 3)
        return {"protein": world.name(found)}, dict(counts(found))

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
