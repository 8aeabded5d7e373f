"""A kind of question: its text, how it is drawn, its true answer, and three plans."""

import random
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from string import Template
from typing import Any, ClassVar, Self

from bfsql_test_support.questions.drawing import Drawing
from bfsql_test_support.questions.scores import f1, rows_of
from bfsql_test_support.questions.toolsets import CypherTools, SixTools, SparqlTools
from bfsql_test_support.questions.worlds import World


class Form(Enum):
    """The form of an answer; the value describes it to a model."""

    NAMES = "a JSON list of names, each once, in any order"
    RANKING = "a JSON list of names, in the order asked for"
    NAME = "a JSON string, the name alone"
    TEXT = "a JSON string"
    NUMBER = "a JSON number"
    YES_OR_NO = "true or false"
    TABLE = "a JSON object"


MANY = sys.maxsize
Drawn = tuple[dict[str, Any], Any]
"""The values drawn for a question, as arguments of its plans, and its true answer."""


class Walk:
    """A call of `SixTools.walk`, in whose strings `$name` stands for a drawn value."""

    def __init__(self, seed: str, *steps: str, **options: Any) -> None:
        self._arguments = [seed, *steps]
        self._options = options

    def of(self, about: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
        """The arguments of the call, positional and by keyword."""

        def filled(value: Any) -> Any:
            if isinstance(value, list):
                return [filled(item) for item in value]
            return Template(value).substitute(about) if isinstance(value, str) else value

        options = {key: filled(value) for key, value in self._options.items()}
        return filled(self._arguments), options


class Kind:
    """A kind of question.

    Most plans are one call, which the attributes declare; the others are methods, which receive
    the tools and, as keyword arguments, the values that `draw` has chosen. So are most questions
    about one node, of which the attributes name the type.

    Attributes:
        hint: An addition to the description of the form.
        walk: The plan with our tools.
        cypher_query: The plan with Cypher; the drawn values are its parameters.
        sparql_query: The plan with SPARQL, likewise.
        subject: The type of the node that is asked about; "" where `attempt` draws the values.
        steps: The steps from it to the answer, where no `find` computes it.
        sizes: The least and the greatest size of an answer worth asking for.
    """

    text: ClassVar[str]
    form: ClassVar[Form] = Form.NAMES
    hint: ClassVar[str] = ""
    walk: ClassVar[Walk]
    cypher_query: ClassVar[str]
    sparql_query: ClassVar[str]
    subject: ClassVar[str] = ""
    steps: ClassVar[tuple[str, ...]] = ()
    sizes: ClassVar[tuple[int, int]] = (1, MANY)

    @property
    def name(self) -> str:
        """Its name in reports."""
        return re.sub(r"(?<!^)(?=[A-Z])", " ", type(self).__name__).lower()

    def draw(self, world: Drawing) -> Drawn:
        """Choose the values to ask for, and compute the answer with networkx."""
        if not self.subject:
            return world.until(lambda: self.attempt(world))
        node = world.one(self.subject, lambda one: self.fits(world, one))
        found = self.find(world, node)
        match self.form:
            case Form.NAMES:
                found = world.names(found)
            case Form.NAME:
                [found] = map(world.name, found)
            case Form.RANKING:
                found = [world.name(one) for one in found]
        return {self.subject.lower(): world.name(node)}, found

    def attempt(self, world: Drawing) -> Drawn | None:
        """One choice of values, and the answer; None where it is nothing to ask for."""
        raise NotImplementedError

    def find(self, world: Drawing, node: str, /) -> Any:
        """What is asked for about a node: nodes, a number, a table; None where it is ambiguous."""
        return {*world.follow(node, *self.steps)}

    def fits(self, world: Drawing, node: str, /) -> bool:
        """Whether a node is one to ask about."""
        found = self.find(world, node)
        if found is None:
            return False
        return self.sizes[0] <= (found if isinstance(found, int) else len(found)) <= self.sizes[1]

    async def six_tools(self, ask: SixTools, *_: Any, **about: Any) -> Any:
        """The answer of the plan with our tools."""
        arguments, options = self.walk.of(about)
        if self.form in (Form.NUMBER, Form.YES_OR_NO):
            count = await ask.count(*arguments, **options)
            return count if self.form is Form.NUMBER else count > 0
        ends = names(await ask.walk(*arguments, **options))
        return ends[0] if self.form is Form.NAME else ends

    async def cypher(self, ask: CypherTools, *_: Any, **about: Any) -> Any:
        """The answer of the plan with Cypher."""
        return self._answer(await ask.rows(self.cypher_query, **about))

    async def sparql(self, ask: SparqlTools, *_: Any, **about: Any) -> Any:
        """The answer of the plan with SPARQL."""
        return self._answer(await ask.rows(self.sparql_query, **about))

    def _answer(self, rows: list[dict[str, Any]]) -> Any:
        """The answer in the rows of a query; numbers of SPARQL are strings."""
        values = [list(row.values()) for row in rows]
        match self.form:
            case Form.NAMES | Form.RANKING:
                return [row[0] for row in values]
            case Form.YES_OR_NO:  # Cypher returns true or false, SPARQL a row or none
                return any(row[0] is not False for row in values)
            case Form.TABLE:
                return {str(key): int(v) if str(v).isdigit() else v for key, v in values}
        [[value, *_]] = values
        return float(value) if self.form is Form.NUMBER else value


@dataclass(frozen=True)
class Question:
    """A question of a kind about a world."""

    kind: Kind
    about: dict[str, Any]
    answer: Any

    @classmethod
    def of(cls, kind: Kind, world: World) -> Self:
        """The question of a kind about a world; always the same one."""
        return cls(kind, *kind.draw(Drawing(world, random.Random(f"{world.seed} {kind.name}"))))

    @property
    def text(self) -> str:
        """Its text, with the values filled in."""
        told = {
            name: ", ".join(value) if isinstance(value, list) else value
            for name, value in self.about.items()
        }
        return self.kind.text.format(**told)

    def is_right(self, answer: Any) -> bool:
        """Whether an answer is the true one."""
        return bool(_plain(answer, self.kind.form) == _plain(self.answer, self.kind.form))

    def f1(self, answer: Any) -> float:
        """F1 of the sets of values of an answer and of the true one."""
        plain = (_plain(one, self.kind.form) for one in (answer, self.answer))
        return f1(*map(rows_of, plain))


def _plain(answer: Any, form: Form) -> Any:
    """An answer normalized for comparison: without case, and sorted unless order matters."""
    match answer:
        case str():
            return answer.strip().casefold()
        case list():
            plain = [_plain(item, form) for item in answer]
            return plain if form is Form.RANKING else sorted(set(plain), key=str)
        case dict():
            return {_plain(str(key), form): _plain(value, form) for key, value in answer.items()}
        case float():
            return round(answer, 6)
        case _:
            return answer


def names(nodes: list[dict[str, Any]]) -> list[str]:
    """The names of an answer's nodes, in their order, each once."""
    return list(dict.fromkeys(node["metadata"]["name"] for node in nodes))


def largest(numbers: Mapping[str, Any], first: int = 1) -> list[str] | None:
    """The `first` items with the largest numbers; None where ties make them ambiguous."""
    order = sorted(numbers, key=lambda item: -numbers[item])[: first + 1]
    return order[:first] if len({numbers[item] for item in order}) == first + 1 else None
