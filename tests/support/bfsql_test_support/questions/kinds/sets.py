"""Questions about sets of entities: by type and properties, by "no" and by "at least"."""

from typing import Any

from bfsql_test_support.questions.drawing import Drawing
from bfsql_test_support.questions.kinds.kind import Drawn, Form, Kind, Walk, names
from bfsql_test_support.questions.toolsets import SixTools, SparqlTools
from bfsql_test_support.questions.worlds import FORMS


class TerminatedTrialsAboveASize(Kind):
    text = "Which phase 3 trials with an enrolment above {least} were terminated?"
    cypher_query = (
        "MATCH (t:Trial {phase: 3, status: 'terminated'}) WHERE t.enrolment > $least "
        "RETURN t.name AS name"
    )
    sparql_query = (
        'SELECT ?name { ?t a :Trial ; :phase 3 ; :status "terminated" ; :enrolment ?n ; '
        "rdfs:label ?name FILTER(?n > $least) }"
    )

    def draw(self, world: Drawing) -> Drawn:
        found = world.of("Trial", phase=3, status="terminated")
        found.sort(key=lambda t: -int(world.get(t, "enrolment")))
        least = world.get(found[min(6, len(found) - 1)], "enrolment")
        above = [t for t in found if world.get(t, "enrolment") > least]
        return {"least": least}, world.names(above)

    async def six_tools(self, ask: SixTools, least: int) -> list[str]:
        seed = f"Trial[phase=3][status=terminated][enrolment>{least}]"
        return names((await ask.bfs(seed, fields=["name"]))["nodes"])


class ApprovedCompoundsOfAForm(Kind):
    text = "How many compounds of the form {form} have a year of approval?"
    form = Form.NUMBER
    cypher_query = (
        "MATCH (c:Compound {form: $form}) WHERE c.approved IS NOT NULL RETURN count(c) AS n"
    )
    sparql_query = "SELECT (COUNT(?c) AS ?n) { ?c a :Compound ; :form $form ; :approved ?year }"

    def draw(self, world: Drawing) -> Drawn:
        form = world.choice(FORMS)
        compounds = world.of("Compound", form=form)
        return {"form": form}, sum("approved" in world.metadata(c) for c in compounds)

    async def six_tools(self, ask: SixTools, form: str) -> Any:
        return (await ask.bfs(f"Compound[form={form}][approved]", limit=0))["node_count"]


class CompoundsWithoutApproval(Kind):
    text = "Which compounds that treat {disease} have no year of approval?"
    walk = Walk("$disease", "<-treats- Compound[no approved]")
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:treats]-(c:Compound) WHERE c.approved IS NULL "
        "RETURN c.name AS name"
    )
    sparql_query = (
        "SELECT ?name { ?d a :Disease ; rdfs:label $disease . ?c :treats ?d ; "
        "rdfs:label ?name FILTER NOT EXISTS { ?c :approved ?year } }"
    )
    subject, sizes = "Disease", (2, 30)

    def find(self, world: Drawing, disease: str, /) -> Any:
        return [c for c in world.into(disease, "treats") if "approved" not in world.metadata(c)]


class UncitedPapersOfAYear(Kind):
    text = "How many papers of {year} does no paper cite?"
    form = Form.NUMBER
    cypher_query = (
        "MATCH (p:Paper {year: $year}) WHERE NOT (p)<-[:cites]-(:Paper) RETURN count(p) AS n"
    )
    sparql_query = (
        "SELECT (COUNT(?p) AS ?n) { ?p a :Paper ; :year $year FILTER NOT EXISTS { ?q :cites ?p } }"
    )

    def draw(self, world: Drawing) -> Drawn:
        year = world.get(world.one("Paper", lambda p: not world.into(p, "cites")), "year")
        return {"year": year}, sum(not world.into(p, "cites") for p in world.of("Paper", year=year))

    async def six_tools(self, ask: SixTools, year: int) -> Any:
        return (await ask.bfs(f"Paper[year={year}][no <-cites- Paper]", limit=0))["node_count"]


