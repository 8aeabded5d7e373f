"""Made-up research worlds: who studies, tests, writes and inhibits what.

A world has hubs (diseases, proteins and centres are drawn by rank), people who share a name but
belong to different centres, proteins with the name of a disease, aliases, properties of nodes and
of edges, and sentences as evidence. Nothing in it is real.
"""

import random
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import accumulate
from typing import Any, Self

import networkx as nx

from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql_test_support.questions.names import Names

REGIONS = ("Arvenia", "Boltany", "Cardosa", "Drevia", "Estrand")
PHASES = (1, 2, 3)
STATUSES = ("completed", "recruiting", "terminated")
FORMS = ("antibody", "peptide", "small molecule")
FIRST_DAY = date(1998, 1, 5)
LAST_DAY = date(2025, 10, 27)
SENTENCES = (
    "{} showed a clear effect on {} in two assays.",
    "We observed that {} acts upon {} at low doses.",
    "Binding of {} to {} was confirmed by titration.",
)


@dataclass(frozen=True)
class Size:
    """How many entities of each type a world has."""

    diseases: int
    families: int
    proteins: int
    compounds: int
    trials: int
    companies: int
    centres: int
    people: int
    papers: int

    @classmethod
    def of(cls, scale: int) -> Self:
        """The size of a small world; numerous types grow with `scale`, others with its root."""
        root = round(scale**0.5)
        return cls(
            diseases=14 * root,
            families=18 * root,
            proteins=45 * scale,
            compounds=30 * scale,
            trials=90 * scale,
            companies=9 * root,
            centres=9 * root,
            people=60 * scale,
            papers=140 * scale,
        )


class World:
    """A graph and its names; the same size and seed give the same world.

    Attributes:
        graph: The whole graph: nodes with `type` and `metadata`, edges whose key is the predicate,
            with `metadata` and a list `evidence`.
        names: The generator of its names, which can make names that are not in it.
    """

    description = "Made-up research: who studies, tests, writes and inhibits what."

    def __init__(self, name: str, size: Size, seed: int) -> None:
        self.name = name
        self.seed = seed
        self.graph: Any = nx.MultiDiGraph()
        self._draw = random.Random(seed)
        self.names = Names(self._draw)
        self._days = self._draw.sample(range((LAST_DAY - FIRST_DAY).days), size.papers)
        self._of: dict[str, list[str]] = {}
        _Populating(self, self._draw).fill(size)

    @cached_property
    def undirected(self) -> Any:
        """The graph without direction, each pair of nodes once."""
        return nx.Graph(self.graph)

    def of(self, entity_type: str) -> list[str]:
        """The ids of a type, in the order of their creation."""
        return self._of[entity_type]

    def called(self, node: str) -> str:
        """The name of a node."""
        name: str = self.graph.nodes[node]["metadata"]["name"]
        return name

    def metadata(self, node: str) -> dict[str, Any]:
        """The properties of a node."""
        metadata: dict[str, Any] = self.graph.nodes[node]["metadata"]
        return metadata

    def add(self, entity_type: str, name: str, **metadata: Any) -> str:
        """Add a node under a new random id."""
        while (node := f"{entity_type[:3].upper()}:{self._draw.randrange(10**6)}") in self.graph:
            pass
        known = {key: value for key, value in metadata.items() if value is not None}
        self.graph.add_node(node, type=entity_type, metadata={"name": name, **known})
        self._of.setdefault(entity_type, []).append(node)
        return node

    def link(self, subject: str, predicate: str, object_: str, **metadata: Any) -> None:
        """Add an edge, unless it exists."""
        if not self.graph.has_edge(subject, object_, predicate):
            self.graph.add_edge(subject, object_, predicate, metadata=metadata, evidence=[])

    def day(self, number: int) -> date:
        """A day on which no other paper was published."""
        return FIRST_DAY + timedelta(days=self._days[number])

    def records(self) -> Iterator[GraphRecord]:
        """The world as records for the loaders of the stores."""
        for node, known in self.graph.nodes(data=True):
            yield NodeRecord(node, known["type"], dict(known["metadata"]))
        for subject, object_, predicate, known in self.graph.edges(keys=True, data=True):
            yield EdgeRecord(subject, predicate, object_, dict(known["metadata"]))
            for item in known["evidence"]:
                yield EvidenceRecord(subject, predicate, object_, dict(item))


