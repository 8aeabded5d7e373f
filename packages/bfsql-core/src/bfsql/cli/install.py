"""`bfsql install CLIENT`: the entry of a graph in the configuration file of an MCP client."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from bfsql.cli.clients import (
    CLIENTS,
    Client,
    Launch,
    Remote,
    Variable,
    is_ours,
    own_command,
    read_file,
)
from bfsql.cli.command import explained
from bfsql.cli.configuration import DEFAULT_BACKEND, Configuration, server_options
from bfsql.cli.configured import ConfiguredCommand, check_graph, graph_files, opened, reader
from bfsql.cli.serve import check_options, serve
from bfsql.cli.splice import Unreadable
from bfsql.errors import BfsqlError, ConfigurationError, did_you_mean
from bfsql.loading.folders import working_folder
from bfsql.settings import Option, UnreadableFile
from bfsql.tools.skill import SKILL_NAME, SKILL_SIGN

BACKUP = ".bfsql-backup"
"""Suffix of the backup of the file."""

COMMAND_SECONDS = 60
"""Seconds that the command of a client may take, and that another `bfsql install` is waited for."""


class _InstallCommand(ConfiguredCommand):
    """A command whose help lists the clients."""

    leading = 1

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The description, then the clients."""
        super().format_help_text(ctx, formatter)
        with formatter.section("Clients"):
            formatter.write_dl([(client.name, client.title) for client in CLIENTS.values()])


class _ClientName(click.Choice):  # type: ignore[type-arg] # generic from click 8.2 on
    """The name of a client; a wrong one is answered with the closest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the name."""
        if value not in CLIENTS:
            hint = did_you_mean(value, CLIENTS) or f" The clients are: {', '.join(CLIENTS)}."
            self.fail(f"There is no client {value!r}.{hint}", param, ctx)
        return str(value)


@click.command(
    "install",
    cls=_InstallCommand,
    server=True,
    graph=True,
    several=True,
    common=("graph_description", "answer_format", "max_tokens"),
    examples=("bfsql install claude-desktop films.db", "bfsql install cursor films.db --print"),
)
@click.argument("client", type=_ClientName(list(CLIENTS)), metavar="CLIENT")
@click.option("--name", metavar="NAME", help="Name of the server in the client.")
@click.option("--url", metavar="URL", help="Add a server that already runs at this URL.")
@click.option("--print", "only_print", is_flag=True, help="Show the entry and change nothing.")
@click.option("--remove", is_flag=True, help="Remove the entry from the file.")
@click.option("--no-skill", is_flag=True, help="Write no skill, only the entry.")
@click.option(
    "--with-secrets", is_flag=True, help="Write secrets into the file, instead of references."
)
def install(
    configuration: Configuration,
    *,
    client: str,
    name: str | None,
    url: str | None,
    only_print: bool,
    remove: bool,
    no_skill: bool,
    with_secrets: bool,
) -> None:
    """Add a graph to an MCP client by writing an entry into its configuration file.

    Takes the options of `bfsql serve`, which the client uses to start the server; paths are
    made absolute. The rest of the file is not changed, and a backup is made. Environment
    variables that provide settings are written into the entry; of one that holds a secret, only
    a reference. Several graphs have an entry each, with the name of the graph. Where the client
    keeps skills, it also gets the one that `bfsql skill` prints.
    """
    if configuration.choice.several and url is None:
        _install_each(configuration, name)
        return
    known = CLIENTS[client]
    name = name or default_name(configuration, url)
    place = _place(known)
    page = known.skill(name, Path.home(), os.environ)
    if remove:
        _remove(known, place, name, url)
        _remove_skill(page)
        return
    check_options(configuration.server)
    if url is None:
        check_graph(configuration)
    server = _remote(configuration, url) if url else launch(configuration)
    entry = known.entry(server, name=name, with_secrets=with_secrets)
    inputs = [] if with_secrets else known.inputs(server, name=name)
    if url is None and (path := configuration.choice.found_file):
        click.echo(f"The client will trust {path}, whatever it contains later.", err=True)
    if only_print:
        click.echo(f"{place} gets:", err=True)
        click.echo(known.added("", name, entry, inputs), nl=False)
        return
    in_clear = with_secrets and bool(server.secrets)
    _add(known, place, name, entry, inputs, url=url, in_clear=in_clear)
    if secrets := [] if with_secrets or inputs else server.secrets:
        named = " and ".join(secrets)
        click.echo(f"{known.title} has to be started with {named} in its environment.")
    if page and not url and not no_skill:
        _add_skill(page, configuration)
    click.echo(known.after)