class CompoundsWithoutATerminatedTrial(Kind):
    text = "Which compounds that treat {disease} were never tested in a trial that was terminated?"
    walk = Walk("$disease", "<-treats- Compound", where=["no <-tests- Trial[status=terminated]"])
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:treats]-(c:Compound) "
        "WHERE NOT (c)<-[:tests]-(:Trial {status: 'terminated'}) RETURN c.name AS name"
    )
    sparql_query = (
        "SELECT ?name { ?d a :Disease ; rdfs:label $disease . ?c :treats ?d ; "
        'rdfs:label ?name FILTER NOT EXISTS { ?t :tests ?c ; :status "terminated" } }'
    )
    subject, sizes = "Disease", (2, 30)

    def find(self, world: Drawing, disease: str, /) -> Any:
        def terminated(compound: str) -> bool:
            return any(world.has(t, status="terminated") for t in world.into(compound, "tests"))

        return [c for c in world.into(disease, "treats") if not terminated(c)]


class CompoundsForOneOfTwoDiseases(Kind):
    text = "Which compounds treat {one}, but not {other}?"
    walk = Walk("$one", "<-treats- Compound", where=["no -treats-> $other"])
    cypher_query = (
        "MATCH (:Disease {name: $one})<-[:treats]-(c:Compound) "
        "WHERE NOT (c)-[:treats]->(:Disease {name: $other}) RETURN c.name AS name"
    )
    sparql_query = (
        "SELECT ?name { ?d a :Disease ; rdfs:label $one . ?c :treats ?d ; rdfs:label ?name "
        "FILTER NOT EXISTS { ?c :treats ?e . ?e rdfs:label $other } }"
    )

    def attempt(self, world: Drawing) -> Drawn | None:
        pair = world.one("Disease"), world.one("Disease")
        one, other = ({*world.into(d, "treats")} for d in pair)
        if not one & other or not 2 <= len(one - other) <= 30:
            return None
        return world.about(one=pair[0], other=pair[1]), world.names(one - other)


class CompoundsWithSeveralLateTrials(Kind):
    text = "Which compounds that treat {disease} are tested in at least two phase 3 trials?"
    walk = Walk("$disease", "<-treats- Compound", where=["<-tests- Trial[phase=3] >= 2"])
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:treats]-(c:Compound) "
        "WHERE COUNT { (c)<-[:tests]-(:Trial {phase: 3}) } >= 2 RETURN c.name AS name"
    )
    sparql_query = (
        "SELECT ?name { ?d a :Disease ; rdfs:label $disease . ?c :treats ?d ; "
        "rdfs:label ?name . ?t :tests ?c ; :phase 3 } GROUP BY ?c ?name "
        "HAVING(COUNT(?t) >= 2)"
    )
    subject, sizes = "Disease", (2, 30)

    def find(self, world: Drawing, disease: str, /) -> Any:
        def late(compound: str) -> int:
            return sum(world.has(t, phase=3) for t in world.into(compound, "tests"))

        return [c for c in world.into(disease, "treats") if late(c) >= 2]


class AuthorsInSeveralCentres(Kind):
    text = (
        "How many people are members of at least two centres and have written {n} papers or more?"
    )
    form = Form.NUMBER
    cypher_query = (
        "MATCH (p:Person) WHERE COUNT { (p)-[:member_of]->(:Centre) } >= 2 "
        "AND COUNT { (p)-[:authored]->(:Paper) } >= $n RETURN count(p) AS n"
    )

    def draw(self, world: Drawing) -> Drawn:
        n = world.choice([3, 4, 5])
        people = [p for p in world.of("Person") if len(world.out(p, "member_of")) >= 2]
        return {"n": n}, sum(len(world.out(p, "authored")) >= n for p in people)

    async def six_tools(self, ask: SixTools, n: int) -> Any:
        seed = f"Person[-member_of-> Centre >= 2][-authored-> Paper >= {n}]"
        return (await ask.bfs(seed, limit=0))["node_count"]

    async def sparql(self, ask: SparqlTools, n: int) -> int:
        return len(
            await ask.rows(
                "SELECT ?p { ?p :member_of ?c ; :authored ?d } GROUP BY ?p "
                "HAVING(COUNT(DISTINCT ?c) >= 2 && COUNT(DISTINCT ?d) >= $n)",
                n=n,
            )
        )