class _Ranked:
    """Draws from a list, the first far more often than the last."""

    def __init__(self, items: Sequence[str], draw: random.Random) -> None:
        self._items, self._draw = items, draw
        self._sums = list(accumulate(1 / (rank + 1) ** 0.8 for rank in range(len(items))))

    def one(self) -> str:
        return self._items[bisect(self._sums, self._draw.random() * self._sums[-1])]

    def some(self, most: int, least: int = 1) -> list[str]:
        """Between `least` and `most` distinct items."""
        wanted = min(self._draw.randint(least, most), len(self._items))
        chosen: dict[str, None] = {}
        while len(chosen) < wanted:
            chosen[self.one()] = None
        return list(chosen)


class _Populating:
    """Fills a new world, type by type."""

    def __init__(self, world: World, draw: random.Random) -> None:
        self._world, self._draw = world, draw

    def fill(self, size: Size) -> None:
        self._add_diseases(size.diseases)
        self._add_families(size.families)
        self._add_proteins(size.proteins)
        self._add_compounds(size.compounds)
        self._add_people(size)
        self._add_trials(size)
        self._add_papers(size)

    def _ranked(self, entity_type: str) -> _Ranked:
        return _Ranked(self._world.of(entity_type), self._draw)

    def _confidence(self) -> float:
        return self._draw.randint(50, 100) / 100

    def _add_diseases(self, number: int) -> None:
        world, draw, names = self._world, self._draw, self._world.names
        for made in range(number):
            disease = world.add(
                "Disease",
                f"{names.word(2)}{draw.choice(['itis', 'osis', 'emia'])}",
                synonyms=[f"{names.word(2)} syndrome"],
                onset=draw.choice(["adult", "childhood"]),
            )
            if made > 2:
                world.link(disease, "is_a", draw.choice(world.of("Disease")[made // 3 : made]))

    def _add_families(self, number: int) -> None:
        world, draw, names = self._world, self._draw, self._world.names
        for made in range(number):
            family = world.add("Family", f"{names.word(2)} family")
            if made:
                world.link(family, "is_a", draw.choice(world.of("Family")[: (made + 1) // 2]))

    def _add_proteins(self, number: int) -> None:
        world, draw, names = self._world, self._draw, self._world.names
        families, rare = world.of("Family"), world.of("Disease")[::-1]
        for made in range(number):
            # Some have the name of a disease that is rarely drawn.
            namesake = made % 15 == 7 and made // 15 < len(rare) // 3
            name = world.called(rare[made // 15]) if namesake else f"{names.word(2)}in"
            protein = world.add("Protein", name, length=draw.randint(90, 2400))
            world.link(protein, "is_a", draw.choice(families))
        diseases, proteins = self._ranked("Disease"), self._ranked("Protein")
        for protein in world.of("Protein"):
            for disease in diseases.some(3, 0):
                world.link(protein, "associated_with", disease, confidence=self._confidence())
            for other in proteins.some(3, 0):
                if other != protein:
                    world.link(protein, "interacts_with", other, confidence=self._confidence())

    def _add_compounds(self, number: int) -> None:
        diseases, proteins = self._ranked("Disease"), self._ranked("Protein")
        for _ in range(number):
            self._add_compound(diseases, proteins)

    def _add_compound(self, diseases: _Ranked, proteins: _Ranked) -> None:
        world, draw, names = self._world, self._draw, self._world.names
        compound = world.add(
            "Compound",
            f"{names.word(3)}{draw.choice(['mab', 'nib', 'ol'])}",
            synonyms=[names.code()],
            form=draw.choice(FORMS),
            approved=draw.choice([None, draw.randint(1999, 2025)]),
        )
        for protein in proteins.some(6, 2):
            predicate = draw.choice(["activates", "inhibits", "inhibits"])
            year = draw.randint(1998, 2025)
            world.link(compound, predicate, protein, confidence=self._confidence(), year=year)
        for disease in diseases.some(3):
            world.link(compound, "treats", disease, line=draw.choice(["first", "second"]))

    def _add_people(self, size: Size) -> None:
        world, draw, names = self._world, self._draw, self._world.names
        for _ in range(size.centres):
            founded, region = draw.randint(1890, 2015), draw.choice(REGIONS)
            world.add("Centre", f"{names.word(2)} Centre", founded=founded, region=region)
        for _ in range(size.companies):
            founded, region = draw.randint(1890, 2015), draw.choice(REGIONS)
            world.add("Company", f"{names.word(2)} Pharma", founded=founded, region=region)
        centres = world.of("Centre")
        ranked = self._ranked("Centre")
        for number in range(size.people):
            # Every twelfth person has the name of the one before, and works elsewhere.
            shared = number % 12 == 11
            before = world.of("Person")[-1] if shared else None
            person = world.add("Person", world.called(before) if before else names.person())
            taken = set(world.graph.successors(before)) if before else set()
            chosen = [c for c in ranked.some(2) if c not in taken]
            chosen = chosen or [draw.choice([c for c in centres if c not in taken])]
            for centre in chosen:
                world.link(person, "member_of", centre, since=draw.randint(1985, 2024))
        for centre in centres:
            members = list(world.graph.predecessors(centre))
            world.link(draw.choice(members or world.of("Person")), "leads", centre)

    def _add_trials(self, size: Size) -> None:
        world, draw, names = self._world, self._draw, self._world.names
        diseases, compounds = self._ranked("Disease"), self._ranked("Compound")
        companies, centres = self._ranked("Company"), self._ranked("Centre")
        span = (LAST_DAY - FIRST_DAY).days
        for _ in range(size.trials):
            start = FIRST_DAY + timedelta(days=draw.randrange(span))
            trial = world.add(
                "Trial",
                names.trial(),
                phase=draw.choice(PHASES),
                status=draw.choice(STATUSES),
                enrolment=draw.randint(12, 4000),
                start=start.isoformat(),
            )
            for disease in diseases.some(2):
                world.link(trial, "studies", disease)
            for compound in compounds.some(2):
                world.link(trial, "tests", compound)
            for company in companies.some(2):
                world.link(company, "sponsors", trial)
            world.link(trial, "run_at", centres.one())

    def _add_papers(self, size: Size) -> None:
        world, draw, names = self._world, self._draw, self._world.names
        people = self._ranked("Person")
        subjects = [self._ranked(t) for t in ("Disease", "Protein", "Compound")]
        for number in range(size.papers):
            day = world.day(number)
            paper = world.add("Paper", names.title(), year=day.year, published=day.isoformat())
            for position, person in enumerate(people.some(4), 1):
                world.link(person, "authored", paper, position=position)
            for subject in subjects:
                for entity in subject.some(2, 0):
                    world.link(paper, "mentions", entity)
            earlier = world.of("Paper")[:-1]
            for other in sorted(
                {draw.choice(earlier) for _ in range(draw.randint(0, 5)) if earlier}
            ):
                world.link(paper, "cites", other)
        papers = world.of("Paper")
        for subject, object_, predicate, known in world.graph.edges(keys=True, data=True):
            if predicate in ("activates", "associated_with", "inhibits"):
                said = draw.choice(SENTENCES).format(world.called(subject), world.called(object_))
                item = {"document_id": draw.choice(papers), "section": "results"}
                known["evidence"].append(
                    {**item, "text_span": said, "confidence": known["metadata"]["confidence"]}
                )
