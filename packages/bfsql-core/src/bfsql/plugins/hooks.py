"""The hook plugins: each loaded and called separately, so that a failing one breaks no answer.

pluggy's own loader lets one broken plugin stop the host. Here each plugin has its own plugin
manager; errors that it raises, and hooks that it implements wrongly, are reported and skipped.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bfsql.errors import HookPluginUnusable
from bfsql.plugins.declaration import CallOutcome, CommandDeclaration
from bfsql.plugins.distributions import Installed, PluginState, plugins_of
from bfsql.plugins.scan import HOOKS

if TYPE_CHECKING:
    from bfsql.models.records import EntityStub, Metadata, Triple

log = logging.getLogger("bfsql.hooks")

FAULTS = (Exception, SystemExit)
"""Exceptions that a hook may raise without harm; cancellation is not suppressed."""


@dataclass(frozen=True, slots=True)
class HookPlugin:
    """A plugin that implements at least one hook correctly."""

    name: str
    distribution: str | None
    hooks: tuple[str, ...]
    """The names of the hooks that it implements, sorted."""
    relay: Any
    """Calls the plugin's hooks, each by its name."""

    def ask(self, hook: str, **arguments: Any) -> Any:
        """Call a hook with these arguments and the caller; its exceptions are not caught here."""
        from bfsql import call

        under_way = call.current()
        caller = under_way.caller if under_way else None
        return getattr(self.relay, hook)(caller=caller, **arguments)

    @contextmanager
    def guard(self, hook: str) -> Iterator[None]:
        """Log an exception that a hook raises in this block, and continue after the block."""
        try:
            yield
        except FAULTS as fault:
            self.report(hook, fault)

    def report(self, hook: str, fault: BaseException) -> None:
        """Log that a hook failed."""
        why = f"{type(fault).__name__}: {fault}"
        log.error("The hook %s of the plugin %s failed: %s", hook, self.name, why)
        log.debug("It failed here:", exc_info=fault)