def _install_each(configuration: Configuration, name: str | None) -> None:
    """Add an entry for each graph of the configuration file, with the options of the command."""
    if name is not None:
        raise ConfigurationError("--name is for one graph: choose it with --graph-name.")
    ctx = click.get_current_context()
    own = {key: value for key, value in ctx.params.items() if "__" not in key}
    for one in reader(configuration, ask=True)().values():
        if one.error is not None:
            raise one.error
        ctx.invoke(install.callback, one, **own)  # type: ignore[arg-type] # which it has


@click.command(
    "skill", cls=ConfiguredCommand, graph=True, examples=("bfsql skill films.db > SKILL.md",)
)
def skill(configuration: Configuration) -> None:
    """Print a skill for agents: when and how to ask a graph, with calls that it answers.

    Agents keep it as SKILL.md in a folder named ask-this-graph. Servers offer it over MCP, too.
    """
    click.echo(asyncio.run(_page(configuration)), nl=False)


async def _page(configuration: Configuration) -> str:
    async with opened(configuration) as graph:
        return (await graph.skill()).page


def _add_skill(place: Path, configuration: Configuration) -> None:
    """Write the skill of the graph; say why if that is not possible, since the entry is there."""
    try:
        if SKILL_SIGN not in (_read(place) or SKILL_SIGN):
            raise ConfigurationError(f"{place} is not of bfsql. Move it, or add --no-skill.")
        page = asyncio.run(_page(configuration)).replace(SKILL_NAME, place.parent.name, 1)
        with _locked(place) as folder:
            _write(place, page, folder, like=place)
        click.echo(f"Its skill is {place}.")
    except (BfsqlError, OSError, BaseExceptionGroup) as error:
        click.echo(f"There is no skill for it. {explained(error)[0]}", err=True)


def _remove_skill(place: Path | None) -> None:
    """Delete a skill that `install` wrote."""
    if place and SKILL_SIGN in (_read(place) or ""):
        place.unlink()
        with suppress(OSError):  # the user may have put more into the folder
            place.parent.rmdir()
        click.echo(f"Its skill {place} is gone, too.")


# --- the server -------------------------------------------------------------------


def _remote(configuration: Configuration, url: str) -> Remote:
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError(
            f"--url {url!r} is not the address of a server, which begins with http:// or https://, "
            "as in http://127.0.0.1:8000/mcp."
        )
    token = configuration.server.settings.bearer_token
    return Remote(url, None if token is None else token.get_secret_value())


def launch(configuration: Configuration) -> Launch:
    """The command that starts the server from any folder, with the same settings."""
    choice, graph = configuration.choice, configuration.choice.file.graph
    args = ["serve", "--graph-name", graph] if graph else ["serve"]
    if not graph and (choice.backend_origin != "default" or choice.backend != DEFAULT_BACKEND):
        args += ["--backend", choice.backend]
    if choice.file.path is not None:
        args += ["--config", str(choice.file.path.resolve())]
    variables: dict[str, Variable] = {}
    given = click.get_current_context().params
    file = choice.plugin.files.setting if choice.plugin.files else None
    for scope, options, resolved in (
        ("backend", serve.backend_options(choice), configuration.backend),
        ("server", server_options(), configuration.server),
    ):
        for option in options:
            value = getattr(resolved.settings, option.field)
            origin = resolved.origins[option.field]
            if origin.startswith("option "):
                is_file = scope == "backend" and option.field == file
                args += argument(option, given[f"{scope}__{option.field}"], is_path=is_file)
            elif origin.startswith("environment variable "):
                variable = origin.removeprefix("environment variable ")
                text = os.environ[variable]
                if option.kind == "path":
                    text = str(Path(text).expanduser().resolve())
                variables[variable] = Variable(text, option.flag if option.secret else None)
            elif origin == "default" and isinstance(value, Path) and not graph:
                args += [option.flag, str(value.expanduser().resolve())]
            elif origin == "default" and option.field == "answer_format":
                args += [option.flag, "lines"]  # a model reads the same facts in fewer tokens
    program, *rest = own_command(*args)
    return Launch(program, tuple(rest), variables)


