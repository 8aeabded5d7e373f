"""Questions about `is_a` to a given depth, and yes-or-no questions."""

from typing import Any

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
    subject = "Protein"

    def find(self, world: Drawing, protein: str, /) -> Any:
        return world.within(protein, "is_a", 3)

    def fits(self, world: Drawing, protein: str, /) -> bool:
        return len(world.within(protein, "is_a", 4)) > 3


class ProteinsBelowAFamily(Kind):
    text = "Which proteins are at most three is_a steps below {family}?"
    cypher_query = (
        "MATCH (:Family {name: $family})<-[:is_a*1..3]-(p:Protein) RETURN DISTINCT p.name AS name"
    )
    sparql_query = (
        "SELECT DISTINCT ?name { ?f rdfs:label $family . "
        "?p :is_a|:is_a/:is_a|:is_a/:is_a/:is_a ?f ; a :Protein ; rdfs:label ?name }"
    )
    subject = "Family"

    def find(self, world: Drawing, family: str, /) -> Any:
        return self.below(world, family, 3)

    def fits(self, world: Drawing, family: str, /) -> bool:
        return len(self.below(world, family, 1)) < len(self.find(world, family)) <= 60

    def below(self, world: Drawing, family: str, steps: int) -> list[str]:
        found = world.within(family, "is_a", steps, against=True)
        return [node for node in found if world.type(node) == "Protein"]

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
        near = world.out(below, "is_a")
        above = sorted((world.within(below, "is_a", 5) - {*near}) & world.unique)
        return world.about(below=below, above=world.choice(above or near)), True


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

    def attempt(self, world: Drawing) -> Drawn | None:
        compound = world.one("Compound", lambda c: world.out(c, "inhibits"))
        inhibited = world.out(compound, "inhibits")
        others = inhibited if self.expected else world.out(compound, "activates")
        proteins = [p for p in others if p in world.unique and (p in inhibited) == self.expected]
        if not proteins:
            return None
        return world.about(compound=compound, protein=proteins[0]), self.expected


class DoesItInhibitWhatItActivates(DoesItInhibit):
    expected = False