class Hooks:
    """The hook plugins of one graph; false if there are none.

    Args:
        plugins: The plugins, in the order in which they are called; each receives the result
            of the previous one.
        hidden: Keys of metadata that are removed before, in any case.
    """

    def __init__(self, plugins: Sequence[HookPlugin] = (), hidden: Iterable[str] = ()) -> None:
        self.plugins, self._hidden = tuple(plugins), frozenset(map(str.casefold, hidden))
        self._redactors = self._of("redact_metadata")

    def __bool__(self) -> bool:
        """Whether there is any plugin."""
        return bool(self.plugins)

    @property
    def redacts(self) -> bool:
        """Whether metadata are redacted."""
        return bool(self._redactors or self._hidden)

    def keeps(self, name: str) -> bool:
        """Whether a property is left as it is in all records."""
        return not self._redactors and not self.hides(name)

    def hides(self, name: str) -> bool:
        """Whether a property is removed from all records."""
        return name.casefold() in self._hidden

    @property
    def watches(self) -> bool:
        """Whether any plugin watches calls."""
        return bool(self._of("watch_call"))

    def watch(
        self, tool: str, arguments: Mapping[str, Any], outcome: CallOutcome, seconds: float
    ) -> None:
        """Pass a finished call to the plugins that watch calls."""
        for plugin in self._of("watch_call"):
            with plugin.guard("watch_call"):
                own = _own(arguments)
                plugin.ask("watch_call", tool=tool, arguments=own, outcome=outcome, seconds=seconds)

    async def refusal(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """The first sentence that refuses a call, or None."""
        for plugin in self._of("refuse_call"):
            with plugin.guard("refuse_call"):
                result = plugin.ask("refuse_call", tool=tool, arguments=_own(arguments))
                sentence = await _awaited(result)
                if isinstance(sentence, str) and sentence.strip():
                    return sentence
                if sentence is not None:
                    raise TypeError(f"it returned {sentence!r}, not a sentence")
        return None

    def redacted(self, kind: str, key: str | Triple, metadata: Metadata) -> Metadata:
        """The part of a record's metadata that may be returned; empty if a redaction failed."""
        if not metadata:
            return metadata
        left: dict[str, Any] = _own(metadata)
        if self._hidden:
            items = [one for one in left.get("provenance", ()) if isinstance(one, dict)]
            for known in (left, *items):
                for name in [key for key in known if key.casefold() in self._hidden]:
                    del known[name]
        for plugin in self._redactors:
            try:
                left = dict(plugin.ask("redact_metadata", kind=kind, key=key, metadata=left))
            except FAULTS as fault:
                from bfsql import call

                if call.withheld((kind, key)):
                    plugin.report("redact_metadata", fault)
                return {}
        return left

    async def reranked(
        self, query: str, node_types: Sequence[str], candidates: list[EntityStub]
    ) -> list[EntityStub]:
        """The same candidates, in the order determined by the hooks."""
        for plugin in self._of("rerank_candidates"):
            with plugin.guard("rerank_candidates"):
                types, copy = list(node_types), list(candidates)
                result = plugin.ask(
                    "rerank_candidates", query=query, node_types=types, candidates=copy
                )
                order = await _awaited(result)
                if order is not None:
                    candidates = _in_order(candidates, order)
        return candidates

    def commands(self) -> Iterator[tuple[HookPlugin, CommandDeclaration]]:
        """The declared commands, each with its plugin."""
        for plugin in self._of("cli_commands"):
            with plugin.guard("cli_commands"):
                commands = list(plugin.relay.cli_commands(caller=None) or ())
                for one in commands:
                    if not isinstance(one, CommandDeclaration):
                        raise TypeError(f"it declared {one!r}, not a CommandDeclaration")
                yield from ((plugin, one) for one in commands)

    def _of(self, hook: str) -> tuple[HookPlugin, ...]:
        return tuple(plugin for plugin in self.plugins if hook in plugin.hooks)


NO_HOOKS: Final = Hooks()
"""An empty collection of plugins."""


# --- loading ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HookState(PluginState):
    """A hook plugin's line of `bfsql backends`."""

    hooks: tuple[str, ...]
    """The names of the hooks that it implements; empty if it cannot be used."""


def load_hooks(plugins: Iterable[object] | None = None) -> Hooks:
    """Load hook plugins.

    Args:
        plugins: Plugin objects passed by the program; None for the installed ones,
            of which unusable ones are reported and left out.

    Raises:
        HookPluginUnusable: One of the plugins passed cannot be used.
    """
    if plugins is not None:
        return Hooks([_registered(_name(one), None, one) for one in plugins])
    usable = []
    for one in plugins_of(HOOKS):
        try:
            usable.append(_loaded(one))
        except HookPluginUnusable as unusable:
            log.error("%s", unusable)  # noqa: TRY400 - the sentence is enough
    return Hooks(usable) if usable else NO_HOOKS


def hook_states() -> list[HookState]:
    """Every installed hook plugin and whether it can be used."""
    return [_state(one) for one in plugins_of(HOOKS)]


def _loaded(one: Installed) -> HookPlugin:
    try:
        return _registered(one.name, one.distribution, one.entry_point.load())
    except HookPluginUnusable:
        raise
    except (Exception, SystemExit) as cause:  # third-party code may raise anything
        why = f"it cannot be imported ({type(cause).__name__}: {cause})"
        raise HookPluginUnusable(one.name, one.distribution, why) from cause


def _state(one: Installed) -> HookState:
    try:
        hooks, state = _loaded(one).hooks, "ok"
    except HookPluginUnusable as unusable:
        hooks, state = (), str(unusable)
    return HookState(one.name, one.distribution, one.version, state, hooks)


def _name(plugin: object) -> str:
    return str(getattr(plugin, "__name__", type(plugin).__name__))


def _registered(name: str, distribution: str | None, plugin: object) -> HookPlugin:
    """A plugin, checked against the specifications; a class is called without arguments.

    Raises:
        HookPluginUnusable: It implements no hook, one that core does not know, or
            one with arguments that the hook does not have.
    """
    import pluggy

    from bfsql.plugins import hookspecs

    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    known = sorted(vars(manager.hook))
    try:
        manager.register(plugin() if isinstance(plugin, type) else plugin, name)
    except pluggy.PluginValidationError as wrong:
        raise HookPluginUnusable(name, distribution, " ".join(str(wrong).split())) from wrong
    own = {hook: caller.get_hookimpls() for hook, caller in vars(manager.hook).items()}
    for hook, found in own.items():
        if hook not in known and not all(one.optionalhook for one in found):
            strange = f"there is no hook {hook!r}; the hooks are {', '.join(known)}"
            raise HookPluginUnusable(name, distribution, strange)
        if hook in hookspecs.PLAIN and any(inspect.iscoroutinefunction(f.function) for f in found):
            raise HookPluginUnusable(name, distribution, f"{hook} has to be a plain function")
    implemented = tuple(hook for hook in known if own[hook])
    if not implemented:
        lack = f"it implements no hook; mark with hookimpl one of {', '.join(known)}"
        raise HookPluginUnusable(name, distribution, lack)
    return HookPlugin(name, distribution, implemented, manager.hook)


# --- what is given to a hook and what it gives back ---------------------------


async def _awaited(value: Any) -> Any:
    """The result of a hook, awaited until the deadline of the current call."""
    if not inspect.isawaitable(value):
        return value
    from bfsql.deadline import within

    return await within(value)


def _in_order(candidates: Sequence[EntityStub], order: Sequence[EntityStub]) -> list[EntityStub]:
    by_id = {stub.id: stub for stub in candidates}
    ids = dict.fromkeys(stub.id for stub in order)
    strange = [i for i in ids if i not in by_id]
    if strange:
        raise ValueError(f"it returned {strange[0]!r}, which is not a candidate")
    return [by_id[i] for i in dict.fromkeys((*ids, *by_id))]


def _own(value: Any) -> Any:
    """A copy of mappings, lists and sets at every level, so that a hook may modify it."""
    if isinstance(value, Mapping):
        return {key: _own(item) for key, item in value.items()}
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return [_own(item) for item in value]
    return set(value) if isinstance(value, set) else value
