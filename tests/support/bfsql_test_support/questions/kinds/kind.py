"""A kind of question: its text, how it is drawn, its true answer, and three plans."""

from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
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


class Kind(ABC):
    """A kind of question.

    A plan receives the tools and, as keyword arguments, the values that `draw` has chosen.

    Attributes:
        text: The question, with the names of the drawn values in braces.
        form: The form of its answer.
        hint: An addition to the description of the form.
    """

    text: ClassVar[str]
    form: ClassVar[Form] = Form.NAMES
    hint: ClassVar[str] = ""

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

    @abstractmethod
    async def six_tools(self, ask: SixTools, *args: Any, **kwargs: Any) -> Any:
        """The answer of the plan with our tools."""

    @abstractmethod
    async def cypher(self, ask: CypherTools, *args: Any, **kwargs: Any) -> Any:
        """The answer of the plan with Cypher."""

    @abstractmethod
    async def sparql(self, ask: SparqlTools, *args: Any, **kwargs: Any) -> Any:
        """The answer of the plan with SPARQL."""


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
