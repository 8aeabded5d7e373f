"""Questions with conditions on properties, and with an order."""

from typing import Any

from bfsql_test_support.questions.drawing import Drawing
from bfsql_test_support.questions.kinds.kind import Drawn, Form, Kind, Walk, largest
from bfsql_test_support.questions.worlds import REGIONS


class NewestPapersOfACentre(Kind):
    text = "What are the five papers that members of {centre} published last, the latest first?"
    form = Form.RANKING
    walk = Walk(
        "$centre", "<-member_of- Person", "-authored-> Paper", sort_by="-published", limit=5
    )
    cypher_query = (
        "MATCH (:Centre {name: $centre})<-[:member_of]-(:Person)-[:authored]->(p:Paper) "
        "RETURN DISTINCT p.name AS name, p.published AS published "
        "ORDER BY published DESC LIMIT 5"
    )
    sparql_query = (
        "SELECT DISTINCT ?name ?published { ?c rdfs:label $centre . ?a :member_of ?c ; "
        ":authored ?p . ?p rdfs:label ?name ; :published ?published } "
        "ORDER BY DESC(?published) LIMIT 5"
    )
    subject = "Centre"

    def find(self, world: Drawing, centre: str, /) -> Any:
        papers = {*world.follow(centre, "<-member_of", "authored->")}
        newest = sorted(papers, key=lambda p: str(world.get(p, "published")), reverse=True)
        return newest[:5] if len(papers) > 5 else None


class FirstTrialOfACompound(Kind):
    text = "Which trial that tests {compound} started first?"
    form = Form.NAME
    walk = Walk("$compound", "<-tests- Trial", sort_by="start", limit=1)
    cypher_query = (
        "MATCH (:Compound {name: $compound})<-[:tests]-(t:Trial) "
        "RETURN t.name AS name ORDER BY t.start LIMIT 1"
    )
    sparql_query = (
        "SELECT ?name { ?c rdfs:label $compound . ?t :tests ?c ; rdfs:label ?name ; "
        ":start ?start } ORDER BY ?start LIMIT 1"
    )
    subject = "Compound"

    def find(self, world: Drawing, compound: str, /) -> Any:
        trials = sorted(world.into(compound, "tests"), key=lambda t: str(world.get(t, "start")))
        return trials[:1] if len({world.get(t, "start") for t in trials[:2]}) == 2 else None


class LargestCompletedTrials(Kind):
    text = (
        "Which three completed trials that study {disease} have the largest enrolment, the largest "
        "first?"
    )
    form = Form.RANKING
    walk = Walk(
        "$disease", "<-studies- Trial", where=["status=completed"], sort_by="-enrolment", limit=3
    )
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:studies]-(t:Trial {status: 'completed'}) "
        "RETURN t.name AS name ORDER BY t.enrolment DESC LIMIT 3"
    )
    sparql_query = (
        "SELECT ?name { ?d rdfs:label $disease . ?t :studies ?d ; rdfs:label ?name ; "
        ':status "completed" ; :enrolment ?n } ORDER BY DESC(?n) LIMIT 3'
    )
    subject = "Disease"

    def find(self, world: Drawing, disease: str, /) -> Any:
        trials = [t for t in world.into(disease, "studies") if world.has(t, status="completed")]
        return largest({t: world.get(t, "enrolment") for t in trials}, 3)


class RecruitingLateTrials(Kind):
    text = "Which phase 3 trials that study {disease} are recruiting?"
    walk = Walk("$disease", "<-studies- Trial", where=["phase=3", "status=recruiting"])
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:studies]-"
        "(t:Trial {phase: 3, status: 'recruiting'}) RETURN t.name AS name"
    )
    sparql_query = (
        "SELECT ?name { ?d rdfs:label $disease . ?t :studies ?d ; rdfs:label ?name ; "
        ':phase 3 ; :status "recruiting" }'
    )
    subject, sizes = "Disease", (2, 30)

    def find(self, world: Drawing, disease: str, /) -> Any:
        trials = world.into(disease, "studies")
        return [t for t in trials if world.has(t, phase=3, status="recruiting")]


class SurelyInhibited(Kind):
    text = "Which proteins does {compound} inhibit with a confidence above 0.7?"
    walk = Walk("$compound", "-inhibits-> Protein", where=["inhibits.confidence>0.7"])
    cypher_query = (
        "MATCH (:Compound {name: $compound})-[r:inhibits]->(p:Protein) "
        "WHERE r.confidence > 0.7 RETURN p.name AS name"
    )
    sparql_query = (
        "SELECT ?name { ?c rdfs:label $compound . ?s rdf:subject ?c ; "
        "rdf:predicate :inhibits ; rdf:object ?p ; :confidence ?n . ?p rdfs:label ?name "
        "FILTER(?n > 0.7) }"
    )
    subject = "Compound"

    def find(self, world: Drawing, compound: str, /) -> Any:
        hit = world.out(compound, "inhibits")
        return [p for p in hit if world.edge(compound, "inhibits", p)["confidence"] > 0.7]

    def fits(self, world: Drawing, compound: str, /) -> bool:
        return 1 < len(self.find(world, compound)) < len(world.out(compound, "inhibits"))


