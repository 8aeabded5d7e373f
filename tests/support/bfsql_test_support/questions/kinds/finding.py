"""Questions about one entity, and those where the name is shared, misspelt, unknown or an alias."""

import json
import re
from typing import Any

from bfsql_test_support.questions.drawing import Drawing
from bfsql_test_support.questions.kinds.kind import Drawn, Form, Kind, Walk, names
from bfsql_test_support.questions.toolsets import CallRefused, CypherTools, SixTools, SparqlTools


class PropertiesOfATrial(Kind):
    text = "What are the phase, the status and the enrolment of the trial {trial}?"
    form = Form.TABLE
    hint = "with the keys phase, status and enrolment"
    subject = "Trial"

    def find(self, world: Drawing, trial: str, /) -> Any:
        return _chosen(world.metadata(trial))

    async def six_tools(self, ask: SixTools, trial: str) -> dict[str, Any]:
        return _chosen(await ask.call("describe_entity", id=trial))

    async def cypher(self, ask: CypherTools, trial: str) -> dict[str, Any]:
        [row] = await ask.rows(
            "MATCH (t:Trial {name: $trial}) "
            "RETURN t.phase AS phase, t.status AS status, t.enrolment AS enrolment",
            trial=trial,
        )
        return row

    async def sparql(self, ask: SparqlTools, trial: str) -> dict[str, Any]:
        [row] = await ask.rows(
            "SELECT ?phase ?status ?enrolment { ?t rdfs:label $trial ; :phase ?phase ; "
            ":status ?status ; :enrolment ?enrolment }",
            trial=trial,
        )
        return row | {"phase": int(row["phase"]), "enrolment": int(row["enrolment"])}


def _chosen(metadata: dict[str, Any]) -> dict[str, Any]:
    return {key: metadata[key] for key in ("phase", "status", "enrolment")}


class StatusesOfTrials(Kind):
    text = "What is the status of each of these trials: {trials}?"
    form = Form.TABLE
    hint = "from trial to status"
    cypher_query = (
        "MATCH (t:Trial) WHERE t.name IN $trials RETURN t.name AS name, t.status AS status"
    )

    def draw(self, world: Drawing) -> Drawn:
        chosen: dict[str, None] = {}
        while len(chosen) < 4:
            chosen[world.one("Trial")] = None
        statuses = {world.name(t): world.get(t, "status") for t in chosen}
        return {"trials": list(statuses)}, statuses

    async def six_tools(self, ask: SixTools, trials: list[str]) -> dict[str, str]:
        records = await ask.call("describe_entities", ids=trials)
        return {record["name"]: record["status"] for record in records}

    async def sparql(self, ask: SparqlTools, trials: list[str]) -> dict[str, str]:
        listed = " ".join(map(json.dumps, trials))
        rows = await ask.rows(
            f"SELECT ?name ?status {{ VALUES ?name {{ {listed} }} "
            "?t rdfs:label ?name ; :status ?status }"
        )
        return {row["name"]: row["status"] for row in rows}


class PapersOfANamesake(Kind):
    text = "Which papers has {person}, the one who is a member of {centre}, written?"
    walk = Walk("$centre", "<-member_of- Person", "-authored-> Paper", where=["1.name=$person"])
    cypher_query = (
        "MATCH (:Centre {name: $centre})<-[:member_of]-(:Person {name: $person})"
        "-[:authored]->(p:Paper) RETURN p.name AS name"
    )
    sparql_query = (
        "SELECT ?name { ?c rdfs:label $centre . ?a rdfs:label $person ; :member_of ?c ; "
        ":authored ?p . ?p rdfs:label ?name }"
    )

    def attempt(self, world: Drawing) -> Drawn | None:
        person = world.choice(world.of("Person"))
        others = [p for p in world.of("Person") if world.name(p) == world.name(person)]
        [centre, *_] = world.out(person, "member_of")
        inside = [p for p in others if p in world.into(centre, "member_of")]
        papers = world.out(person, "authored")
        if len(others) < 2 or len(inside) > 1 or not 2 <= len(papers) <= 20:
            return None
        return world.about(person=person, centre=centre), world.names(papers)


