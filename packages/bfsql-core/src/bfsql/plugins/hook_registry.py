"""The installed hook plugins: loaded one at a time, each in a guard.

pluggy's own loader lets one broken plugin stop the host; here it is reported,
and has no say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint

from bfsql.errors import HookPluginUnusable
from bfsql.plugins.hook_plugin import HookPlugin, log, registered
from bfsql.plugins.hook_points import hook_points, origin
from bfsql.plugins.hooks import NO_HOOKS, Hooks


@dataclass(frozen=True, slots=True)
class HookState:
    """A hook plugin's line of `bfsql backends`."""

    name: str
    distribution: str
    version: str
    hooks: tuple[str, ...]
    """Those that it implements; empty where it cannot be used."""
    state: str
    """`ok`, or the sentence that says why it cannot be used."""

    @property
    def ok(self) -> bool:
        """Whether it can be used."""
        return self.state == "ok"


def load_hooks(plugins: Iterable[object] | None = None) -> Hooks:
    """The hooks that have a say.

    Args:
        plugins: Plugin objects of the program's own; None for the installed ones,
            of which those that cannot be used are reported and left out.

    Raises:
        HookPluginUnusable: One of the program's own cannot be used.
    """
    if plugins is not None:
        return Hooks([registered(_named(one), None, "", one) for one in plugins])
    usable = []
    for point in hook_points():
        try:
            usable.append(_loaded(point))
        except HookPluginUnusable as unusable:
            log.error("%s", unusable)
    return Hooks(usable) if usable else NO_HOOKS


def hook_states() -> list[HookState]:
    """Every installed hook plugin and whether it can be used."""
    return [_state(point) for point in hook_points()]


def _loaded(point: EntryPoint) -> HookPlugin:
    distribution, version = origin(point)
    try:
        return registered(point.name, distribution, version, point.load())
    except HookPluginUnusable:
        raise
    except (Exception, SystemExit) as cause:  # a stranger's module may do anything
        why = f"it cannot be imported ({type(cause).__name__}: {cause})"
        raise HookPluginUnusable(point.name, distribution, why) from cause


def _state(point: EntryPoint) -> HookState:
    distribution, version = origin(point)
    try:
        return HookState(point.name, distribution, version, _loaded(point).hooks, "ok")
    except HookPluginUnusable as unusable:
        return HookState(point.name, distribution, version, (), str(unusable))


def _named(plugin: object) -> str:
    return str(getattr(plugin, "__name__", type(plugin).__name__))
