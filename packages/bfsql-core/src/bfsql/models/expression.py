"""Expressions over properties, and the key that stands for one wherever a property may stand.

`protocol.md` 39 has the rules: whole numbers are exact below 2^63, all else are doubles of 15
significant digits, and a part that is missing makes the whole missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeAlias

from pydantic_core import core_schema

COMPARISONS = frozenset(("=", "!=", "<", "<=", ">", ">="))


class Part(NamedTuple):
    """A property in an expression."""

    key: str
    step: int | None = None
    """The step of a path; None for the things that the expression is about."""
    predicate: str | None = None
    """The predicate of the edges that have it; None for a property of nodes."""
    type: str | None = None
    """The type of the nodes that have it; None if the text names none."""

    @property
    def place(self) -> tuple[int | None, str | None]:
        """The nodes or edges that have it: their step, and the predicate of edges."""
        return self.step, self.predicate


class Constant(NamedTuple):
    """A number or a date, as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class Operation:
    """A function or an operator, and what it is applied to.

    A comparison has its left side, and one or several right sides of which one has to hold.
    """

    name: str
    arguments: tuple[Tree, ...]


Tree: TypeAlias = "Part | Constant | Operation"


def parts_of(tree: Tree) -> Iterator[Part]:
    """The properties of an expression, from left to right."""
    if isinstance(tree, Part):
        yield tree
    elif isinstance(tree, Operation):
        for one in tree.arguments:
            yield from parts_of(one)


def replaced(tree: Tree, change: Callable[[Part], Tree]) -> Tree:
    """An expression with something else for each of its properties."""
    if isinstance(tree, Part):
        return change(tree)
    if isinstance(tree, Operation):
        return Operation(tree.name, tuple(replaced(one, change) for one in tree.arguments))
    return tree


class Computed(str):
    """The key of a property that is computed: the text of an expression.

    It is no property of that name: it equals only keys of the same expression.

    Args:
        text: The expression as it is written.
        tree: Its parts.
    """

    # A str, since it goes wherever a key goes: into conditions, facets, measures and orders.
    __slots__ = ("tree",)
    tree: Tree

    def __new__(cls, text: str, tree: Tree) -> Self:
        """Create the key."""
        key = super().__new__(cls, " ".join(text.split()))
        key.tree = tree
        return key

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> core_schema.CoreSchema:
        return core_schema.is_instance_schema(cls)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Computed) and self.tree == other.tree

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.tree)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Its properties, each once."""
        return tuple(dict.fromkeys(parts_of(self.tree)))

    @property
    def is_comparison(self) -> bool:
        """Whether its value tells whether something holds, and is no number."""
        return isinstance(self.tree, Operation) and self.tree.name in COMPARISONS

    @property
    def keys(self) -> frozenset[str]:
        """The keys of its properties."""
        return frozenset(part.key for part in self.parts)


def base_keys(keys: Iterable[str]) -> set[str]:
    """The keys of the properties that are these, or of which these are computed."""
    return set().union(*(one.keys if isinstance(one, Computed) else (one,) for one in keys))