class CentresOfNamesakes(Kind):
    text = "There are several people called {person}. Of which centres are they members?"
    walk = Walk("Person[name=$person]", "-member_of-> Centre")
    cypher_query = (
        "MATCH (:Person {name: $person})-[:member_of]->(c:Centre) RETURN DISTINCT c.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?a rdfs:label $person ; :member_of ?c . ?c rdfs:label ?name }"
    )

    def attempt(self, world: Drawing) -> Drawn | None:
        name = world.name(world.choice(world.of("Person")))
        people = [p for p in world.of("Person") if world.name(p) == name]
        centres = {c for p in people for c in world.out(p, "member_of")}
        return ({"person": name}, world.names(centres)) if len(people) > 1 else None


class PapersAboutAProteinNamedLikeADisease(Kind):
    text = "Which papers mention the protein {protein} (there is a disease of this name, too)?"
    walk = Walk("Protein: $protein", "<-mentions- Paper")
    cypher_query = "MATCH (:Protein {name: $protein})<-[:mentions]-(p:Paper) RETURN p.name AS name"
    sparql_query = (
        "SELECT ?name { ?x a :Protein ; rdfs:label $protein . ?p :mentions ?x ; rdfs:label ?name }"
    )

    def attempt(self, world: Drawing) -> Drawn | None:
        protein = world.choice(world.of("Protein"))
        papers = world.into(protein, "mentions")
        if not papers or world.name(protein) not in map(world.name, world.of("Disease")):
            return None
        return world.about(protein=protein), world.names(papers)


class TreatedByAMisspeltCompound(Kind):
    text = "Which diseases does {compound} treat?"

    def attempt(self, world: Drawing) -> Drawn | None:
        compound = world.one("Compound", lambda c: world.out(c, "treats"))
        wrong, diseases = world.misspelt(compound), world.names(world.out(compound, "treats"))
        return None if wrong is None else ({"compound": wrong}, diseases)

    async def six_tools(self, ask: SixTools, compound: str) -> list[str]:
        step = "-treats-> Disease"
        try:
            return names(await ask.walk(compound, step))
        except CallRefused as refused:
            [meant] = re.findall(r"COM:\d+", str(refused))  # the error names similar entities
            return names(await ask.walk(meant, step))

    async def cypher(self, ask: CypherTools, compound: str) -> list[str]:
        pattern = "MATCH (c:Compound)-[:treats]->(d:Disease) WHERE c.name"
        found = await ask.column(f"{pattern} = $compound RETURN d.name AS name", compound=compound)
        if found:
            return found
        rows = await ask.rows(
            f"{pattern} STARTS WITH $begin RETURN c.name AS compound, d.name AS name",
            begin=compound[:4],
        )
        return _alike(rows, compound)

    async def sparql(self, ask: SparqlTools, compound: str) -> list[str]:
        pattern = "?c :treats ?d ; rdfs:label ?compound . ?d rdfs:label ?name"
        found = await ask.column(
            "SELECT ?name { ?c rdfs:label $compound ; :treats ?d . ?d rdfs:label ?name }",
            compound=compound,
        )
        if found:
            return found
        rows = await ask.rows(
            f"SELECT ?compound ?name {{ {pattern} FILTER(STRSTARTS(?compound, $begin)) }}",
            begin=compound[:4],
        )
        return _alike(rows, compound)


def _alike(rows: list[dict[str, Any]], compound: str) -> list[str]:
    """The names in the rows whose compound has the same letters as the requested one."""
    return [row["name"] for row in rows if sorted(row["compound"]) == sorted(compound)]


