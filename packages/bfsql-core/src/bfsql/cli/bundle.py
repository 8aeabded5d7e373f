"""`bfsql bundle`: a graph as an MCP bundle (MCPB), a file that hosts install with a click."""

from __future__ import annotations

import asyncio
import json
import shutil
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import click

from bfsql.cli.clients import slug
from bfsql.cli.configuration import Configuration, server_options
from bfsql.cli.configured import ConfiguredCommand, check_graph, graph_files, opened
from bfsql.cli.install import argument, default_name
from bfsql.cli.serve import serve
from bfsql.errors import ConfigurationError
from bfsql.loading.folders import LOADS, working_folder
from bfsql.masking import one_line
from bfsql.plugins import installed, load_hooks
from bfsql.plugins.distributions import __version__
from bfsql.settings import HIDDEN, spelled
from bfsql.settings.server import AT_START

_TEMPLATE = Path(__file__).with_name("bundle_template")
_MOST_BYTES = 200_000_000  # of a bundle that any host takes


@click.command(
    "bundle",
    cls=ConfiguredCommand,
    server=True,
    graph=True,
    without=AT_START,
    examples=("bfsql bundle films.db --out films.mcpb",),
)
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="The bundle, .mcpb.")
@click.option("--name", metavar="NAME", help="Name of the bundle in a host.")
def bundle(configuration: Configuration, *, out: Path | None, name: str | None) -> None:
    """Pack a graph into one file (MCPB) that hosts such as Claude Desktop install with a click.

    A graph's file is in the bundle, and only read. For a store, the host asks its user for the
    address and the secrets. The host runs the server by uv, which installs bfsql.
    """
    place = out or Path(f"{slug(name or default_name(configuration))}.mcpb")
    if place.suffix != ".mcpb":
        raise ConfigurationError(f"--out {place} has to end with .mcpb, by which hosts know it.")
    if load_hooks().redacts:
        raise ConfigurationError("Hooks hide metadata that a bundle would show. Serve over HTTP.")
    draft = place.with_name(f".{place.name}.part")
    with ExitStack() as stack:
        for path in graph_files(configuration):
            _keep(stack, path)
        check_graph(configuration)
        stack.callback(draft.unlink, missing_ok=True)
        with ZipFile(draft, "w", ZIP_DEFLATED) as archive:
            _write(archive, configuration, name or default_name(configuration))
        draft.replace(place)
    size = place.stat().st_size
    click.echo(f"{place} has {size / 1e6:.1f} MB. Open it with the host that should have it.")
    if size > _MOST_BYTES:
        click.echo("Hosts may refuse more than 200 MB. Serve such a graph over HTTP.", err=True)


def _keep(stack: ExitStack, path: Path) -> None:
    """Refuse a folder and what is being loaded, and keep a file from being replaced."""
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder. Load it: bfsql load {path} --path graph.db")
    with suppress(PermissionError, FileNotFoundError):  # then no load can write there
        try:
            stack.enter_context(working_folder(path.parent, LOADS, path.name))
        except BlockingIOError:
            raise ConfigurationError(f"{path} is being loaded. Bundle it afterwards.") from None


def _write(archive: ZipFile, configuration: Configuration, name: str) -> None:
    """Write the manifest, what uv needs, and the graph's file if it has one."""

    async def described() -> tuple[str, list[dict[str, str]]]:
        async with opened(configuration) as graph:
            tools = await graph.listed()
            found = [{"name": tool.name, "description": tool.description} for tool in tools]
            return graph.description, found

    arguments, environment, asked = _settings(configuration)
    about, tools = asyncio.run(described())
    manifest = json.loads((_TEMPLATE / "manifest.json").read_text("utf-8"))
    manifest |= {"name": slug(name), "display_name": name, "version": __version__}
    manifest |= {"description": one_line(about), "tools": tools}
    manifest |= {"_meta": {"bfsql": {"arguments": arguments}}, "user_config": asked}
    manifest["server"]["mcp_config"]["env"] = environment
    archive.writestr("manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False))
    backend = next(one for one in installed() if one.name == configuration.choice.backend)
    needs = [f"bfsql-core=={__version__}", f"{backend.distribution}=={backend.version}"]
    project = (_TEMPLATE / "project.txt").read_text("utf-8")
    archive.writestr("pyproject.toml", project.format(slug(name), __version__, json.dumps(needs)))
    archive.write(_TEMPLATE / "server.txt", "server.py")
    archive.write(_TEMPLATE / "icon.png", "icon.png")
    for path in graph_files(configuration):
        info = ZipInfo.from_file(path, f"graph{path.suffix}")
        info.external_attr, info.compress_type = 0o100444 << 16, ZIP_DEFLATED  # read-only
        with path.open("rb") as source, archive.open(info, "w", force_zip64=True) as target:
            shutil.copyfileobj(source, target)


def _settings(configuration: Configuration) -> tuple[list[str], dict[str, str], dict[str, Any]]:
    """The arguments of the server, its environment, and what the host asks its user for."""
    choice, files = configuration.choice, configuration.choice.plugin.files
    arguments, environment = ["--backend", choice.backend], {}
    asked: dict[str, Any] = {}
    of_backend = serve.backend_options(choice)
    for option in (*of_backend, *(one for one in server_options() if one.field not in AT_START)):
        resolved = configuration.backend if option in of_backend else configuration.server
        value, origin = getattr(resolved.settings, option.field), resolved.origins[option.field]
        if files and option.field == files.setting:
            arguments += [option.flag, f"graph{Path(value).suffix}"]
        elif origin == "default" and not option.required:
            continue
        elif files and option.field == files.more:
            raise ConfigurationError("A bundle holds one file: bfsql load FILES --path graph.db")
        elif option.secret or option.kind == "path" or (option in of_backend and not files):
            environment[option.environment[0]] = f"${{user_config.{option.field}}}"
            kind = "file" if option.kind == "path" else "string"
            asked[option.field] = known = {"type": kind, "title": option.name, "required": True}
            known |= {"description": option.help, "sensitive": option.secret}
            if kind == "string" and HIDDEN not in spelled(value):  # no password in an address
                known["default"] = spelled(value)
        else:
            arguments += argument(option, value, is_path=False)
    return arguments, environment, asked
