"""A kind of question: its text, how it is drawn, its true answer, and three plans."""

from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from string import Template
from typing import Any, ClassVar

from bfsql_test_support.questions.drawing import Drawing
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


class Kind(ABC):
    """A kind of question.

    Most plans are one call, which the attributes declare; the others are methods, which receive
    the tools and, as keyword arguments, the values that `draw` has chosen.

    Attributes:
        text: The question, with the names of the drawn values in braces.
        form: The form of its answer.
        hint: An addition to the description of the form.
        walk: The plan with our tools.
        cypher_query: The plan with Cypher; the drawn values are its parameters.
        sparql_query: The plan with SPARQL, likewise.
    """

    text: ClassVar[str]
    form: ClassVar[Form] = Form.NAMES
    hint: ClassVar[str] = ""
    walk: ClassVar[Walk]
    cypher_query: ClassVar[str]
    sparql_query: ClassVar[str]

    @property
    def name(self) -> str:
        """Its name in reports."""
        return re.sub(r"(?<!^)(?=[A-Z])", " ", type(self).__name__).lower()

    @abstractmethod
    def draw(self, world: Drawing) -> Drawn:
        """Choose the values to ask for, and compute the answer with networkx.

        Raises:
            NothingFits: The world has nothing to ask for.
        """

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
    """A question of a kind about a world.

    Attributes:
        kind: Its kind.
        about: The arguments of its plans.
        answer: The true answer.
    """

    kind: Kind
    about: dict[str, Any]
    answer: Any

    @classmethod
    def of(cls, kind: Kind, world: World) -> Question:
        """The question of a kind about a world; always the same one.

        Raises:
            NothingFits: The world has nothing to ask for.
        """
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
