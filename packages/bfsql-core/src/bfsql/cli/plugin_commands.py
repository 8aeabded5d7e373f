"""Commands that hook plugins declare in addition to those of core."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from bfsql.errors import HookPluginUnusable
from bfsql.plugins import CommandDeclaration, load_hooks
from bfsql.plugins.hooks import HookPlugin


@dataclass(frozen=True, slots=True)
class PluginCommand:
    """A command and its plugin."""

    plugin: HookPlugin
    declaration: CommandDeclaration

    @property
    def help(self) -> str:
        """Its line in `bfsql --help`."""
        return self.declaration.help

    def command(self) -> click.Command:
        """Import it."""
        module, _, attribute = self.declaration.place.partition(":")
        try:
            found: Any = getattr(import_module(module), attribute)
        except (Exception, SystemExit) as cause:  # a plugin's module may raise anything
            raise self._unusable(f"cannot be imported ({type(cause).__name__}: {cause})") from cause
        if not isinstance(found, click.Command):
            raise self._unusable(f"is {type(found).__name__}, not a click command")
        return found

    def _unusable(self, reason: str) -> HookPluginUnusable:
        why = f"its command {self.declaration.name!r} {reason}"
        return HookPluginUnusable(self.plugin.name, self.plugin.distribution, why)


def plugin_commands(reserved: Collection[str]) -> dict[str, PluginCommand]:
    """The commands by name; plugins that declare a taken one, or that of another, are reported."""
    found: dict[str, PluginCommand] = {}
    for plugin, one in load_hooks().commands():
        if one.name in reserved or one.name in found:
            owner = "core" if one.name in reserved else f"the plugin {found[one.name].plugin.name}"
            plugin.report("cli_commands", ValueError(f"the name {one.name!r} belongs to {owner}"))
        else:
            found[one.name] = PluginCommand(plugin, one)
    return found
