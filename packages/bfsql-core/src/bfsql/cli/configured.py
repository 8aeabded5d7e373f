"""Commands that work on a backend: `--config`, `--backend`, and the options that depend on them.

The options of a backend are known only with its name, so the arguments are first searched for
`--backend` and `--config`; then the parser is made.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import click

from bfsql.cli.command import verbose_option
from bfsql.cli.configuration import (
    DEFAULT_BACKEND,
    Choice,
    Configuration,
    choose,
    configure,
    server_options,
)
from bfsql.errors import BfsqlError, ConfigurationError
from bfsql.plugins import backend_of
from bfsql.plugins.registry import open_backend
from bfsql.settings import Kind, Option
from bfsql.settings.resolve import secret_in
from bfsql.settings.roles import Role, claims_in, for_caller, role_named

if TYPE_CHECKING:
    from bfsql.abc import GraphDbInterface
    from bfsql.graph import Graph
    from bfsql.memory_account import MemoryAccount
    from bfsql.observer import Observer

_CHOICE, _CHOOSE, _HELP_ALL = "bfsql.choice", "bfsql.choose", "bfsql.help_all"
_GIVEN = "bfsql.given"
_Given: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Keys of the context's `meta`."""

_PATH = "--path"
"""The embedded store's option for its file; it also accepts any other graph file."""

_STEPS = re.compile(r"->|<-|^-.*-( |$)")
"""What no name of a graph's file has, and steps of a path have."""

_SHARED = ("all", "config", "backend", "graph-name", "help", "help-all", "json", "verbose")

_OF_THE_GRAPH = ("--backend", "--config", "--graph-name")
_OF_HELP = ("--verbose", "--help", "--help-all")

_COMMON_OF_BACKEND = 5
"""Number of options of a backend without files in `--help`: the first are the most important."""

