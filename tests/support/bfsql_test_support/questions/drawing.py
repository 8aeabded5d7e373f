"""Draws the subjects of questions at random, and looks up the true answers in networkx."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import networkx as nx

from bfsql_test_support.questions.names import distance, misspelt
from bfsql_test_support.questions.worlds import World

T = TypeVar("T")
ENOUGH = 2_000
"""Attempts after which a world has no question of a kind."""


class NothingFits(Exception):
    """The world has nothing that a kind of question could ask for."""


class Lookup:
    """A world as networkx sees it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.graph = world.graph
        self.undirected = world.undirected

    @cached_property
    def unique(self) -> set[str]:
        """Nodes whose name is not a name or alias of any other node."""
        spellings: Counter[str] = Counter()
        for _, known in self.graph.nodes(data="metadata"):
            spellings.update({known["name"], *known.get("synonyms", ())})
        called = self.graph.nodes(data="metadata")
        return {node for node, known in called if spellings[known["name"]] == 1}

    def of(self, entity_type: str, **properties: Any) -> list[str]:
        """The nodes of a type with these values of properties."""
        return [node for node in self.world.of(entity_type) if self.has(node, **properties)]

    def has(self, node: str, **properties: Any) -> bool:
        """Whether a node has these values of properties."""
        return properties.items() <= self.metadata(node).items()

    def metadata(self, node: str) -> dict[str, Any]:
        """The properties of a node."""
        return self.world.metadata(node)

    def name(self, node: str) -> str:
        """The name of a node."""
        return self.world.called(node)

    def about(self, **nodes: str) -> dict[str, Any]:
        """The values of a question that are names of nodes."""
        return {value: self.name(node) for value, node in nodes.items()}

    def names(self, nodes: Iterable[str]) -> list[str]:
        """The distinct names of nodes, sorted."""
        return sorted({self.name(node) for node in nodes})

    def get(self, node: str, key: str) -> Any:
        """A property of a node, or None."""
        return self.metadata(node).get(key)

    def type(self, node: str) -> str:
        """The type of a node."""
        entity_type: str = self.graph.nodes[node]["type"]
        return entity_type

    def out(self, node: str, *predicates: str) -> list[str]:
        """The objects of a node's edges with these predicates, one per edge."""
        return [o for _, o, p in self.graph.out_edges(node, keys=True) if p in predicates]

    def into(self, node: str, *predicates: str) -> list[str]:
        """The subjects of edges to a node with these predicates, one per edge."""
        return [s for s, _, p in self.graph.in_edges(node, keys=True) if p in predicates]

    def follow(self, node: str, *steps: str) -> list[str]:
        """The ends of all paths along steps such as `tests->`, `<-a|b` and, both ways, `-a-`."""
        ends = [node]
        for step in steps:
            ways = [
                *([self.out] if not step.startswith("<") else ()),
                *([self.into] if not step.endswith(">") else ()),
            ]
            predicates = step.strip("<->").split("|")
            ends = [end for start in ends for way in ways for end in way(start, *predicates)]
        return ends

    def edge(self, subject: str, predicate: str, object_: str) -> dict[str, Any]:
        """The properties of an edge."""
        metadata: dict[str, Any] = self.graph.edges[subject, object_, predicate]["metadata"]
        return metadata

    def evidence(self, subject: str, predicate: str, object_: str) -> list[dict[str, Any]]:
        """The evidence of an edge."""
        items: list[dict[str, Any]] = self.graph.edges[subject, object_, predicate]["evidence"]
        return items

    def within(self, node: str, predicate: str, steps: int, *, against: bool = False) -> set[str]:
        """The nodes one to `steps` edges of a predicate away, along or against their direction."""
        edges = [(s, o) for s, o, p in self.graph.edges(keys=True) if p == predicate]
        part = nx.DiGraph(edges)
        part.add_node(node)
        far = nx.single_source_shortest_path_length(
            part.reverse() if against else part, node, cutoff=steps
        )
        return set(far) - {node}


class Drawing(Lookup):
    """Draws for one question."""

    def __init__(self, world: World, draw: random.Random) -> None:
        super().__init__(world)
        self.chance = draw

    def one(self, entity_type: str, fits: Callable[[str], Any] = lambda _: True) -> str:
        """A random node of a type that a question may name and that satisfies `fits`."""
        nodes = [node for node in self.world.of(entity_type) if node in self.unique]
        self.chance.shuffle(nodes)
        for node in nodes:
            if fits(node):
                return node
        raise NothingFits(entity_type)

    def hub(self, entity_type: str) -> str:
        """The node of a type with the most edges that a question may name."""
        nodes = (node for node in self.world.of(entity_type) if node in self.unique)
        return max(nodes, key=self.graph.degree)

    def until(self, draw: Callable[[], T | None]) -> T:
        """The first draw that is not None."""
        for _ in range(ENOUGH):
            if (found := draw()) is not None:
                return found
        raise NothingFits(self.world.name)

    def choice(self, items: Sequence[T]) -> T:
        """A random item."""
        return self.chance.choice(items)

    def misspelt(self, node: str) -> str | None:
        """The name of a node with a typing error; None if another name is similar."""
        wrong = misspelt(self.name(node), self.chance)
        known = (self.name(other) for other in self.graph if other != node)
        return None if any(distance(wrong, name) < 4 for name in known) else wrong
