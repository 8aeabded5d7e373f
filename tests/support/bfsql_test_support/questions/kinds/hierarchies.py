"""Questions about `is_a` to a given depth, and yes-or-no questions."""

from __future__ import annotations

from bfsql_test_support.questions.drawing import Drawing
from bfsql_test_support.questions.kinds.kind import Drawn, Form, Kind, Walk, names
from bfsql_test_support.questions.toolsets import SixTools


class FamiliesAboveAProtein(Kind):
    text = "Which families are one to three is_a steps above {protein}?"
    walk = Walk("$protein", "-is_a->{1,3}")
    cypher_query = (
        "MATCH (:Protein {name: $protein})-[:is_a*1..3]->(f:Family) RETURN DISTINCT f.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?p rdfs:label $protein ; "
        ":is_a|:is_a/:is_a|:is_a/:is_a/:is_a ?f . ?f a :Family ; rdfs:label ?name }"
    )

    def draw(self, world: Drawing) -> Drawn:
        found = world.one("Protein", lambda p: len(world.within(p, "is_a", 4)) > 3)
        return {"protein": world.name(found)}, world.names(world.within(found, "is_a", 3))


class ProteinsBelowAFamily(Kind):
    text = "Which proteins are at most three is_a steps below {family}?"
    cypher_query = (
        "MATCH (:Family {name: $family})<-[:is_a*1..3]-(p:Protein) RETURN DISTINCT p.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?f rdfs:label $family . "
        "?p :is_a|:is_a/:is_a|:is_a/:is_a/:is_a ?f ; a :Protein ; rdfs:label ?name }"
    )

    def draw(self, world: Drawing) -> Drawn:
        def below(family: str, steps: int) -> list[str]:
            found = world.within(family, "is_a", steps, against=True)
            return [node for node in found if world.type(node) == "Protein"]

        found = world.one("Family", lambda f: len(below(f, 1)) < len(below(f, 3)) <= 60)
        return {"family": world.name(found)}, world.names(below(found, 3))

    async def six_tools(self, ask: SixTools, family: str) -> list[str]:
        found = await ask.walk(family, "<-is_a-{1,3}")
        return names([node for node in found if node["entity_type"] == "Protein"])


class IsItAKindOf(Kind):
    text = "Is {below} a kind of {above}, directly or through at most four others?"
    form = Form.YES_OR_NO
    walk = Walk("$below", "-is_a->{1,5}", to=["$above"])
    cypher_query = (
        "RETURN EXISTS { (:Disease {name: $below})-[:is_a*1..5]->"
        "(:Disease {name: $above}) } AS found"
    )
    sparql_query = "SELECT ?b { ?b rdfs:label $below ; :is_a+ ?a . ?a rdfs:label $above }"

    def draw(self, world: Drawing) -> Drawn:
        below = world.one("Disease", lambda d: len(world.within(d, "is_a", 5)) > 1)
        above = world.within(below, "is_a", 5) - set(world.out(below, "is_a"))
        above = {node for node in above if node in world.unique}
        chosen = world.choice(sorted(above) or world.out(below, "is_a"))
        return {"below": world.name(below), "above": world.name(chosen)}, True


class DoesItInhibit(Kind):
    text = "Does {compound} inhibit {protein}?"
    form = Form.YES_OR_NO
    expected = True
    walk = Walk("$compound", "-inhibits->", to=["$protein"])
    cypher_query = (
        "RETURN EXISTS { (:Compound {name: $compound})-[:inhibits]->"
        "(:Protein {name: $protein}) } AS found"
    )
    sparql_query = "SELECT ?c { ?c rdfs:label $compound ; :inhibits ?p . ?p rdfs:label $protein }"

    def draw(self, world: Drawing) -> Drawn:
        def chosen() -> Drawn | None:
            compound = world.one("Compound", lambda c: world.out(c, "inhibits"))
            others = world.out(compound, "inhibits" if self.expected else "activates")
            proteins = [p for p in others if p in world.unique]
            proteins = [
                p for p in proteins if (p in world.out(compound, "inhibits")) == self.expected
            ]
            if not proteins:
                return None
            about = {"compound": world.name(compound), "protein": world.name(proteins[0])}
            return about, self.expected

        return world.until(chosen)


class DoesItInhibitWhatItActivates(DoesItInhibit):
    expected = False
