"""The command `bfsql` itself: its sub-commands by name, and how each of them fails.

A sub-command's module is imported when it is called, so that `bfsql --version` imports only click;
hook plugins are looked up only if all commands are listed, or for a command that core does not
have.
"""

from __future__ import annotations

import errno
import gc
import shutil
import sys
import traceback
from collections.abc import Iterator
from enum import IntEnum
from importlib import import_module
from textwrap import TextWrapper
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.shell_completion import CompletionItem

from bfsql.errors import (
    BackendOpenFailed,
    BfsqlError,
    HookPluginUnusable,
    LoadRefused,
    StoreError,
    StoreUnavailable,
    ToolError,
    did_you_mean,
)
from bfsql.lazy import INSTALL_KIT
from bfsql.masking import hide_secrets

if TYPE_CHECKING:
    from bfsql.plugins import CommandDeclaration
    from bfsql.plugins.hooks import HookPlugin

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Start": {
        "demo": ("demo:demo", "Run a sample session on a small graph of films."),
        "load": ("load:load", "Make a graph from files, or fill a store."),
        "serve": ("serve:serve", "Serve a graph to MCP clients."),
        "explore": ("explore:explore", "Explore a graph in the browser."),
        "install": ("install:install", "Add a graph to an MCP client."),
        "bundle": ("bundle:bundle", "Pack a graph into a file that a host installs."),
        "skill": ("install:skill", "Print a skill for agents that ask a graph."),
        "doctor": ("doctor:doctor", "Find out why clients cannot use a graph."),
    },
    "Ask": {
        "describe-schema": ("tool:describe_schema", "Show what a graph contains."),
        "search-entities": ("tool:search_entities", "Find entities by name."),
        "bfs-query": ("tool:bfs_query", "Follow relations from entities."),
        "describe-entity": ("tool:describe_entity", "Show one entity."),
        "describe-entities": ("tool:describe_entities", "Show several entities."),
        "intersect-subgraphs": ("tool:intersect_subgraphs", "Find what entities share."),
        "verify": ("verify:verify", "Check whether a graph stores what a text claims."),
    },
    "Operate": {
        "graphs": ("show:graphs", "List several graphs, and whether each can be opened."),
        "token": ("serve:token", "Make a token for a client of a server."),
        "index": ("show:index", "Show or create missing indexes."),
        "config": ("show:config", "Show every setting and where it came from."),
        "completion": ("show:completion", "Print a shell completion script."),
    },
    "Build": {"backends": ("show:backends", "List the installed backends.")},
}
"""Maps the name of each command to its place in `bfsql.cli` and its line in the help, by group."""

COMMANDS = {name: one for group in GROUPS.values() for name, one in group.items()}
"""The same, without the groups."""

KIT_COMMANDS = ("check", "new-backend")
"""Commands that the distribution of the conformance kit adds, in the group Build."""

_UNANSWERED = ("deadline", "store", "refused", "internal")
_FROM_PLUGINS = "bfsql.plugin_commands"
VERBOSE = "bfsql.verbose"
"""Key of the context's `meta`: whether `-v` was given, before or after the command's name."""


class ExitCode(IntEnum):
    """How a command ended, if not with 0."""

    FAILED = 1
    """It was right but could not be carried out: a tool call that met its deadline or a failure of
    the store, or a load that was refused, as a whole or in some of its lines."""
    WRONG = 2
    """The caller has to correct something first: an argument, an option or a setting, an unknown
    id, a missing file or store."""
    INTERRUPTED = 130
    """Ctrl-C, or a signal that ended a load."""


