"""A tool call from outside: when it began, what became of it, told to the hooks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bfsql.answers import Answer
from bfsql.errors import ToolError
from bfsql.plugins import CallOutcome, Hooks

_COUNTED = {
    "bfs_query": {"nodes": "nodes", "edges": "edges"},
    "intersect_subgraphs": {"nodes": "nodes", "edges": "edges"},
    "search_entities": {"result": "items"},
    "describe_entities": {"result": "items"},
    "describe_schema": {"entity_types": "entity_types", "predicates": "predicates"},
}
"""The lists of an answer, and what their lengths are called."""


@dataclass(slots=True)
class Watched:
    """What is known of a call so far."""

    tool: str
    arguments: Mapping[str, Any]
    answer: Answer | None = None
    error: str | None = None

    @property
    def outcome(self) -> CallOutcome:
        """What became of it."""
        if self.answer is None:
            return CallOutcome(error=self.error or "internal")
        return CallOutcome(len(self.answer.text.encode()), rows(self.tool, self.answer.content))


@contextmanager
def watched(hooks: Hooks, tool: str, arguments: Any) -> Iterator[Watched]:
    """Tell the hooks of the call when it is over, however it ends.

    Args:
        hooks: Who is told.
        tool: Name of the tool.
        arguments: As the client sent them; whoever checks them puts the values in
            their place.

    Yields:
        To be told the values and the answer.
    """
    seen = Watched(tool, arguments if isinstance(arguments, Mapping) else {})
    began = time.perf_counter()
    try:
        yield seen
    except ToolError as error:
        seen.error = error.kind
        raise
    except asyncio.CancelledError:
        seen.error = "cancelled"
        raise
    finally:
        hooks.watch(tool, seen.arguments, seen.outcome, time.perf_counter() - began)


def rows(tool: str, content: Mapping[str, Any]) -> dict[str, int]:
    """How much of what an answer holds."""
    if tool == "describe_entity":
        return {"items": 1}
    return {name: len(content[key]) for key, name in _COUNTED[tool].items()}
