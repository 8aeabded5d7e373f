"""Questions about groups, sums, means and extremes, also of all entities of a type."""

from collections import Counter
from statistics import fmean
from typing import Any

from bfsql_test_support.questions.drawing import Drawing, NothingFits
from bfsql_test_support.questions.kinds.kind import Drawn, Form, Kind, Walk, largest, names
from bfsql_test_support.questions.toolsets import SixTools
from bfsql_test_support.questions.worlds import PHASES, STATUSES


class StatusesOfAPhase(Kind):
    text = "How many trials of phase {phase} are there in each status?"
    form = Form.TABLE
    hint = "from status to number"
    cypher_query = "MATCH (t:Trial {phase: $phase}) RETURN t.status AS status, count(t) AS n"
    sparql_query = (
        "SELECT ?status (COUNT(?t) AS ?n) { ?t a :Trial ; :phase $phase ; :status ?status } "
        "GROUP BY ?status"
    )

    def draw(self, world: Drawing) -> Drawn:
        phase = world.choice(PHASES)
        trials = world.of("Trial", phase=phase)
        return {"phase": phase}, dict(Counter(world.get(t, "status") for t in trials))

    async def six_tools(self, ask: SixTools, phase: int) -> dict[str, int]:
        answer = await ask.bfs(f"Trial[phase={phase}]", facets=["status"], limit=0)
        return {value: count for value, count, *_ in answer["facets"]["status"]["values"]}


class StatusesOfAntibodyTrials(Kind):
    text = "Of the trials that study {disease} and test an antibody, how many have each status?"
    form = Form.TABLE
    hint = "from status to number"
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:studies]-(t:Trial)-[:tests]->"
        "(:Compound {form: 'antibody'}) RETURN t.status AS status, count(DISTINCT t) AS n"
    )
    sparql_query = (
        "SELECT ?status (COUNT(DISTINCT ?t) AS ?n) { ?d a :Disease ; rdfs:label $disease . "
        '?t :studies ?d ; :status ?status ; :tests ?c . ?c :form "antibody" } GROUP BY ?status'
    )
    subject = "Disease"

    def find(self, world: Drawing, disease: str, /) -> Any:
        return dict(
            Counter(
                world.get(t, "status")
                for t in world.into(disease, "studies")
                if any(world.has(c, form="antibody") for c in world.out(t, "tests"))
            )
        )

    def fits(self, world: Drawing, disease: str, /) -> bool:
        return bool(sum(self.find(world, disease).values()) > 3)

    async def six_tools(self, ask: SixTools, disease: str) -> dict[str, int]:
        steps = ["<-studies- Trial", "-tests-> Compound[form=antibody]"]
        answer = await ask.bfs(disease, path=steps, facets=["1.status"], limit=0)
        return {value: count for value, count, *_ in answer["facets"]["1.status"]["values"]}


class MeanEnrolment(Kind):
    text = "What is the mean enrolment of the trials that study {disease}?"
    form = Form.NUMBER
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:studies]-(t:Trial) RETURN avg(t.enrolment) AS n"
    )
    sparql_query = (
        "SELECT (AVG(?size) AS ?n) { ?d a :Disease ; rdfs:label $disease . "
        "?t :studies ?d ; :enrolment ?size }"
    )
    subject = "Disease"

    def find(self, world: Drawing, disease: str, /) -> Any:
        return fmean(world.get(t, "enrolment") for t in world.into(disease, "studies"))

    def fits(self, world: Drawing, disease: str, /) -> bool:
        return len(world.into(disease, "studies")) > 3

    async def six_tools(self, ask: SixTools, disease: str) -> float:
        path = ["<-studies- Trial"]
        answer = await ask.bfs(disease, path=path, facets=["enrolment:1"], limit=0)
        return float(answer["facets"]["enrolment"]["mean"])


class SponsorOfMostPatients(Kind):
    text = "Which company has the largest enrolment in all phase {phase} trials that it sponsors?"
    form = Form.NAME
    walk = Walk(
        "Trial[phase=$phase]",
        "<-sponsors- Company",
        measure="sum 0.enrolment",
        sort_by="-measure",
        limit=1,
    )
    cypher_query = (
        "MATCH (t:Trial {phase: $phase})<-[:sponsors]-(c:Company) "
        "RETURN c.name AS name, sum(t.enrolment) AS n ORDER BY n DESC LIMIT 1"
    )
    sparql_query = (
        "SELECT ?name (SUM(?size) AS ?n) { ?t :phase $phase ; :enrolment ?size . "
        "?c :sponsors ?t ; rdfs:label ?name } GROUP BY ?c ?name ORDER BY DESC(?n) LIMIT 1"
    )

    def attempt(self, world: Drawing) -> Drawn | None:
        phase = world.choice(PHASES)
        sums: Counter[str] = Counter()
        for trial in world.of("Trial", phase=phase):
            sums.update(dict.fromkeys(world.into(trial, "sponsors"), world.get(trial, "enrolment")))
        best = largest(sums)
        return ({"phase": phase}, world.name(best[0])) if best else None


