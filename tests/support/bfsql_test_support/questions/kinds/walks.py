"""Questions that follow relations."""

from __future__ import annotations

from bfsql_test_support.questions.drawing import Drawing
from bfsql_test_support.questions.kinds.kind import Drawn, Form, Kind, Walk, names
from bfsql_test_support.questions.toolsets import SixTools


class TrialsThatTestACompound(Kind):
    text = "Which trials test {compound}?"
    walk = Walk("$compound", "<-tests- Trial")
    cypher_query = "MATCH (:Compound {name: $compound})<-[:tests]-(t:Trial) RETURN t.name AS name"
    sparql_query = "SELECT ?name { ?c rdfs:label $compound . ?t :tests ?c ; rdfs:label ?name }"

    def draw(self, world: Drawing) -> Drawn:
        found = world.one("Compound", lambda c: 3 <= len(world.into(c, "tests")) <= 30)
        return {"compound": world.name(found)}, world.names(world.into(found, "tests"))


class ProteinsInhibitedOrActivated(Kind):
    text = "Which proteins does {compound} inhibit or activate?"
    walk = Walk("$compound", "-inhibits|activates-> Protein")
    cypher_query = (
        "MATCH (:Compound {name: $compound})-[:inhibits|activates]->(p:Protein) "
        "RETURN DISTINCT p.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?c rdfs:label $compound ; :inhibits|:activates ?p . "
        "?p rdfs:label ?name }"
    )

    def draw(self, world: Drawing) -> Drawn:
        found = world.one(
            "Compound", lambda c: world.out(c, "inhibits") and world.out(c, "activates")
        )
        hit = world.out(found, "inhibits", "activates")
        return {"compound": world.name(found)}, world.names(hit)


class InteractionPartners(Kind):
    text = "Which proteins interact with {protein}?"
    walk = Walk("$protein", "-interacts_with- Protein")
    cypher_query = (
        "MATCH (:Protein {name: $protein})-[:interacts_with]-(p:Protein) "
        "RETURN DISTINCT p.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?a rdfs:label $protein ; "
        ":interacts_with|^:interacts_with ?p . ?p rdfs:label ?name }"
    )

    def draw(self, world: Drawing) -> Drawn:
        found = world.one(
            "Protein",
            lambda p: world.out(p, "interacts_with") and len(world.into(p, "interacts_with")) > 1,
        )
        near = world.out(found, "interacts_with") + world.into(found, "interacts_with")
        return {"protein": world.name(found)}, world.names(near)


class ProteinsOfTheSameFamily(Kind):
    text = "Which other proteins are in a family that {protein} is in?"
    walk = Walk("$protein", "-is_a-> Family", "<-is_a- Protein")
    cypher_query = (
        "MATCH (:Protein {name: $protein})-[:is_a]->(:Family)<-[:is_a]-(p:Protein) "
        "RETURN DISTINCT p.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?a rdfs:label $protein ; :is_a ?f . ?f a :Family . "
        "?p :is_a ?f ; a :Protein ; rdfs:label ?name FILTER(?p != ?a) }"
    )

    def draw(self, world: Drawing) -> Drawn:
        def others(protein: str) -> list[str]:
            into = (world.into(family, "is_a") for family in world.out(protein, "is_a"))
            return [p for found in into for p in found if world.type(p) == "Protein"]

        found = world.one("Protein", lambda p: 3 <= len(others(p)) <= 40)
        return {"protein": world.name(found)}, world.names(set(others(found)) - {found})


class Coauthors(Kind):
    text = "Who has written a paper together with {person}?"
    walk = Walk("$person", "-authored-> Paper", "<-authored- Person")
    cypher_query = (
        "MATCH (:Person {name: $person})-[:authored]->(:Paper)<-[:authored]-(p:Person) "
        "RETURN DISTINCT p.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?a rdfs:label $person ; :authored ?d . "
        "?p :authored ?d ; rdfs:label ?name FILTER(?p != ?a) }"
    )

    def draw(self, world: Drawing) -> Drawn:
        def others(person: str) -> set[str]:
            papers = world.out(person, "authored")
            return {p for paper in papers for p in world.into(paper, "authored")} - {person}

        found = world.one("Person", lambda p: 4 <= len(others(p)) <= 30)
        return {"person": world.name(found)}, world.names(others(found))


class PapersThatCiteAPaper(Kind):
    text = 'Which papers cite "{paper}"?'
    walk = Walk("$paper", "<-cites- Paper")
    cypher_query = "MATCH (:Paper {name: $paper})<-[:cites]-(p:Paper) RETURN p.name AS name"
    sparql_query = "SELECT ?name { ?a rdfs:label $paper . ?p :cites ?a ; rdfs:label ?name }"

    def draw(self, world: Drawing) -> Drawn:
        found = world.one(
            "Paper", lambda p: world.out(p, "cites") and len(world.into(p, "cites")) > 2
        )
        return {"paper": world.name(found)}, world.names(world.into(found, "cites"))


class PapersThatAPaperCites(Kind):
    text = 'Which papers does "{paper}" cite?'
    walk = Walk("$paper", "-cites-> Paper")
    cypher_query = "MATCH (:Paper {name: $paper})-[:cites]->(p:Paper) RETURN p.name AS name"
    sparql_query = "SELECT ?name { ?a rdfs:label $paper ; :cites ?p . ?p rdfs:label ?name }"

    def draw(self, world: Drawing) -> Drawn:
        found = world.one(
            "Paper", lambda p: world.into(p, "cites") and len(world.out(p, "cites")) > 2
        )
        return {"paper": world.name(found)}, world.names(world.out(found, "cites"))