class MostSurelyInhibited(Kind):
    text = "Which protein does {compound} inhibit with the highest confidence?"
    form = Form.NAME
    walk = Walk(
        "$compound",
        "-inhibits-> Protein",
        measure="max 1.inhibits.confidence",
        sort_by="-measure",
        limit=1,
    )
    cypher_query = (
        "MATCH (:Compound {name: $compound})-[r:inhibits]->(p:Protein) "
        "RETURN p.name AS name ORDER BY r.confidence DESC LIMIT 1"
    )
    sparql_query = (
        "SELECT ?name { ?c rdfs:label $compound . ?s rdf:subject ?c ; "
        "rdf:predicate :inhibits ; rdf:object ?p ; :confidence ?n . ?p rdfs:label ?name } "
        "ORDER BY DESC(?n) LIMIT 1"
    )
    subject = "Compound"

    def find(self, world: Drawing, compound: str, /) -> Any:
        hit = world.out(compound, "inhibits")
        return largest({p: world.edge(compound, "inhibits", p)["confidence"] for p in hit})


class MembersSinceBefore(Kind):
    text = "Who has been a member of {centre} since before 1995?"
    walk = Walk("$centre", "<-member_of- Person", where=["member_of.since<1995"])
    cypher_query = (
        "MATCH (:Centre {name: $centre})<-[r:member_of]-(p:Person) WHERE r.since < 1995 "
        "RETURN p.name AS name"
    )
    sparql_query = (
        "SELECT ?name { ?c rdfs:label $centre . ?s rdf:object ?c ; "
        "rdf:predicate :member_of ; rdf:subject ?p ; :since ?n . ?p rdfs:label ?name "
        "FILTER(?n < 1995) }"
    )
    subject, sizes = "Centre", (2, 40)

    def find(self, world: Drawing, centre: str, /) -> Any:
        members = world.into(centre, "member_of")
        return [p for p in members if world.edge(p, "member_of", centre)["since"] < 1995]


class PapersBetweenTwoYears(Kind):
    text = "Which papers did {person} publish from 2005 to 2012?"
    walk = Walk("$person", "-authored-> Paper", where=["year>=2005", "year<=2012"])
    cypher_query = (
        "MATCH (:Person {name: $person})-[:authored]->(p:Paper) "
        "WHERE 2005 <= p.year <= 2012 RETURN p.name AS name"
    )
    sparql_query = (
        "SELECT ?name { ?a rdfs:label $person ; :authored ?p . ?p rdfs:label ?name ; "
        ":year ?year FILTER(2005 <= ?year && ?year <= 2012) }"
    )
    subject, sizes = "Person", (2, 19)

    def find(self, world: Drawing, person: str, /) -> Any:
        return [p for p in world.out(person, "authored") if 2005 <= world.get(p, "year") <= 2012]


class PapersWithAWordInTheTitle(Kind):
    text = 'Which papers that mention {disease} have "structure of" in their title?'
    walk = Walk("$disease", "<-mentions- Paper", where=["name~structure of"])
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:mentions]-(p:Paper) "
        "WHERE toLower(p.name) CONTAINS 'structure of' RETURN p.name AS name"
    )
    sparql_query = (
        "SELECT ?name { ?d rdfs:label $disease . ?p :mentions ?d ; rdfs:label ?name "
        'FILTER(CONTAINS(LCASE(?name), "structure of")) }'
    )
    subject, sizes = "Disease", (2, 40)

    def find(self, world: Drawing, disease: str, /) -> Any:
        papers = world.into(disease, "mentions")
        return [p for p in papers if "structure of" in world.name(p).lower()]


class ProteinsBehindLateTrials(Kind):
    text = "Which proteins are inhibited by compounds that phase 3 trials of {disease} test?"
    walk = Walk(
        "$disease",
        "<-studies- Trial",
        "-tests-> Compound",
        "-inhibits-> Protein",
        where=["1.phase=3"],
    )
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:studies]-(:Trial {phase: 3})-[:tests]->"
        "(:Compound)-[:inhibits]->(p:Protein) RETURN DISTINCT p.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?d rdfs:label $disease . ?t :studies ?d ; :phase 3 ; "
        ":tests ?c . ?c :inhibits ?p . ?p rdfs:label ?name }"
    )
    subject, sizes = "Disease", (3, 40)

    def find(self, world: Drawing, disease: str, /) -> Any:
        late = [t for t in world.into(disease, "studies") if world.has(t, phase=3)]
        return {p for t in late for p in world.follow(t, "tests->", "inhibits->")}


class SponsorsFromARegion(Kind):
    text = "Which companies from {region} sponsor trials that study {disease}?"
    walk = Walk("$disease", "<-studies- Trial", "<-sponsors- Company", where=["region=$region"])
    cypher_query = (
        "MATCH (:Disease {name: $disease})<-[:studies]-(:Trial)<-[:sponsors]-"
        "(c:Company {region: $region}) RETURN DISTINCT c.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?d rdfs:label $disease . ?t :studies ?d . ?c :sponsors ?t ; "
        ":region $region ; rdfs:label ?name }"
    )

    def attempt(self, world: Drawing) -> Drawn | None:
        disease, region = world.one("Disease"), world.choice(REGIONS)
        companies = {*world.follow(disease, "<-studies", "<-sponsors")}
        found = [c for c in companies if world.has(c, region=region)]
        if not found or len(found) == len(companies):
            return None
        return {"region": region, **world.about(disease=disease)}, world.names(found)