def argument(option: Option, setting: Any, *, is_path: bool) -> Iterator[str]:
    """An option as it was given, with absolute paths."""
    if option.kind == "flag" and not option.secret:
        yield option.flag if setting else f"--no-{option.name}"
        return
    is_path = is_path or option.secret or option.kind == "path"
    if isinstance(setting, Mapping):
        setting = tuple(f"{key}={value}" for key, value in setting.items())
    for value in setting if isinstance(setting, tuple | list) else (setting,):
        yield option.flag
        yield str(Path(value).expanduser().resolve()) if is_path else str(value)


def default_name(configuration: Configuration, url: str | None = None) -> str:
    """The default name of the server: that of the graph's file, or of the store."""
    if url is not None:
        return url.rstrip("/").partition("/mcp/")[2] or "bfsql"
    paths = graph_files(configuration)
    if configuration.choice.file.graph:
        return configuration.choice.file.graph
    return paths[0].name.partition(".")[0] if paths else configuration.choice.backend


# --- the file ---------------------------------------------------------------------


def _place(client: Client) -> Path:
    try:
        home = Path.home()
    except RuntimeError:
        raise ConfigurationError(
            "There is no home folder, where clients keep their files. Set HOME, or add --print "
            "and put the entry where the client looks for it."
        ) from None
    path = client.path(home, os.environ)
    return path.resolve() if path.is_symlink() else path


def _add(
    client: Client,
    place: Path,
    name: str,
    entry: dict[str, Any],
    inputs: list[dict[str, Any]],
    *,
    url: str | None,
    in_clear: bool,
) -> None:
    with _locked(place) as folder:
        before = _read(place)
        present = _servers(client, place, before).get(name)
        if present is not None and not is_ours(present, url):
            raise ConfigurationError(
                f"{place} has another server named {name!r}. Choose another name with --name."
            )
        program = shutil.which("claude") if client.name == "claude-code" else None
        if program and not in_clear:  # other users can see a command line
            if present is not None:
                _claude(program, "remove", name)
            _claude(program, "add-json", name, json.dumps(entry))
            return
        with _readable(place):
            changed = client.added(before or "", name, entry, inputs)
        if before is not None:
            _write(Path(f"{place}{BACKUP}"), before, folder, like=place)
        _write(place, changed, folder, like=place)
    replaced = present is not None and present != client.servers(changed)[name]
    note = " It replaces another entry of that name; --name adds a second graph."
    click.echo(f"{name!r} is in {place}.{note if replaced else ''}")


def _remove(client: Client, place: Path, name: str, url: str | None) -> None:
    if not place.exists():
        raise ConfigurationError(
            f"{place} does not exist, so it has no server to remove. Name the client that has it."
        )
    with _locked(place) as folder:
        text = _read(place) or ""
        _check_removable(_servers(client, place, text), place, name, url)
        if client.name == "claude-code" and (program := shutil.which("claude")):
            _claude(program, "remove", name)
            return
        backup = Path(f"{place}{BACKUP}")
        before = _read(backup)
        if before is not None and _was(client, before, text, name):
            _write(place, before, folder, like=place)
            backup.unlink()
        elif before is None and _was(client, "", text, name):
            place.unlink()
        else:
            with _readable(place):
                changed = client.removed(text, name)
            _write(place, changed, folder, like=place)
    click.echo(f"{name!r} is no longer in {place}.")


