"""Questions that follow relations."""

from typing import Any

from bfsql_test_support.questions.drawing import Drawing
from bfsql_test_support.questions.kinds.kind import Drawn, Form, Kind, Walk, names
from bfsql_test_support.questions.toolsets import SixTools


class TrialsThatTestACompound(Kind):
    text = "Which trials test {compound}?"
    walk = Walk("$compound", "<-tests- Trial")
    cypher_query = "MATCH (:Compound {name: $compound})<-[:tests]-(t:Trial) RETURN t.name AS name"
    sparql_query = "SELECT ?name { ?c rdfs:label $compound . ?t :tests ?c ; rdfs:label ?name }"
    subject, steps, sizes = "Compound", ("<-tests",), (3, 30)


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
    subject, steps = "Compound", ("inhibits|activates->",)

    def fits(self, world: Drawing, compound: str, /) -> bool:
        return bool(world.out(compound, "inhibits") and world.out(compound, "activates"))


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
    subject, steps = "Protein", ("-interacts_with-",)

    def fits(self, world: Drawing, protein: str, /) -> bool:
        into, out = (way(protein, "interacts_with") for way in (world.into, world.out))
        return len(into) > 1 and bool(out)


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
    subject, sizes = "Protein", (2, 39)

    def find(self, world: Drawing, protein: str, /) -> Any:
        kin = world.follow(protein, "is_a->", "<-is_a")
        return {p for p in kin if world.type(p) == "Protein"} - {protein}


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
    subject, sizes = "Person", (4, 30)

    def find(self, world: Drawing, person: str, /) -> Any:
        return {*world.follow(person, "authored->", "<-authored")} - {person}


class PapersThatCiteAPaper(Kind):
    text = 'Which papers cite "{paper}"?'
    walk = Walk("$paper", "<-cites- Paper")
    cypher_query = "MATCH (:Paper {name: $paper})<-[:cites]-(p:Paper) RETURN p.name AS name"
    sparql_query = "SELECT ?name { ?a rdfs:label $paper . ?p :cites ?a ; rdfs:label ?name }"
    subject, steps = "Paper", ("<-cites",)

    def fits(self, world: Drawing, paper: str, /) -> bool:
        return len(world.into(paper, "cites")) > 2 and bool(world.out(paper, "cites"))


class PapersThatAPaperCites(Kind):
    text = 'Which papers does "{paper}" cite?'
    walk = Walk("$paper", "-cites-> Paper")
    cypher_query = "MATCH (:Paper {name: $paper})-[:cites]->(p:Paper) RETURN p.name AS name"
    sparql_query = "SELECT ?name { ?a rdfs:label $paper ; :cites ?p . ?p rdfs:label ?name }"
    subject, steps = "Paper", ("cites->",)

    def fits(self, world: Drawing, paper: str, /) -> bool:
        return len(world.out(paper, "cites")) > 2 and bool(world.into(paper, "cites"))


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
    subject, steps = "Trial", ("run_at->", "<-leads")

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
    subject, sizes = "Protein", (3, 30)
    steps = ("<-inhibits", "<-tests", "<-sponsors")


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

    def attempt(self, world: Drawing) -> Drawn | None:
        protein = world.one("Protein", lambda p: len(world.into(p, "inhibits")) > 3)
        company = world.one("Company")
        trials, inhibitors = {*world.out(company, "sponsors")}, world.into(protein, "inhibits")
        found = [c for c in inhibitors if trials & {*world.into(c, "tests")}]
        if not 2 <= len(found) < len(inhibitors):
            return None
        return world.about(protein=protein, company=company), world.names(found)


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

    def attempt(self, world: Drawing) -> Drawn | None:
        paper = world.one("Paper", lambda p: len(world.into(p, "authored")) > 1)
        pair = [p for p in world.into(paper, "authored") if p in world.unique][:2]
        if len(pair) < 2:
            return None
        one, other = pair
        both = {*world.out(one, "authored")} & {*world.out(other, "authored")}
        return world.about(one=one, other=other), world.names(both)


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
        return world.about(one=one, other=other), world.names(either)

    async def six_tools(self, ask: SixTools, one: str, other: str) -> list[str]:
        steps = ["<-tests- Trial"]
        answer = await ask.bfs(one, other, path=steps, show="ends", fields=["name"])
        return names(answer["nodes"])