class LargestTrialsOfAll(Kind):
    text = "Which three trials with the status {status} are the largest, the largest first?"
    form = Form.RANKING
    cypher_query = (
        "MATCH (t:Trial {status: $status}) RETURN t.name AS name ORDER BY t.enrolment DESC LIMIT 3"
    )
    sparql_query = (
        "SELECT ?name { ?t a :Trial ; :status $status ; :enrolment ?n ; rdfs:label ?name } "
        "ORDER BY DESC(?n) LIMIT 3"
    )

    def draw(self, world: Drawing) -> Drawn:
        for status in STATUSES:
            sizes = {t: world.get(t, "enrolment") for t in world.of("Trial", status=status)}
            if best := largest(sizes, 3):
                return {"status": status}, [world.name(t) for t in best]
        raise NothingFits("Trial")

    async def six_tools(self, ask: SixTools, status: str) -> list[str]:
        seed = f"Trial[status={status}]"
        answer = await ask.bfs(seed, sort_by="-enrolment", limit=3, fields=["name"])
        return names(answer["nodes"])


class MostCitedPaperOfAYear(Kind):
    text = "Which paper of {year} is cited by the most papers?"
    form = Form.NAME
    walk = Walk(
        "Paper[year=$year]",
        "<-cites- Paper",
        show="0",
        measure="count 1",
        sort_by="-measure",
        limit=1,
    )
    cypher_query = (
        "MATCH (p:Paper {year: $year})<-[:cites]-(c:Paper) "
        "RETURN p.name AS name, count(c) AS n ORDER BY n DESC LIMIT 1"
    )
    sparql_query = (
        "SELECT ?name (COUNT(?c) AS ?n) { ?p a :Paper ; :year $year ; rdfs:label ?name . "
        "?c :cites ?p } GROUP BY ?p ?name ORDER BY DESC(?n) LIMIT 1"
    )

    def attempt(self, world: Drawing) -> Drawn | None:
        year = world.get(world.one("Paper"), "year")
        best = largest({p: len(world.into(p, "cites")) for p in world.of("Paper", year=year)})
        return ({"year": year}, world.name(best[0])) if best else None


class LatestPaperOfEachMember(Kind):
    text = "In which year did each member of {centre} who has written a paper publish the latest?"
    form = Form.TABLE
    hint = "from person to year"
    cypher_query = (
        "MATCH (:Centre {name: $centre})<-[:member_of]-(p:Person)-[:authored]->(d:Paper) "
        "RETURN p.name AS name, max(d.year) AS year"
    )
    sparql_query = (
        "SELECT ?name (MAX(?y) AS ?year) { ?c rdfs:label $centre . ?p :member_of ?c ; "
        "rdfs:label ?name ; :authored ?d . ?d :year ?y } GROUP BY ?p ?name"
    )

    def draw(self, world: Drawing) -> Drawn:
        def latest(centre: str) -> dict[str, int]:
            years = {
                p: [world.get(paper, "year") for paper in world.out(p, "authored")]
                for p in world.into(centre, "member_of")
            }
            return {world.name(p): max(found) for p, found in years.items() if found}

        def fits(centre: str) -> bool:
            members = world.into(centre, "member_of")
            return 2 < len(members) <= 40 and set(members) <= world.unique and bool(latest(centre))

        try:
            found = world.one("Centre", fits)
        except NothingFits:  # in a large world every centre has a namesake among its members
            found = world.one("Centre", lambda c: len(latest(c)) > 2)
        return {"centre": world.name(found)}, latest(found)

    async def six_tools(self, ask: SixTools, centre: str) -> dict[str, int]:
        steps = ("<-member_of- Person", "-authored-> Paper")
        found = await ask.walk(centre, *steps, show="1", measure="max 2.year")
        return {node["metadata"]["name"]: node["measure"] for node in found}
