"""Records of tool calls for observers and audit hooks: arguments, outcome and time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bfsql.answers import Answer
from bfsql.call import Estimator
from bfsql.observer import ObservedCall, Observer
from bfsql.plugins import CallOutcome, Hooks

_LISTS = ("nodes", "edges", "result", "entity_types", "predicates")
"""The lists of an answer whose lengths are reported; `result` as `items`."""


class WatchingHooks(Observer):
    """Passes finished calls to the hook `watch_call`, inside the scope of the call.

    Args:
        hooks: The hooks, at least one of which watches.
    """

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    def call_ended(self, seen: ObservedCall) -> None:
        """Pass the finished call to the hooks."""
        outcome = CallOutcome(seen.size, seen.rows, seen.error)
        self._hooks.watch(seen.tool, seen.arguments, outcome, seen.seconds)


def has_answered(seen: ObservedCall, answer: Answer, estimator: Estimator) -> None:
    """Record a call's answer and its size.

    Args:
        seen: The call.
        answer: Its answer.
        estimator: The function that counts its tokens.
    """
    text = answer.text.encode()
    seen.answer, seen.content = "\n".join(answer.blocks), answer.content
    seen.size, seen.tokens = len(text), estimator(text)
    seen.rows = _rows(seen.tool, answer.content)


def _rows(tool: str, content: Mapping[str, Any]) -> dict[str, int]:
    """The number of items in an answer, by kind."""
    if tool == "describe_entity":
        return {"items": 1}
    lists = {"items" if key == "result" else key: content.get(key) for key in _LISTS}
    return {name: len(items) for name, items in lists.items() if items is not None}