def _check_removable(servers: Mapping[str, Any], place: Path, name: str, url: str | None) -> None:
    """Refuse to remove a server that is absent or does not start bfsql."""
    if name not in servers:
        ours = [one for one, entry in servers.items() if is_ours(entry, url)]
        there = (
            f"its bfsql servers are: {', '.join(ours)}" if ours else "no server in it starts bfsql"
        )
        raise ConfigurationError(
            f"{place} has no server named {name!r}; {there}. Name the server with --name."
        )
    if not is_ours(servers[name], url):
        cure = "Add --url with its address" if url is None else "Its address is a different one"
        raise ConfigurationError(
            f"The server {name!r} in {place} does not start bfsql. {cure}, or remove it there."
        )


def _was(client: Client, before: str, text: str, name: str) -> bool:
    """Whether a file is what `bfsql install` made of another text, unchanged since."""
    entry = client.servers(text)[name]
    try:
        if name in client.servers(before):
            return False
        return client.added(before, name, entry, client.present_inputs(text, name)) == text
    except Unreadable:
        return False


def _servers(client: Client, place: Path, text: str | None) -> Mapping[str, Any]:
    with _readable(place):
        return client.servers(text or "")


@contextmanager
def _readable(place: Path) -> Iterator[None]:
    """Raise an error for a file that cannot be changed."""
    try:
        yield
    except Unreadable as wrong:
        raise ConfigurationError(
            f"{place}, {wrong}. The file is unchanged. Correct it, or add --print and put the "
            "entry there yourself."
        ) from None


def _read(place: Path) -> str | None:
    """The text of a file; None if it does not exist."""
    if not place.exists():
        return None
    try:
        return read_file(place)
    except UnreadableFile as unreadable:
        raise ConfigurationError(
            f"{place} cannot be read: {unreadable}. The file is unchanged."
        ) from None


@contextmanager
def _locked(place: Path) -> Iterator[Path]:
    """Keep other processes of `bfsql install` from changing a file.

    Yields:
        A folder beside the file that no other user can read, which is also the lock.
    """
    with ExitStack() as stack:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            lock = working_folder(place.parent, ".bfsql-install.", place.name, COMMAND_SECONDS)
            folder = stack.enter_context(lock)
        except BlockingIOError:
            raise ConfigurationError(
                f"Another `bfsql install` is changing {place}. Run this one again when it has "
                "ended."
            ) from None
        except OSError as error:
            raise _unwritable(place, error) from None
        yield folder


def _write(place: Path, text: str, folder: Path, *, like: Path) -> None:
    """Replace a file as a whole, with a draft in a folder that no other user can read.

    At no time can others read it who cannot read `like`; if that does not exist, only its owner
    can.
    """
    draft = folder / place.name
    try:
        if place.exists() and not os.access(place, os.W_OK):
            raise PermissionError(13, "it is read-only")
        with draft.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
        if like.exists():
            shutil.copymode(like, draft)
        else:
            draft.chmod(0o600)
        draft.replace(place)
    except OSError as error:
        raise _unwritable(place, error) from None


def _unwritable(place: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"{place} cannot be written: {error.strerror}. Make it writable, or add --print and "
        "put the entry there yourself."
    )


def _claude(program: str, verb: str, *arguments: str) -> None:
    """Change the file with Claude Code's own command, since a running Claude Code writes it too."""
    call = [program, "mcp", verb, "--scope", "user", *arguments]
    done = subprocess.run(  # noqa: S603 - a list, and the program is the user's own
        call,
        check=False,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines() or ["Done."]
    if done.returncode:
        raise ConfigurationError(f"`claude mcp {verb}` failed: {lines[-1]}")
    click.echo(lines[-1])
