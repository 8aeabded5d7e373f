"""One hook plugin: registered by itself, asked by itself.

Each has a pluggy manager of its own, so that what one raises, or implements
wrongly, stops no other.
"""

from __future__ import annotations

import inspect
import logging
from dataclasses import dataclass
from typing import Any

from bfsql.errors import HookPluginUnusable

log = logging.getLogger("bfsql.hooks")


@dataclass(frozen=True, slots=True)
class HookPlugin:
    """A plugin that implements at least one hook, as it has to be implemented."""

    name: str
    distribution: str | None
    version: str
    hooks: tuple[str, ...]
    """Those that it implements, sorted."""
    _relay: Any

    def ask(self, hook: str, **arguments: Any) -> Any:
        """Call a hook; whatever it raises comes out."""
        return getattr(self._relay, hook)(**arguments)

    def report(self, hook: str, fault: BaseException) -> None:
        """Tell the operator that a hook failed."""
        why = f"{type(fault).__name__}: {fault}"
        log.error("The hook %s of the plugin %s failed: %s", hook, self.name, why)
        log.debug("It failed here:", exc_info=fault)


def registered(name: str, distribution: str | None, version: str, plugin: object) -> HookPlugin:
    """A plugin, checked against the specifications.

    Args:
        name: How reports call it.
        distribution: Where it comes from; None for one that a program passed by itself.
        version: Of the distribution.
        plugin: A module, an object, or a class to be called without arguments.

    Raises:
        HookPluginUnusable: It implements no hook, one that core does not know, or
            one with arguments that it does not have.
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
    return HookPlugin(name, distribution, version, implemented, manager.hook)