_COMMON_OF_SERVER = (
    *("transport", "host", "port", "rest", "bearer_tokens", "answer_format", "max_tokens"),
    *("deadline", "graph_description", "record"),
)
"""Settings of the server in `--help`; `--help-all` has all."""

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
        common: Settings of the server that are in `--help`, and not only in `--help-all`.
        takes_names: Whether its arguments are names and ids. A graph's file comes before them; it
            has to exist, and is a name if `--path` or `--backend` is given.
        several: Whether it works on all of several graphs, if none is named.
        asks: Whether the user may be asked on a terminal about a file that was found.
        sections: Titles in the help, with names of options separated by blanks, of which it may
            have only some. Only `--help-all` shows its options that are in no section; without
            sections, all are shown.
        examples: Command lines at the end of the help.
    """

    leading = 0
    """The number of arguments before the options."""
    writes = False
    """Whether it writes to the store; with an option `--apply`, it does if that is given."""

    def __init__(
        self,
        *args: Any,
        server: bool = False,
        graph: bool = False,
        without: Collection[str] = (),
        common: Collection[str] = _COMMON_OF_SERVER,
        takes_names: bool = False,
        several: bool = False,
        asks: bool = True,
        sections: Mapping[str, str] | None = None,
        examples: Sequence[str] = (),
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self._server = server
        self._graph = graph
        self._without = frozenset(without)
        self._common = common
        self._takes_names = takes_names
        self._several = several
        self._asks = asks
        self._sections = sections or {}
        self._examples = examples
        option = partial(click.Option, expose_value=False)
        self.params += [
            option(
                ["--backend"],
                metavar="NAME",
                help="Kind of store, one of `bfsql backends`.  [default: sqlite]",
            ),
            option(["--config"], metavar="FILE", help="Configuration file.  [default: bfsql.toml]"),
            option(["--graph-name"], metavar="NAME", help="One of several: [graphs.NAME] of FILE."),
            verbose_option(),
            option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                callback=_show_all_help,
                help="Show every option, and the environment variables.",
            ),
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Determine the backend, then parse with its options."""
        args, graph = self._named_graph(ctx, args)
        other = _early(args, _PATH)
        if self._graph and other and _STEPS.search(other) and not Path(other).exists():
            raise click.UsageError(
                f"There is no graph at {other}. {_PATH} names the graph's file; `bfsql bfs-query` "
                f'takes the steps of a path by --step "{other}".',
                ctx,
            )
        if graph is not None and other is not None:
            raise click.UsageError(f"The graph is given twice: {graph} and {_PATH} {other}.", ctx)
        option: list[str] = []
        try:
            ctx.meta[_CHOOSE] = partial(
                choose,
                config=_early(args, "--config"),
                backend=_early(args, "--backend"),
                graphs=[graph, *self._more_files(args)] if graph else [other] if other else [],
                name=_early(args, "--graph-name"),
                several=self._several,
                environment=os.environ,
            )
            ctx.meta[_CHOICE] = choice = ctx.meta[_CHOOSE]()
            args, option = self._with_graph(choice, args, graph)
        except BfsqlError:
            # Help has to be shown even if nothing can be opened.
            if not ctx.resilient_parsing and not {*ctx.help_option_names, "--help-all"} & set(args):
                raise
        return super().parse_args(ctx, [*args[: self.leading], *option, *args[self.leading :]])

    def _named_graph(self, ctx: click.Context, args: list[str]) -> tuple[list[str], str | None]:
        """The arguments without the graph's file, and that file."""
        if not self._graph:
            return args, None
        at = self.leading
        if self._takes_names:
            names = [*self._without_option(ctx, args)]
            at = names[0] if names else len(args)
            if any(_early(args, one) for one in (_PATH, "--backend", "--graph-name")) or not names:
                return args, None
            if not Path(args[at]).is_file():
                if not ctx.resilient_parsing:
                    _check_names(ctx, [args[name] for name in names])
                return args, None
        if len(args) > at and not args[at].startswith("-"):
            return [*args[:at], *args[at + 1 :]], args[at]
        for place in self._without_option(ctx, args):
            if Path(args[place]).is_file():
                return [*args[:place], *args[place + 1 :]], args[place]
        return args, None

    def _more_files(self, args: list[str]) -> list[str]:
        """The files after that of the graph, which is no longer among the arguments."""
        after = [] if self._takes_names else args[self.leading :]
        return [*takewhile(lambda one: not one.startswith("-"), after)]

    def _without_option(self, ctx: click.Context, args: list[str]) -> Iterator[int]:
        """The positions of arguments that are not values of an option before them.

        After an option of a backend that is not known yet, any argument could be a value.
        """
        takes = {option.flag: int(option.kind != "flag") for option in server_options()}
        takes |= {flag.replace("--", "--no-", 1): 0 for flag, count in takes.items() if not count}
        for param in super().get_params(ctx):
            takes |= dict.fromkeys(param.opts, 0 if getattr(param, "is_flag", False) else 1)
        left = 0.0
        for place, argument in enumerate(args[self.leading :], self.leading):
            if argument.startswith("-"):
                left = 0 if "=" in argument else takes.get(argument, math.inf)
            elif left:
                left -= 1
            else:
                yield place

    def _with_graph(
        self, choice: Choice, args: list[str], graph: str | None
    ) -> tuple[list[str], list[str]]:
        """The arguments with the backend's own name for `--path`, and the option for the graph."""
        files = choice.plugin.files
        known = self.backend_options(choice)
        after = self._more_files(args)
        if graph is not None and choice.file.graphs:
            return [*args[: self.leading], *args[self.leading + len(after) :]], []
        option = next((o for o in known if files and o.field == files.setting), None)
        if graph is not None:
            if option is None or loaded_first(graph, choice):
                if not Path(graph).exists():
                    raise ConfigurationError(f"There is no file {graph}. Check the path.")
                raise ConfigurationError(
                    f"The backend {choice.backend} cannot serve {graph} directly. Load it first: "
                    f"bfsql load {graph} --path graph.db"
                )
            more = next((o.flag for o in known if files and o.field == files.more), None)
            others = after if more else []
            # A relative one would begin in the folder of the first.
            others = [word for one in others for word in (str(more), str(Path(one).absolute()))]
            rest = args[self.leading + len(others) // 2 :]
            return [*args[: self.leading], *rest], [option.flag, graph, *others]
        if option and option.flag != _PATH and not any(o.flag == _PATH for o in known):
            args = [re.sub(rf"^{_PATH}(?==|$)", option.flag, argument) for argument in args]
        return args, []

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line of click, with the graph's file."""
        options, *arguments = super().collect_usage_pieces(ctx)
        graph = ["[GRAPH]"] if self._graph else []
        return [options, *arguments[: self.leading], *graph, *arguments[self.leading :]]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own parameters, and those of the settings models."""
        backend, server = self._dynamic(ctx)
        return [*super().get_params(ctx), *backend, *server]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in sections; without `--help-all`, those that are common."""
        everything = ctx.meta.get(_HELP_ALL, False)
        own = {
            next(name for name in option.opts if name.startswith("--")): option
            for option in super().get_params(ctx)
            if not isinstance(option, click.Argument)
        }
        sections = {
            title: [own.pop(f"--{name}") for name in names.split() if f"--{name}" in own]
            for title, names in self._sections.items()
        }
        graph, of_help = (
            [own.pop(n) for n in names] for names in (_OF_THE_GRAPH[: 2 + self._graph], _OF_HELP)
        )
        if everything or not sections:
            sections["More options" if sections else "Options"] = list(own.values())
        backend, server = self._dynamic(ctx, brief=not everything)
        name = ctx.meta[_CHOICE].backend if _CHOICE in ctx.meta else ""
        sections[f"Options of the backend {name}" if name else "Graph"] = [*backend, *graph]
        sections |= {"Options of the server": server, "Help": of_help}
        for title, params in sections.items():
            records = [param.get_help_record(ctx) for param in params]
            if lines := [record for record in records if record is not None]:
                with formatter.section(title):
                    formatter.write_dl(lines, col_max=26)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        super().format_epilog(ctx, formatter)
        if self._examples:
            with formatter.section("Examples"):
                for example in self._examples:
                    formatter.write(f"  {example}\n")

    def invoke(self, ctx: click.Context) -> Any:
        """Resolve the settings and call the callback with them."""
        own = {name: value for name, value in ctx.params.items() if "__" not in name}
        assert self.callback is not None
        ctx.meta[_GIVEN] = given = self.option_values(ctx, ctx.meta[_CHOICE])
        configuration = self.configuration(ctx, ctx.meta[_CHOICE], given, ask=self._asks)
        if self._graph and not self._server:
            _check_default_graph(ctx, configuration)
        return ctx.invoke(self.callback, configuration, **own)

    def option_values(self, ctx: click.Context, choice: Choice) -> _Given:
        """The options that were given for the backend and for the server."""
        known = {"backend": self.backend_options(choice), "server": server_options()}
        return {scope: _values(found, scope, ctx.params) for scope, found in known.items()}

    def configuration(
        self, ctx: click.Context, choice: Choice, given: _Given, *, ask: bool
    ) -> Configuration:
        """The settings for a choice of backend, with the options that were given."""
        writes = self.writes or bool(ctx.params.get("apply"))
        reserved = self._reserved_names()
        return configure(choice, **given, reserved=reserved, writes=writes, ask=ask)

    def _dynamic(
        self, ctx: click.Context, *, brief: bool = False
    ) -> tuple[list[click.Parameter], list[click.Parameter]]:
        """The options of the backend and those of the server, or the common ones of both."""
        choice: Choice | None = ctx.meta.get(_CHOICE)
        # Those of several graphs are in the file: an option would be that of any.
        backend = self.backend_options(choice) if choice and not choice.file.graphs else []
        server = [o for o in server_options() if self._server and o.field not in self._without]
        if brief:
            files = choice.plugin.files if choice else None
            own = [option for option in backend if files and option.field == files.setting]
            backend = own or backend[:_COMMON_OF_BACKEND]
            server = [option for option in server if option.field in self._common]
        return (
            [_click_option(o, "backend", brief=brief) for o in backend],
            [_click_option(o, "server", brief=brief) for o in server],
        )

    def backend_options(self, choice: Choice) -> list[Option]:
        """The backend's settings, by their option names on this command."""
        return choice.backend_options(self._reserved_names())

    def _reserved_names(self) -> set[str]:
        """Names that no backend can have, because they would be ambiguous or differ by command."""
        own = {name.lstrip("-") for param in self.params for name in param.opts}
        return {*_SHARED, *own, *(option.name for option in server_options())}


def _show_all_help(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value and not ctx.resilient_parsing:
        ctx.meta[_HELP_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _check_names(ctx: click.Context, names: Sequence[str]) -> None:
    """Refuse names of which one is a graph's file that is misspelt, or not the first."""
    if len(names) > 1 and backend_of(Path(names[0]), ""):
        raise ConfigurationError(
            f"There is no file {names[0]}. Check the path. If it is a name, name the graph with "
            f"{_PATH} or --backend."
        )
    for name in names[1:]:
        if Path(name).is_file() and backend_of(Path(name), ""):
            raise ConfigurationError(f"Put the graph first: {ctx.command_path} {name} ...")


def _check_default_graph(ctx: click.Context, configuration: Configuration) -> None:
    """Refuse a call that names no graph where the default one does not exist."""
    choice, files = configuration.choice, configuration.choice.plugin.files
    if files is None or choice.backend_origin != "default":
        return
    [path] = graph_files(configuration)
    if configuration.backend.origins[files.setting] != "default" or path.exists():
        return
    positional = ctx.params.get("positional") or ()
    names = (positional,) if isinstance(positional, str) else positional
    if names and backend_of(Path(names[0]), ""):
        why = f"There is no file {names[0]}. Check the path."
    else:
        why = (
            f"No graph is given, and there is no {path} here. Give a graph's file first: "
            f"{ctx.command_path} GRAPH ... `bfsql demo` makes one to try, films.db."
        )
    raise ConfigurationError(why)


def check_graph(configuration: Configuration) -> None:
    """Refuse a graph's file that does not exist: the client would only report a failed server."""
    backend = configuration.choice.backend
    for path in graph_files(configuration):
        if not path.expanduser().exists():
            cure = "Check the path; a relative one starts from the current folder."
            if backend == DEFAULT_BACKEND:
                cure = f"Make one with: bfsql load SOURCE --path {path}"
            raise ConfigurationError(f"There is no graph at {path}. {cure}")


def graph_files(configuration: Configuration) -> list[Path]:
    """The files that the backend serves; none if it serves a store."""
    files = configuration.choice.plugin.files
    return [Path(getattr(configuration.backend.settings, files.setting))] if files else []


@asynccontextmanager
async def opened(
    configuration: Configuration,
    *,
    served: bool = False,
    observers: Iterable[Observer] = (),
    memory: MemoryAccount | None = None,
    backend: GraphDbInterface | None = None,
) -> AsyncIterator[Graph]:
    """Open the graph of the configuration, and again for roles with settings of their own.

    A graph that is opened for a server survives a loss of the store and checks its rights, and over
    HTTP its limits are also upper limits for calls. Of several, it has a part of their `memory`,
    and `backend` stands for its store while that cannot be opened.
    """
    from bfsql.graph import open_graph

    if configuration.error is not None and backend is None:
        raise configuration.error
    settings, choice = configuration.server.settings, configuration.choice
    limits = settings.served_limits if served else settings.limits
    chosen, of_roles = role_named(settings.roles, settings.role), configuration.of_roles
    callers = settings.roles if served and settings.serves_http else ()
    own = [one for one in callers if one.name in of_roles]
    records = settings.cache_records // (1 + len(own))
    if chosen and (named := claims_in(chosen.settings)):
        raise ConfigurationError(
            f"The role {chosen.name} takes {', '.join(named)} of a caller's token, which there is "
            "only over HTTP. Ask a server with one, or leave out the role and give its settings."
        )

    def open_for(
        role: Role | None, account: MemoryAccount | None, identity: str = ""
    ) -> AbstractAsyncContextManager[Graph]:
        of_backend = of_roles.get(role.name if role else "", configuration.backend.settings)
        if identity:
            of_backend = for_caller(of_backend, identity)
        return open_graph(
            backend or (lambda: open_backend(choice.backend, choice.plugin, of_backend)),
            title=settings.title,
            graph_description=settings.graph_description,
            limits=replace(limits, account=account),
            cache_records=records // settings.max_identities if identity else records,
            cache_ttl=settings.cache_lifetime,
            max_pause=settings.max_pause if served and backend is None else None,
            require_read_only=settings.require_read_only if served else None,
            role=role,
            observers=observers,
        )

    async with AsyncExitStack() as stack:
        graph = await stack.enter_async_context(open_for(chosen, memory))
        if backend is None:  # one that is open has its own rights, and no others
            graph.open_identity = lambda role, identity: open_for(role, graph.memory, identity)
        for role in (one for one in own if not claims_in(one.settings)):
            opening = open_for(role, graph.memory)
            graph.role_graphs[role.name] = await stack.enter_async_context(opening)
        yield graph


def show_origin(configuration: Configuration) -> None:
    """Print to standard error from which file the graph of a server comes, if nobody named it."""
    choice, levels = configuration.choice, configuration.backend.levels.values()
    if path := choice.found_file:
        what = "graph" if choice.is_of_file or choice.file.level in levels else "configuration"
        click.echo(f"The {what} comes from {path}, found in the working directory.", err=True)


def reader(first: Configuration, *, ask: bool = False) -> Callable[[], dict[str, Configuration]]:
    """Reads the settings of the graphs of the running command by name, which one alone may lack.

    The first reading is that of the command: a secret or the file may come from a pipe.
    """
    ctx = click.get_current_context()
    command, begun = cast("ConfiguredCommand", ctx.command), [first]

    def read() -> dict[str, Configuration]:
        if begun:
            one, given = begun.pop(), ctx.meta[_GIVEN]
        else:
            choice: Choice = ctx.meta[_CHOOSE]()
            given = command.option_values(ctx, choice)
            one = command.configuration(ctx, choice, given, ask=ask)
        found: dict[str, Configuration] = {}
        for name in one.choice.several:
            try:
                own = one.choice.of_graph(name)
                found[name] = command.configuration(ctx, own, given, ask=ask)
            except BfsqlError as error:
                found[name] = replace(one, error=error)
        return found or {one.choice.file.graph: one}

    return read


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


def _click_option(option: Option, scope: str, *, brief: bool = False) -> click.Option:
    names = [f"{scope}__{option.field}", option.flag]
    if option.kind == "flag" and not option.secret:
        names[1] += f"/--no-{option.name}"
    if (scope, option.field) == ("server", "role"):
        names.append("--as")  # as on the commands of the tools
    metavar = "FILE" if option.secret else "|".join(option.choices) or _METAVARS[option.kind]
    return click.Option(
        names,
        metavar=metavar or None,
        default=None,
        multiple=option.kind in ("list", "mapping") and not option.secret,
        help=_help(option, brief=brief),
    )


def _help(option: Option, *, brief: bool) -> str:
    facts = [f"default: {option.default}"] if option.default else []
    facts += ["required"] if option.required else []
    holding = "variable with the secret itself" if option.secret else "variable"
    if option.environment and not brief:
        facts.append(f"{holding}: {' or '.join(option.environment)}")
    text = f"{option.help} Read from FILE." if option.secret else option.help
    return f"{text}  [{'; '.join(facts)}]" if facts else text


def _values(known: Sequence[Option], scope: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, by field, with secrets read from their files."""
    return {
        option.field: secret_in(Path(value).expanduser(), f"option {option.flag}")
        if option.secret
        else value
        for option in known
        if (value := values.get(f"{scope}__{option.field}")) not in (None, ())
    }
