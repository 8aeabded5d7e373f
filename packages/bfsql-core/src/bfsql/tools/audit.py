"""What the audit hooks receive of a tool call: its arguments, its outcome and its time."""

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
class AuditedCall:
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
        return CallOutcome(len(self.answer.text.encode()), _rows(self.tool, self.answer.content))


@contextmanager
def audited(hooks: Hooks, tool: str, arguments: Any) -> Iterator[AuditedCall]:
    """Pass the call to the hooks when it is over, however it ends.

    Args:
        hooks: At least one of them watches.
        tool: Name of the tool.
        arguments: As the client sent them.

    Yields:
        The record of the call, to be given the checked arguments and the answer.
    """
    seen = AuditedCall(tool, arguments if isinstance(arguments, Mapping) else {})
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


def _rows(tool: str, content: Mapping[str, Any]) -> dict[str, int]:
    """How much of what an answer holds."""
    if tool == "describe_entity":
        return {"items": 1}
    return {name: len(content[key]) for key, name in _COUNTED[tool].items()}