class LazyGroup(click.Group):
    """A group that imports a command when it is called, and prints errors as sentences."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the table in its order, then those of hook plugins."""
        return [*COMMANDS, *_from_plugins(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the requested command."""
        if cmd_name not in COMMANDS:
            further = _from_plugins(ctx).get(cmd_name)
            return _imported(*further) if further else None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f"bfsql.cli.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does, and suggest the closest command for a misspelt one."""
        if args[0] == "help":  # `bfsql help serve` is `bfsql serve --help`
            args = [*args[1:2], "--help"]
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and name not in _from_plugins(ctx):
            if name in KIT_COMMANDS:
                ctx.fail(f"`bfsql {name}` comes with the conformance kit: {INSTALL_KIT}.")
            hint = did_you_mean(name.replace("_", "-"), self.list_commands(ctx))
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lines of the table: click would import every command for its help."""
        further = {name: one.help for name, (_, one) in _from_plugins(ctx).items()}
        groups = {
            title: {name: line for name, (_, line) in group.items()}
            for title, group in GROUPS.items()
        }
        groups["Build"] |= {name: further.pop(name) for name in KIT_COMMANDS if name in further}
        for title, lines in (groups | {"Commands of hook plugins": further}).items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(list(lines.items()), col_max=21)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name from the table, without an import."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        known = {name: line for name, (_, line) in COMMANDS.items()}
        known |= {name: one.help for name, (_, one) in _from_plugins(ctx).items()}
        return [
            CompletionItem(n, help=line) for n, line in known.items() if n.startswith(incomplete)
        ]

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; errors become a sentence on standard error and an exit code."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(ExitCode.INTERRUPTED)
        except (BfsqlError, OSError, BaseExceptionGroup) as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise  # the reader of the output left; click ends quietly
            sentence, code = explained(error, verbose=ctx.meta.get(VERBOSE, False))
            click.echo(wrapped(sentence, sys.stderr), err=True)
            ctx.exit(code)


def explained(error: BaseException, *, verbose: bool = False) -> tuple[str, ExitCode]:
    """The text for standard error, and the exit code; an error of another kind is raised.

    With `verbose`, the errors that caused it are added, such as that of a store's driver.
    """
    found = innermost(error)
    cause = found.__cause__
    if isinstance(found, ToolError):
        code = exit_code(found)
        if found.kind == "store" and isinstance(cause, BfsqlError):
            found, cause = cause, cause.__cause__  # the user of the command line is the operator
        elif found.kind == "internal":
            verbose = True
    elif isinstance(found, BfsqlError):
        code = exit_code(found)
    elif isinstance(found, OSError):
        what = f"{found.filename}: " if found.filename is not None else ""
        return escape(hide_secrets(f"{what}{found.strerror or found}")), ExitCode.WRONG
    else:
        raise found
    lines = [str(found), *(_causes(cause) if verbose else ())]
    if verbose and isinstance(found, BackendOpenFailed):
        lines.append("".join(traceback.format_exception(cause)).rstrip())
    return escape(hide_secrets("\n".join(lines))), code


def exit_code(error: BfsqlError) -> ExitCode:
    """The exit code of an error, the same for a store that fails when it is opened or in a call."""
    if isinstance(error, ToolError):
        if error.kind == "store" and isinstance(error.__cause__, StoreError):
            return exit_code(error.__cause__)
        failed = error.kind in _UNANSWERED
    else:
        failed = isinstance(error, BackendOpenFailed | LoadRefused | StoreUnavailable)
    return ExitCode.FAILED if failed else ExitCode.WRONG


def innermost(error: BaseException) -> BaseException:
    """The first error inside an exception group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _causes(cause: BaseException | None) -> Iterator[str]:
    """A line for each error that led to another; BFSQL_LOG_LEVEL=debug shows where they arose."""
    while cause is not None:
        yield f"The cause is {type(cause).__name__}: {cause}"
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def escape(text: str) -> str:
    """The text with characters that would hide or reorder it escaped as in JSON."""
    from bfsql.models.characters import escaped

    return escaped(text)


def wrapped(text: str, stream: TextIO) -> str:
    """The text with line breaks between words, indented, if a stream is a terminal."""
    if not stream.isatty():
        return text
    width, lines = shutil.get_terminal_size().columns, []
    wrapper = TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    for line in text.splitlines():
        wrapper.subsequent_indent = " " * (len(line) - len(line.lstrip()) + 2)
        lines += wrapper.wrap(line) or [""]
    return "\n".join(lines)


def _imported(plugin: HookPlugin, declaration: CommandDeclaration) -> click.Command:
    """A command that a hook plugin declares in addition to those of core."""

    def unusable(reason: str) -> HookPluginUnusable:
        why = f"its command {declaration.name!r} {reason}"
        return HookPluginUnusable(plugin.name, plugin.distribution, why)

    module, _, attribute = declaration.place.partition(":")
    try:
        found: Any = getattr(import_module(module), attribute)
    except (Exception, SystemExit) as cause:  # a plugin's module may raise anything
        raise unusable(f"cannot be imported ({type(cause).__name__}: {cause})") from cause
    if not isinstance(found, click.Command):
        raise unusable(f"is {type(found).__name__}, not a click command")
    return found


def _from_plugins(ctx: click.Context) -> dict[str, tuple[HookPlugin, CommandDeclaration]]:
    """The commands of hook plugins by name, looked up once per run.

    Plugins that declare a taken name, or that of another plugin, are reported.
    """
    found: dict[str, tuple[HookPlugin, CommandDeclaration]] | None = ctx.meta.get(_FROM_PLUGINS)
    if found is not None:
        return found
    from bfsql.plugins.scan import HOOKS, may_declare

    found = ctx.meta[_FROM_PLUGINS] = {}
    if may_declare(HOOKS):
        from bfsql.plugins import load_hooks

        for plugin, one in load_hooks().commands():
            if one.name in COMMANDS or one.name in found:
                owner = f"the plugin {found[one.name][0].name}" if one.name in found else "core"
                fault = ValueError(f"the name {one.name!r} belongs to {owner}")
                plugin.report("cli_commands", fault)
            else:
                found[one.name] = plugin, one
    return found


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        from bfsql.plugins.distributions import __version__

        click.echo(f"bfsql {__version__}")
        ctx.exit()


def _set_verbose(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001
    ctx.meta[VERBOSE] = value or ctx.meta.get(VERBOSE, False)


def verbose_option() -> click.Option:
    """The option of `bfsql` and of the commands that open a graph."""
    return click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        expose_value=False,
        callback=_set_verbose,
        help="Add to an error what caused it, such as the driver's text.",
    )


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=[verbose_option()],
    epilog="`bfsql COMMAND -h` describes a command. Start with: bfsql demo",
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version.",
)
def bfsql() -> None:
    """Ask a knowledge graph, and let language models ask it.

    A graph is a file made by `bfsql load`, an RDF file, or a store that is named with --backend.
    """


def main() -> None:
    """The entry point of the console script and of `python -m bfsql`."""
    sys.excepthook = _print_fault
    gc.set_threshold(200_000)  # collections among new modules would be a tenth of a start
    bfsql(prog_name="bfsql")


def _print_fault(kind: type[BaseException], fault: BaseException, at: TracebackType | None) -> None:
    """Print an uncaught exception, without the secrets that a driver may quote."""
    sys.stderr.write(hide_secrets("".join(traceback.format_exception(kind, fault, at))))
