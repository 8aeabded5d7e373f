"""Whoever has a say, asked one by one; what one of them raises breaks no answer."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from bfsql import call
from bfsql.models.records import EntityStub, Metadata, Triple
from bfsql.plugins.declaration import CommandDeclaration
from bfsql.plugins.hook_plugin import HookPlugin
from bfsql.plugins.outcome import Outcome

FAULTS = (Exception, SystemExit)
"""What a hook may raise without harm; a cancelled call ends all the same."""


class Hooks:
    """The hook plugins of one graph; false where there are none.

    Args:
        plugins: In the order in which they are asked; each one's result is what
            the next one is given.
    """

    def __init__(self, plugins: Sequence[HookPlugin] = ()) -> None:
        self.plugins = tuple(plugins)
        self._redactors = self._of("redact_metadata")

    def __bool__(self) -> bool:
        """Whether anybody has a say."""
        return bool(self.plugins)

    @property
    def redacts(self) -> bool:
        """Whether metadata has to be shown to somebody before it leaves."""
        return bool(self._redactors)

    def watch(
        self, tool: str, arguments: Mapping[str, Any], outcome: Outcome, seconds: float
    ) -> None:
        """Tell of a call that is over."""
        for plugin in self._of("watch_call"):
            try:
                plugin.ask(
                    "watch_call",
                    tool=tool,
                    arguments=_own(arguments),
                    caller=_caller(),
                    outcome=outcome,
                    seconds=seconds,
                )
            except FAULTS as fault:
                plugin.report("watch_call", fault)

    async def refusal(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """The first sentence that refuses a call, or None."""
        for plugin in self._of("refuse_call"):
            try:
                sentence = await _result(
                    plugin.ask(
                        "refuse_call", tool=tool, arguments=_own(arguments), caller=_caller()
                    )
                )
                if sentence is None:
                    continue
                if isinstance(sentence, str) and sentence.strip():
                    return sentence
                raise TypeError(f"it returned {sentence!r}, not a sentence")
            except FAULTS as fault:
                plugin.report("refuse_call", fault)
        return None

    def redacted(self, kind: str, key: str | Triple, metadata: Metadata) -> Metadata:
        """What of a record may leave; nothing where a redaction failed."""
        if not metadata:
            return metadata
        given = _own(metadata)
        for plugin in self._redactors:
            try:
                given = dict(
                    plugin.ask(
                        "redact_metadata", kind=kind, key=key, metadata=given, caller=_caller()
                    )
                )
            except FAULTS as fault:
                if call.withheld((kind, key)):
                    plugin.report("redact_metadata", fault)
                return {}
        return dict(given)

    async def reranked(
        self, query: str, node_types: Sequence[str], candidates: list[EntityStub]
    ) -> list[EntityStub]:
        """The same candidates, in the order that the hooks give them."""
        for plugin in self._of("rerank_candidates"):
            try:
                order = await _result(
                    plugin.ask(
                        "rerank_candidates",
                        query=query,
                        node_types=list(node_types),
                        candidates=list(candidates),
                        caller=_caller(),
                    )
                )
                if order is not None:
                    candidates = _in_order(candidates, order)
            except FAULTS as fault:
                plugin.report("rerank_candidates", fault)
        return candidates

    def commands(self) -> Iterator[tuple[HookPlugin, CommandDeclaration]]:
        """The commands that are declared, and by whom."""
        for plugin in self._of("cli_commands"):
            try:
                declared = list(plugin.ask("cli_commands") or ())
                for one in declared:
                    if not isinstance(one, CommandDeclaration):
                        raise TypeError(f"it declared {one!r}, not a CommandDeclaration")
            except FAULTS as fault:
                plugin.report("cli_commands", fault)
            else:
                yield from ((plugin, one) for one in declared)

    def _of(self, hook: str) -> tuple[HookPlugin, ...]:
        return tuple(plugin for plugin in self.plugins if hook in plugin.hooks)


NO_HOOKS: Final = Hooks()
"""Nobody has a say."""


async def _result(value: Any) -> Any:
    """What a hook gives, waited for as long as the call under way has time."""
    if not inspect.isawaitable(value):
        return value
    async with asyncio.timeout(call.remaining()):
        return await value


def _in_order(candidates: Sequence[EntityStub], order: Sequence[EntityStub]) -> list[EntityStub]:
    by_id = {stub.id: stub for stub in candidates}
    ids = dict.fromkeys(stub.id for stub in order)
    strange = [i for i in ids if i not in by_id]
    if strange:
        raise ValueError(f"it returned {strange[0]!r}, which is no candidate")
    return [by_id[i] for i in dict.fromkeys((*ids, *by_id))]


def _caller() -> call.Caller | None:
    under_way = call.current()
    return under_way.caller if under_way else None


def _own(value: Any) -> Any:
    """A copy of maps, lists and sets, at every level: a hook's own to change."""
    if isinstance(value, Mapping):
        return {key: _own(item) for key, item in value.items()}
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return [_own(item) for item in value]
    return set(value) if isinstance(value, set) else value