class TrialsOfAnUnknownCompound(Kind):
    text = "Which trials test {compound}?"
    hint = "or null where there is no such compound"

    def draw(self, world: Drawing) -> Drawn:
        return {"compound": f"{world.world.names.word(4)}nib"}, None

    async def six_tools(self, ask: SixTools, compound: str) -> list[str] | None:
        try:
            return names(await ask.walk(compound, "<-tests- Trial"))
        except CallRefused:
            return None  # the error says that there is no such name

    async def cypher(self, ask: CypherTools, compound: str) -> list[str] | None:
        found = await ask.column(
            "MATCH (:Compound {name: $compound})<-[:tests]-(t:Trial) RETURN t.name AS name",
            compound=compound,
        )
        if found:
            return found
        # Distinguish a compound without trials from an unknown compound.
        known = await ask.column(
            "MATCH (c:Compound) WHERE c.name STARTS WITH $begin RETURN c.name AS name",
            begin=compound[:4],
        )
        return found if compound in known else None

    async def sparql(self, ask: SparqlTools, compound: str) -> list[str] | None:
        found = await ask.column(
            "SELECT ?name { ?c rdfs:label $compound . ?t :tests ?c ; rdfs:label ?name }",
            compound=compound,
        )
        if found:
            return found
        known = await ask.column(
            "SELECT ?name { ?c a :Compound ; rdfs:label ?name FILTER(STRSTARTS(?name, $begin)) }",
            begin=compound[:4],
        )
        return found if compound in known else None


class TreatedByAnAlias(Kind):
    text = "Which diseases does {alias} treat? (The name is an alias of a compound.)"
    walk = Walk("$alias", "-treats-> Disease")
    cypher_query = (
        "MATCH (c:Compound)-[:treats]->(d:Disease) WHERE $alias IN c.synonyms RETURN d.name AS name"
    )
    sparql_query = "SELECT ?name { ?c skos:altLabel $alias ; :treats ?d . ?d rdfs:label ?name }"

    def draw(self, world: Drawing) -> Drawn:
        found = world.one("Compound", lambda c: world.out(c, "treats"))
        [alias] = world.get(found, "synonyms")
        return {"alias": alias}, world.names(world.out(found, "treats"))


class EvidenceOfAStatement(Kind):
    text = "Which sentence of a paper supports that {compound} inhibits {protein}?"
    form = Form.TEXT

    def draw(self, world: Drawing) -> Drawn:
        compound = world.one("Compound", lambda c: set(world.out(c, "inhibits")) & world.unique)
        protein = world.choice([p for p in world.out(compound, "inhibits") if p in world.unique])
        [item] = world.evidence(compound, "inhibits", protein)
        return world.about(compound=compound, protein=protein), item["text_span"]

    async def six_tools(self, ask: SixTools, compound: str, protein: str) -> str:
        record = await ask.call("describe_entity", id=compound)
        return _sentence(
            [item for item in record["provenance"]["items"] if item["predicate"] == "inhibits"],
            protein,
        )

    async def cypher(self, ask: CypherTools, compound: str, protein: str) -> str:
        said = await ask.value(
            "MATCH (:Compound {name: $compound})-[r:inhibits]->(:Protein {name: $protein}) "
            "RETURN r.provenance__json AS evidence",
            compound=compound,
            protein=protein,
        )
        return _sentence(json.loads(said), protein)

    async def sparql(self, ask: SparqlTools, compound: str, protein: str) -> str:
        said = await ask.value(
            "SELECT ?evidence { ?c rdfs:label $compound . ?p rdfs:label $protein . "
            "?s rdf:subject ?c ; rdf:predicate :inhibits ; rdf:object ?p ; :provenance ?evidence }",
            compound=compound,
            protein=protein,
        )
        return _sentence(json.loads(said), protein)


def _sentence(items: list[dict[str, Any]], protein: str) -> str:
    """The only sentence that names a protein."""
    [found] = [item["text_span"] for item in items if protein in item["text_span"]]
    return str(found)