class HeadOfATrial(Kind):
    text = "Who leads the centre where the trial {trial} is run?"
    form = Form.NAME
    cypher_query = (
        "MATCH (:Trial {name: $trial})-[:run_at]->(:Centre)<-[:leads]-(p:Person) "
        "RETURN p.name AS name"
    )
    sparql_query = (
        "SELECT ?name { ?t rdfs:label $trial ; :run_at ?c . ?p :leads ?c ; rdfs:label ?name }"
    )

    def draw(self, world: Drawing) -> Drawn:
        found = world.one("Trial")
        [centre] = world.out(found, "run_at")
        [head] = world.into(centre, "leads")
        return {"trial": world.name(found)}, world.name(head)

    async def six_tools(self, ask: SixTools, trial: str) -> str:
        [name] = names(await ask.walk(trial, "-run_at-> Centre", "<-leads- Person"))
        return name


class CompaniesBehindAProtein(Kind):
    text = "Which companies sponsor trials that test a compound that inhibits {protein}?"
    walk = Walk("$protein", "<-inhibits- Compound", "<-tests- Trial", "<-sponsors- Company")
    cypher_query = (
        "MATCH (:Protein {name: $protein})<-[:inhibits]-(:Compound)<-[:tests]-(:Trial)"
        "<-[:sponsors]-(c:Company) RETURN DISTINCT c.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?p rdfs:label $protein . ?m :inhibits ?p . ?t :tests ?m . "
        "?c :sponsors ?t ; rdfs:label ?name }"
    )

    def draw(self, world: Drawing) -> Drawn:
        def companies(protein: str) -> set[str]:
            compounds = world.into(protein, "inhibits")
            trials = {t for c in compounds for t in world.into(c, "tests")}
            return {c for t in trials for c in world.into(t, "sponsors")}

        found = world.one("Protein", lambda p: 3 <= len(companies(p)) <= 30)
        return {"protein": world.name(found)}, world.names(companies(found))


class CompoundsBetweenProteinAndCompany(Kind):
    text = "Which compounds that inhibit {protein} are tested in a trial that {company} sponsors?"
    walk = Walk(
        "$protein",
        "<-inhibits- Compound",
        "<-tests- Trial",
        "<-sponsors- Company",
        to=["$company"],
        show="1",
    )
    cypher_query = (
        "MATCH (:Protein {name: $protein})<-[:inhibits]-(c:Compound)<-[:tests]-(:Trial)"
        "<-[:sponsors]-(:Company {name: $company}) RETURN DISTINCT c.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?p rdfs:label $protein . ?c :inhibits ?p ; rdfs:label ?name . "
        "?t :tests ?c . ?m :sponsors ?t ; rdfs:label $company }"
    )

    def draw(self, world: Drawing) -> Drawn:
        def chosen() -> Drawn | None:
            protein = world.one("Protein", lambda p: len(world.into(p, "inhibits")) > 3)
            company = world.one("Company")
            trials = set(world.out(company, "sponsors"))
            inhibitors = world.into(protein, "inhibits")
            found = [c for c in inhibitors if trials & set(world.into(c, "tests"))]
            if not 2 <= len(found) < len(inhibitors):
                return None
            about = {"protein": world.name(protein), "company": world.name(company)}
            return about, world.names(found)

        return world.until(chosen)


class PapersOfTwoPeople(Kind):
    text = "Which papers have {one} and {other} written together?"
    walk = Walk("$one", "-authored-> Paper", "<-authored- Person", to=["$other"], show="1")
    cypher_query = (
        "MATCH (:Person {name: $one})-[:authored]->(p:Paper)<-[:authored]-"
        "(:Person {name: $other}) RETURN p.name AS name"
    )
    sparql_query = (
        "SELECT ?name { ?a rdfs:label $one ; :authored ?p . ?b rdfs:label $other ; "
        ":authored ?p . ?p rdfs:label ?name }"
    )

    def draw(self, world: Drawing) -> Drawn:
        def chosen() -> Drawn | None:
            paper = world.one("Paper", lambda p: len(world.into(p, "authored")) > 1)
            pair = [p for p in world.into(paper, "authored") if p in world.unique][:2]
            if len(pair) < 2:
                return None
            both = set(world.out(pair[0], "authored")) & set(world.out(pair[1], "authored"))
            about = {"one": world.name(pair[0]), "other": world.name(pair[1])}
            return about, world.names(both)

        return world.until(chosen)


class TrialsOfEitherCompound(Kind):
    text = "Which trials test {one} or {other}?"
    cypher_query = (
        "MATCH (c:Compound)<-[:tests]-(t:Trial) WHERE c.name IN [$one, $other] "
        "RETURN DISTINCT t.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { VALUES ?n { $one $other } ?c rdfs:label ?n . "
        "?t :tests ?c ; rdfs:label ?name }"
    )

    def draw(self, world: Drawing) -> Drawn:
        one = world.one("Compound", lambda c: 2 <= len(world.into(c, "tests")) <= 12)
        other = world.one("Compound", lambda c: c != one and 2 <= len(world.into(c, "tests")) <= 12)
        either = world.into(one, "tests") + world.into(other, "tests")
        return {"one": world.name(one), "other": world.name(other)}, world.names(either)

    async def six_tools(self, ask: SixTools, one: str, other: str) -> list[str]:
        steps = ["<-tests- Trial"]
        answer = await ask.bfs(one, other, path=steps, show="ends", fields=["name"])
        return names(answer["nodes"])
