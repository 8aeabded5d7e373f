"""What observers and audit hooks learn of a tool call: its arguments, its outcome and its time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bfsql.answers import Answer
from bfsql.call import Estimator
from bfsql.observer import ObservedCall, Observer
from bfsql.plugins import CallOutcome, Hooks

_COUNTED = {
    "bfs_query": {"nodes": "nodes", "edges": "edges"},
    "intersect_subgraphs": {"nodes": "nodes", "edges": "edges"},
    "search_entities": {"result": "items"},
    "describe_entities": {"result": "items"},
    "describe_schema": {"entity_types": "entity_types", "predicates": "predicates"},
}
"""The lists of an answer, and what their lengths are called."""


class WatchingHooks(Observer):
    """Passes finished calls to the hook `watch_call`, inside the scope of the call.

    Args:
        hooks: At least one of them watches.
    """

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    def call_ended(self, seen: ObservedCall) -> None:
        """Pass it on."""
        outcome = CallOutcome(seen.size, seen.rows, seen.error)
        self._hooks.watch(seen.tool, seen.arguments, outcome, seen.seconds)


def has_answered(seen: ObservedCall, answer: Answer, estimator: Estimator) -> None:
    """Record a call's answer and its size.

    Args:
        seen: The call.
        answer: Its answer.
        estimator: How its tokens are counted.
    """
    text = answer.text.encode()
    seen.answer = "\n".join(answer.blocks)
    seen.size, seen.tokens = len(text), estimator(text)
    seen.rows = _rows(seen.tool, answer.content)


def _rows(tool: str, content: Mapping[str, Any]) -> dict[str, int]:
    """How much of what an answer holds."""
    if tool == "describe_entity":
        return {"items": 1}
    return {name: len(content[key]) for key, name in _COUNTED[tool].items()}
