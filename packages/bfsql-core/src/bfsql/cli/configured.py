"""Commands that work on a backend: `--config`, `--backend`, and the options that depend on them.

The options of a backend are known only with its name, so the arguments are first searched for
`--backend` and `--config`; then the parser is made.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from bfsql.cli.configuration import Choice, Configuration, choose, configure, server_options
from bfsql.errors import BfsqlError, ConfigurationError
from bfsql.settings import Kind, Option, UnreadableFile, read_text

if TYPE_CHECKING:
    from bfsql.graph import Graph
    from bfsql.observer import Observer

_CHOICE, _CHOOSE = "bfsql.choice", "bfsql.choose"

_PATH = "--path"
"""The embedded store's option for its file; it also accepts any other graph file."""

_TAKES: dict[Kind, float] = {"flag": 0, "list": math.inf, "mapping": math.inf}
"""The number of values that an option takes, if it is not one."""

_SHARED = ("config", "backend", "help", "json")

_METAVARS: dict[Kind, str] = {
    "text": "TEXT",
    "whole": "NUMBER",
    "size": "SIZE",
    "number": "NUMBER",
    "flag": "",
    "path": "PATH",
    "list": "TEXT,...",
    "mapping": "KEY=VALUE",
}


class ConfiguredCommand(click.Command):
    """A command whose callback receives a `Configuration` as its first argument.

    Args:
        server: Whether it also has the settings of the server as options.
        graph: Whether the graph's file may be given as an argument.
        without: Settings of the server that are not options of it.
        spreads: Whether an option may be followed by several values (`--fields a b`) although the
            command has arguments, if these come first.
    """

    leading = 0
    """The number of arguments before the options; with them, options may have several values."""

    def __init__(
        self,
        *args: Any,
        server: bool = False,
        graph: bool = False,
        without: Collection[str] = (),
        spreads: bool = False,
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self._server = server
        self._graph = graph
        self._without = frozenset(without)
        self._spreads = spreads
        self.params += [
            click.Option(
                ["--backend"],
                metavar="NAME",
                expose_value=False,
                help="Kind of store; `bfsql backends` lists them.  [default: sqlite]",
            ),
            click.Option(
                ["--config"],
                metavar="FILE",
                expose_value=False,
                help="Configuration file.  [default: bfsql.toml, if it exists]",
            ),
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Determine the backend, then parse with its options."""
        args, graph = self._named_graph(args)
        try:
            ctx.meta[_CHOOSE] = partial(
                choose,
                config=_early(args, "--config"),
                backend=_early(args, "--backend"),
                graph=graph or _early(args, _PATH),
                environment=os.environ,
            )
            ctx.meta[_CHOICE] = choice = ctx.meta[_CHOOSE]()
            args = self._with_graph(choice, args, graph)
        except BfsqlError:
            # Help has to be shown even if nothing can be opened.
            if not ctx.resilient_parsing and not set(ctx.help_option_names) & set(args):
                raise
        if self.leading or not any(isinstance(param, click.Argument) for param in self.params):
            rest = _spread(args[self.leading :], self._lists(ctx))
            args = [*args[: self.leading], *rest]
        elif self._spreads and args and not args[0].startswith("-"):
            args = _spread(args, self._lists(ctx))
        return super().parse_args(ctx, args)

    def _named_graph(self, args: list[str]) -> tuple[list[str], str | None]:
        """The arguments without the graph's file, and that file."""
        at = self.leading
        if self._graph and len(args) > at and not args[at].startswith("-"):
            return [*args[:at], *args[at + 1 :]], args[at]
        for place in self._without_option(args) if self._graph else ():
            if Path(args[place]).is_file():
                return [*args[:place], *args[place + 1 :]], args[place]
        return args, None

    def _without_option(self, args: list[str]) -> Iterator[int]:
        """The positions of arguments that are not values of an option before them.

        After an option of a backend that is not known yet, any argument could be a value.
        """
        takes = {option.flag: _TAKES.get(option.kind, 1) for option in server_options()}
        takes |= {flag.replace("--", "--no-", 1): 0 for flag, count in takes.items() if not count}
        for param in super().get_params(click.Context(self)):
            takes |= dict.fromkeys(param.opts, 0 if getattr(param, "is_flag", False) else 1)
        left = 0.0
        for place, argument in enumerate(args[self.leading :], self.leading):
            if argument.startswith("-"):
                left = 0 if "=" in argument else takes.get(argument, math.inf)
            elif left:
                left -= 1
            else:
                yield place

    def _with_graph(self, choice: Choice, args: list[str], graph: str | None) -> list[str]:
        """The arguments with the graph's file as a value of the backend's option for it."""
        files = choice.plugin.files
        known = self.backend_options(choice)
        option = next((o for o in known if files and o.field == files.setting), None)
        if graph is not None:
            if option is None or loaded_first(graph, choice):
                raise ConfigurationError(
                    f"The backend {choice.backend} cannot serve {graph} directly. Load it first: "
                    f"bfsql load {graph} --path graph.db"
                )
            return [*args[: self.leading], option.flag, graph, *args[self.leading :]]
        if option and option.flag != _PATH and not any(o.flag == _PATH for o in known):
            return [re.sub(rf"^{_PATH}(?==|$)", option.flag, argument) for argument in args]
        return args

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line of click, with the graph's file."""
        pieces = super().collect_usage_pieces(ctx)
        return [*pieces, "[GRAPH]"] if self._graph else pieces

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own parameters, and those of the settings models."""
        dynamic = [option for _, group in self._groups(ctx) for option in group]
        return [*super().get_params(ctx), *dynamic]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in three sections, by their origin."""
        for title, params in (("Options", super().get_params(ctx)), *self._groups(ctx)):
            # Arguments are in the usage line, and newer versions of click would list them here too.
            shown = [param for param in params if not isinstance(param, click.Argument)]
            records = [param.get_help_record(ctx) for param in shown]
            if lines := [record for record in records if record is not None]:
                with formatter.section(title):
                    formatter.write_dl(lines)

    def invoke(self, ctx: click.Context) -> Any:
        """Resolve the settings and call the callback with them."""
        own = {name: value for name, value in ctx.params.items() if "__" not in name}
        assert self.callback is not None
        return ctx.invoke(self.callback, self.configuration(ctx, ctx.meta[_CHOICE]), **own)

    def configuration(self, ctx: click.Context, choice: Choice) -> Configuration:
        """The settings for a choice of backend, with the options that were given."""
        known = {"backend": self.backend_options(choice), "server": server_options()}
        values = {scope: _values(found, scope, ctx.params) for scope, found in known.items()}
        return configure(choice, **values, taken=self._reserved_names())

    def _groups(self, ctx: click.Context) -> list[tuple[str, list[click.Parameter]]]:
        choice: Choice | None = ctx.meta.get(_CHOICE)
        groups: list[tuple[str, list[click.Parameter]]] = []
        if choice is not None:
            own = self.backend_options(choice)
            title = f"Options of the backend {choice.backend}"
            groups.append((title, [_click_option(o, "backend") for o in own]))
        if self._server:
            own = [option for option in server_options() if option.field not in self._without]
            groups.append(("Options of the server", [_click_option(o, "server") for o in own]))
        return groups

    def _lists(self, ctx: click.Context) -> set[str]:
        """The options that take several values."""
        every = [*self.params, *(param for _, group in self._groups(ctx) for param in group)]
        return {flag for param in every if getattr(param, "multiple", False) for flag in param.opts}

    def backend_options(self, choice: Choice) -> list[Option]:
        """The backend's settings, by their option names on this command."""
        return choice.backend_options(self._reserved_names())

    def _reserved_names(self) -> set[str]:
        """Names that no backend can have, because they would be ambiguous or differ by command."""
        own = {name.lstrip("-") for param in self.params for name in param.opts}
        return {*_SHARED, *own, *(option.name for option in server_options())}


def opened(
    configuration: Configuration, *, served: bool = False, observers: Iterable[Observer] = ()
) -> AbstractAsyncContextManager[Graph]:
    """Open the graph of the configuration; for `async with`.

    A graph that is opened for a server survives a loss of the store and checks its rights, and over
    HTTP its limits are also upper limits for calls.
    """
    from bfsql.graph import open_graph

    settings, plugin = configuration.server.settings, configuration.choice.plugin
    return open_graph(
        lambda: plugin.open(configuration.backend.settings),
        graph_description=settings.graph_description,
        limits=settings.served_limits if served else settings.limits,
        cache_records=settings.cache_records,
        cache_ttl=settings.cache_lifetime,
        max_pause=settings.max_pause if served else None,
        require_read_only=settings.require_read_only if served else None,
        observers=observers,
    )


def reader() -> Callable[[], Configuration]:
    """Rereads the configuration of the running command from the current files."""
    ctx = click.get_current_context()
    command = cast("ConfiguredCommand", ctx.command)
    return lambda: command.configuration(ctx, ctx.meta[_CHOOSE]())


def loaded_first(graph: str, choice: Choice) -> bool:
    """Whether a file is a source to load, not a graph that the backend can serve."""
    files = choice.plugin.files
    if files is None or files.has(graph):
        return False
    from bfsql.sources.registry import FORMATS  # importing it imports all readers

    return any(graph.lower().endswith(known.suffixes) for known in FORMATS.values())


def _early(args: Sequence[str], option: str) -> str | None:
    """The last value of an option among arguments that are not parsed yet."""
    value = None
    for position, argument in enumerate(args):
        if argument == "--":
            break
        if argument.startswith(f"{option}="):
            value = argument.partition("=")[2]
        elif argument == option and position + 1 < len(args):
            value = args[position + 1]
    return value


def _spread(args: Sequence[str], lists: Collection[str]) -> list[str]:
    """Arguments with an option before each of its values: `--data a b` is `--data a --data b`."""
    found: list[str] = []
    option, given = "", 0
    for position, argument in enumerate(args):
        if argument == "--":
            return [*found, *args[position:]]
        if argument.startswith("-") and argument != "-":
            option, given = (argument, 0) if argument in lists else ("", 0)
        elif option:
            given += 1
            found += [option] if given > 1 else []
        found.append(argument)
    return found


def _click_option(option: Option, scope: str) -> click.Option:
    names = [f"{scope}__{option.field}", option.flag]
    if option.kind == "flag" and not option.secret:
        names[1] += f"/--no-{option.name}"
    metavar = "FILE" if option.secret else "|".join(option.choices) or _METAVARS[option.kind]
    return click.Option(
        names,
        metavar=metavar or None,
        default=None,
        multiple=option.kind in ("list", "mapping") and not option.secret,
        help=_help(option),
    )


def _help(option: Option) -> str:
    facts = [f"default: {option.default}"] if option.default else []
    facts += ["required"] if option.required else []
    holding = "variable with the value itself" if option.secret else "variable"
    facts += [f"{holding}: {name}" for name in option.environment]
    text = f"File with the value. {option.help}" if option.secret else option.help
    return f"{text}  [{'; '.join(facts)}]" if facts else text


def _values(known: Sequence[Option], scope: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, by field, with secrets read from their files."""
    return {
        option.field: _secret(option, value) if option.secret else value
        for option in known
        if (value := given.get(f"{scope}__{option.field}")) not in (None, ())
    }


def _secret(option: Option, path: str) -> str:
    try:
        return read_text(Path(path).expanduser()).strip()
    except UnreadableFile as unreadable:
        raise ConfigurationError(
            f"Option {option.flag} is {path!r}: the file cannot be read ({unreadable})."
        ) from None
