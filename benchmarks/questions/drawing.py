"""Draws what a question is about, and looks up in networkx what is true of it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import networkx as nx

from questions.names import distance, misspelt
from questions.worlds import World

T = TypeVar("T")
ENOUGH = 2_000
"""Draws after which a kind of question is given up for a world."""


class NothingFits(Exception):
    """A world that has nothing that a kind of question could ask for."""


class Lookup:
    """A world as networkx sees it.

    Args:
        world: The world.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.graph = world.graph
        self.undirected = world.undirected

    @cached_property
    def unique(self) -> set[str]:
        """Nodes whose name nothing else has as its name or alias."""
        spellings: Counter[str] = Counter()
        for _, known in self.graph.nodes(data="metadata"):
            spellings.update({known["name"], *known.get("synonyms", ())})
        called = self.graph.nodes(data="metadata")
        return {node for node, known in called if spellings[known["name"]] == 1}

    def name(self, node: str) -> str:
        """What a node is called."""
        return self.world.called(node)

    def names(self, nodes: Iterable[str]) -> list[str]:
        """What nodes are called, each name once, sorted."""
        return sorted({self.name(node) for node in nodes})

    def get(self, node: str, key: str) -> Any:
        """A property of a node, or None."""
        return self.world.metadata(node).get(key)

    def type(self, node: str) -> str:
        """The type of a node."""
        entity_type: str = self.graph.nodes[node]["type"]
        return entity_type

    def out(self, node: str, *predicates: str) -> list[str]:
        """Where edges of these predicates lead from a node; each node as often as edges do."""
        return [o for _, o, p in self.graph.out_edges(node, keys=True) if p in predicates]

    def into(self, node: str, *predicates: str) -> list[str]:
        """Where edges of these predicates to a node come from."""
        return [s for s, _, p in self.graph.in_edges(node, keys=True) if p in predicates]

    def edge(self, subject: str, predicate: str, object_: str) -> dict[str, Any]:
        """The properties of an edge."""
        metadata: dict[str, Any] = self.graph.edges[subject, object_, predicate]["metadata"]
        return metadata

    def evidence(self, subject: str, predicate: str, object_: str) -> list[dict[str, Any]]:
        """What supports an edge."""
        items: list[dict[str, Any]] = self.graph.edges[subject, object_, predicate]["evidence"]
        return items

    def within(self, node: str, predicate: str, steps: int, *, against: bool = False) -> set[str]:
        """What is one to so many edges of a predicate away, along them or against them."""
        edges = [(s, o) for s, o, p in self.graph.edges(keys=True) if p == predicate]
        part = nx.DiGraph(edges)
        part.add_node(node)
        far = nx.single_source_shortest_path_length(
            part.reverse() if against else part, node, cutoff=steps
        )
        return set(far) - {node}


class Drawing(Lookup):
    """Draws for one question.

    Args:
        world: The world.
        draw: Where chance comes from.
    """

    def __init__(self, world: World, draw: random.Random) -> None:
        super().__init__(world)
        self.chance = draw

    def one(self, entity_type: str, fits: Callable[[str], Any] = lambda _: True) -> str:
        """A node of a type that a question may name, which fits.

        Raises:
            NothingFits: None does.
        """
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
        """The first draw that gives something.

        Raises:
            NothingFits: None does.
        """
        for _ in range(ENOUGH):
            if (found := draw()) is not None:
                return found
        raise NothingFits(self.world.name)

    def choice(self, items: Sequence[T]) -> T:
        """One of them."""
        return self.chance.choice(items)

    def misspelt(self, node: str) -> str | None:
        """The name of a node with a typing error, where nothing else is spelt alike."""
        wrong = misspelt(self.name(node), self.chance)
        known = (self.name(other) for other in self.graph if other != node)
        return None if any(distance(wrong, name) < 4 for name in known) else wrong
