"""`bfsql doctor`: finds what keeps clients from using a graph, and how to fix it.

Every check yields findings; errors are shown first.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from bfsql import call
from bfsql.answers.notes import counted
from bfsql.cli.account import reading_table
from bfsql.cli.clients import CLIENTS, Client, Launch, is_ours, read_file
from bfsql.cli.command import VERBOSE, escape, innermost
from bfsql.cli.configuration import Configuration
from bfsql.cli.configured import ConfiguredCommand, opened
from bfsql.cli.install import launch
from bfsql.cli.proposal import command_line, new_config, proposal_of, write_config
from bfsql.cli.show import setting_lines
from bfsql.cli.splice import Unreadable
from bfsql.errors import BfsqlError, ToolError, listing
from bfsql.models import Outline, Property
from bfsql.models.valid_time import proposed_time_keys
from bfsql.plugins import Proposal, hook_states, states
from bfsql.settings import UnreadableFile, spelled
from bfsql.tools import TOOLS

if TYPE_CHECKING:
    from bfsql.graph import Graph

State: TypeAlias = Literal["wrong", "warning", "ok"]

STORE_SECONDS = 60.0
"""Seconds for each query of the store."""
LARGE_HUB = 1_000_000
"""Edges of a node from which it is reported as a hub."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    state: State
    subject: str
    """What was checked, in a word or two."""
    text: str
    """What was found."""
    cure: str = ""
    """What to do about it; empty if nothing has to be done."""


@click.command(
    "doctor",
    cls=ConfiguredCommand,
    server=True,
    graph=True,
    common=(),
    examples=("bfsql doctor films.db",),
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--write", is_flag=True, help="Write bfsql.toml, unless something is wrong.")
def doctor(configuration: Configuration, *, as_json: bool, write: bool) -> None:
    """Find out why clients cannot use a graph, and how to fix it.

    Examines the installation, the settings, the store, the graph, its search, a call through
    an MCP session over stdio, and the client files that start bfsql. Takes the graph and the
    options of `bfsql serve`. The exit code is 1 if something is wrong.

    If a backend chooses settings that were not given, these are shown with the reasons, and in the
    complete lines of `bfsql serve` and `bfsql install`. --write writes them into bfsql.toml.
    """
    path = new_config(configuration) if write else None
    server = launch(configuration)
    findings, proposal = asyncio.run(_findings(configuration, server))
    if path is not None and all(finding.state != "wrong" for finding in findings):
        write_config(path, configuration, proposal)
        cure = f"Start it with: bfsql serve --config {path}"
        findings.append(Finding("ok", str(path), "it was written", cure))
    order: list[State] = ["wrong", "warning", "ok"]
    findings.sort(key=lambda finding: order.index(finding.state))
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False))
    else:
        _show(findings)
    if findings[0].state == "wrong":
        click.get_current_context().exit(1)


def _show(findings: list[Finding]) -> None:
    colours = {"wrong": "red", "warning": "yellow", "ok": "green"}
    for finding in findings:
        mark = click.style(f"{finding.state:8}", fg=colours[finding.state])
        click.echo(f"{mark} {escape(f'{finding.subject}: {finding.text}')}")
        for line in finding.cure.split("\n") if finding.cure else ():
            click.echo(f"         {escape(line)}")
    wrong = sum(finding.state == "wrong" for finding in findings)
    warnings = sum(finding.state == "warning" for finding in findings)
    click.echo(
        f"\n{wrong} wrong, {warnings} to review, {len(findings) - wrong - warnings} correct."
    )


async def _findings(configuration: Configuration, server: Launch) -> tuple[list[Finding], Proposal]:
    found = [*_installation(), *_settings(configuration)]
    # What a store logs would appear between the findings.
    warnings, log = BufferingHandler(sys.maxsize), logging.getLogger("bfsql")
    warnings.setLevel(logging.WARNING)
    log.addHandler(warnings)
    store, proposal = await _store(configuration)
    log.removeHandler(warnings)
    found += store
    if all(finding.state != "wrong" for finding in store):
        found.append(await _session(configuration, server))
        found += _proposed(configuration, server, proposal)
    found += [
        Finding("warning", "log", text)
        for text in dict.fromkeys(record.getMessage() for record in warnings.buffer)
        if text not in proposal.left_out
    ]
    return found + [finding async for finding in _clients()], proposal


# --- the installation and the settings ----------------------------------------------


def _installation() -> Iterator[Finding]:
    yield Finding("ok", "Python", f"{platform.python_version()} at {sys.executable}")
    for state in [*states(), *hook_states()]:
        if state.ok:
            yield Finding("ok", state.name, f"{state.distribution} {state.version}")
        else:
            yield Finding("warning", state.name, state.state)


def _settings(configuration: Configuration) -> Iterator[Finding]:
    choice = configuration.choice
    yield Finding("ok", "backend", f"{choice.backend} ({choice.backend_origin})")
    if choice.file.path is not None:
        yield Finding("ok", "configuration file", str(choice.file.path.resolve()))
    for line in (*setting_lines(configuration.server), *setting_lines(configuration.backend)):
        if line.origin != "default":
            yield Finding("ok", line.key, f"{spelled(line.value)} ({line.origin})")
    for name, why in choice.unused_variables().items():
        cure = "Check its spelling: `bfsql serve --help-all` names the variable of each setting."
        yield Finding("warning", name, why, cure)


def _proposed(
    configuration: Configuration, server: Launch, proposal: Proposal
) -> Iterator[Finding]:
    for one in proposal.settings:
        key = one.field.rstrip("_")
        yield Finding("ok", key, f"{spelled(one.value)} (chosen: {one.reason})")
    if proposal.withheld:
        cure = proposal.remedy if click.get_current_context().meta.get(VERBOSE) else ""
        yield Finding("ok", "left out", proposal.withheld, cure)
    for sentence in proposal.left_out:
        yield Finding("warning", "left out", sentence)
    for command in ("serve", "install CLIENT"):
        line = command_line(configuration, server, proposal, *command.split())
        yield Finding("ok", f"bfsql {command}", "the complete line", line)


# --- the store and the graph ----------------------------------------------------------


async def _store(configuration: Configuration) -> tuple[list[Finding], Proposal]:
    """What is found of the store, and the proposal, for which it has to be reachable."""
    found: list[Finding] = []
    try:
        async with opened(configuration) as graph:
            with call.scope(seconds=STORE_SECONDS):
                await graph.db.ping()
                found.append(Finding("ok", "store", "it answers"))
                if reason := await graph.db.may_write():
                    found.append(Finding("warning", "rights", reason))
            proposal = await proposal_of(configuration)
            model = type(configuration.backend.settings)
            options = model.model_fields.keys() - model.file_options.keys()
            found += [finding async for finding in _graph(graph, proposal, options)]
    except (BfsqlError, OSError) as error:
        found.append(Finding("wrong", "store", str(error)))
        return found, Proposal()
    found += [finding async for finding in _indexes(configuration)]
    return found, proposal


async def _indexes(configuration: Configuration) -> AsyncIterator[Finding]:
    prepare = configuration.choice.plugin.prepare
    if prepare is None:
        return
    try:
        missing = await prepare(configuration.backend.settings, False)  # noqa: FBT003 - the contract's
    except BfsqlError as error:
        yield Finding("warning", "indexes", str(error))
        return
    if not missing:
        yield Finding("ok", "indexes", "none is missing")
        return
    shown = "; ".join(statement.split("\n")[0] for statement in missing[:3])
    cure = "`bfsql index` shows them all, and `bfsql index --apply` creates them."
    yield Finding("warning", "indexes", f"{len(missing)} missing: {shown}", cure)


_OF_PROPERTIES = "List the properties that hold names with --{}."
_NAMED_BY = {
    "label_property": _OF_PROPERTIES.format("label-property"),
    "name_property": _OF_PROPERTIES.format("name-property"),
    "nodes": "Name the column that holds them in --nodes, as in people: id=person_id, name=COLUMN.",
    "": "Load tables with --name-column. For RDF, add labels such as rdfs:label, or name a "
    "property: bfsql serve FILE --label-property PROPERTY.",
}
"""What gives nodes a name, by the option of a backend that does; the last is for all others."""


async def _graph(
    graph: Graph, proposal: Proposal, options: Collection[str]
) -> AsyncIterator[Finding]:
    with call.scope(seconds=STORE_SECONDS):
        types = await graph.db.entity_types()
    if not types:
        yield Finding(
            "wrong",
            "graph",
            "it has no nodes",
            "Load one (`bfsql load --help`), or check the database, schema or mapping in the "
            "settings.",
        )
        return
    with call.scope(seconds=STORE_SECONDS):
        outline = await graph.shown.outline() or Outline()
    if outline.node_counts or outline.relations:
        for finding in _counts(outline):
            yield finding
    if outline.tables:
        lines = reading_table(outline.tables, width=71)
        yield Finding("ok", "tables", "how they were read by their keys", "\n".join(lines))
    properties = {**outline.node_properties, **outline.edge_properties}
    keys_of = {owner: [one.name for one in known] for owner, known in properties.items()}
    for sentence in graph.db.time_keys.unknown(keys_of):
        yield Finding("warning", "dates", sentence, "Of a large graph, only a part was read.")
    for owner, known in () if graph.db.time_keys else properties.items():
        if keys := proposed_time_keys({one.name: next(iter(one.values), None) for one in known}):
            yield Finding("ok", "dates", f"of {owner}, {keys.proposal}")
            break
    nameless = [
        type_
        for type_, known in outline.node_properties.items()
        if type_ not in proposal.nameless
        and all(one.name != "name" for one in known)
        and not await _has_name(graph, type_)
    ]
    if nameless:
        yield Finding(
            "warning",
            "names",
            f"nodes of {listing(nameless, 5)} have no name, so search finds them only by id",
            _cure_of_names([outline.node_properties[type_] for type_ in nameless], options),
        )
    yield await _search(graph, types)


def _cure_of_names(properties: Iterable[Sequence[Property]], options: Collection[str]) -> str:
    """What gives nodes a name: options of their backend, and their properties that may hold it."""
    cure = next((text for option, text in _NAMED_BY.items() if option in options), _NAMED_BY[""])
    texts = sorted({one.name for some in properties for one in some if one.kind == "text"})
    return f"{cure} Properties with text: {listing(texts, 5)}." if texts else cure


async def _has_name(graph: Graph, type_: str) -> bool:
    """Whether search names a node of the type: the name may be another property than `name`."""
    with suppress(ToolError):
        call_ = {"seeds": [f"{type_}:*"], "limit": 1, "topology_only": True}
        for node in (await graph.call("bfs_query", call_)).content["nodes"]:
            found = await graph.call("search_entities", {"query": node["id"]})
            return any(
                hit["id"] == node["id"] and hit.get("name") for hit in found.content["result"]
            )
    return False


def _counts(outline: Outline) -> Iterator[Finding]:
    types = f", {counted(len(outline.node_counts), 'type')}" if outline.node_counts else ""
    yield Finding("ok", "graph", _size_text(outline) + types)
    for name, mean in list((outline.mean_degrees or {}).items())[:1]:
        if mean >= LARGE_HUB:
            yield Finding("ok", "hubs", f"nodes of {name} have {mean:,g} edges on average")


def _size_text(outline: Outline) -> str:
    """The numbers of nodes and edges in words, as far as they are counted."""
    nodes, edges = sum(outline.node_counts.values()), sum(outline.edge_counts.values())
    unknown = not outline.node_counts and (outline.relations or outline.sampled)
    of_nodes = "nodes not counted" if unknown else counted(nodes, "node", ",")
    if not outline.sampled:
        return f"{of_nodes}, {counted(edges, 'edge', ',')}"
    return f"{of_nodes}, edges not counted: the relations come from a sample of the graph"


async def _search(graph: Graph, types: Sequence[str]) -> Finding:
    """Check that a node that a search finds is found by its own name."""
    for word in ("a", "e", *sorted(types)):
        with suppress(ToolError):
            hits = (await graph.call("search_entities", {"query": word})).content["result"]
            if not hits:
                continue
            name = hits[0].get("name") or hits[0]["id"]
            again = (await graph.call("search_entities", {"query": name})).content["result"]
            if any(hit["id"] == hits[0]["id"] for hit in again):
                return Finding("ok", "search", f"it finds {name!r}")
    return Finding(
        "warning",
        "search",
        "it finds nothing by a letter or a type",
        "Try `bfsql search-entities` with a name from the graph; if that finds nothing, `bfsql "
        "index` may show what the store lacks.",
    )


# --- sessions -----------------------------------------------------------------------------


async def _session(configuration: Configuration, server: Launch) -> Finding:
    variables = {name: one.value for name, one in server.variables.items()}
    args = server.args
    if configuration.choice.found_file is not None:  # not trusted more by being named
        at = args.index("--config")
        args = (*args[:at], *args[at + 2 :])
    if configuration.server.settings.serves_http:
        args = (*args, "--transport", "stdio", "--no-rest")
    failure = await _failure(server.command, args, {**os.environ, **variables})
    if failure is None:
        return Finding(
            "ok", "MCP session", "a client over stdio received the six tools and an answer"
        )
    return Finding(
        "wrong",
        "MCP session",
        failure,
        "Run the same `bfsql serve` command in a terminal to see its error.",
    )


async def _failure(command: str, args: tuple[str, ...], env: Mapping[str, str]) -> str | None:
    """Why a server does not start and answer over stdio in time; None if it does."""
    from mcp import Client as McpClient
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(command=command, args=list(args), env=dict(env))
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        try:
            async with asyncio.timeout(30.0):
                async with McpClient(stdio_client(parameters, errlog=log)) as client:
                    tools = {tool.name for tool in (await client.list_tools()).tools}
                    if not tools or not tools <= {definition.name for definition in TOOLS}:
                        return "it is a different server: it has other tools"
                    if "describe_schema" not in tools:  # a role may leave it out
                        return None
                    answer = await client.call_tool("describe_schema", {})
                    return "describe_schema failed" if answer.is_error else None
        except TimeoutError:
            return "it did not answer within 30 s"
        except Exception as fault:  # noqa: BLE001 - whatever a process that ends causes
            log.seek(0)
            lines = log.read().strip().splitlines()
            if lines:
                return lines[-1]
            cause = innermost(fault)
            return f"it does not start ({str(cause) or type(cause).__name__})"


async def _clients() -> AsyncIterator[Finding]:
    """Check that the entries of client files that start bfsql still work."""
    try:
        home = Path.home()
    except RuntimeError:
        return
    for client in CLIENTS.values():
        path = client.path(home, os.environ)
        try:
            servers = client.servers(read_file(path)) if path.exists() else {}
        except (Unreadable, UnreadableFile) as wrong:
            text = f"{path} cannot be read: {wrong}"
            yield Finding("warning", client.title, text, "Correct the file.")
            continue
        for name, entry in servers.items():
            if is_ours(entry):
                yield await _entry(client, path, name, entry)


async def _entry(client: Client, path: Path, name: str, entry: Mapping[str, Any]) -> Finding:
    subject = f"{client.title}, {name}"
    failure = await _of_entry(entry)
    if failure is None:
        return Finding("ok", subject, "it starts and answers")
    cure = f"Write the entry again: bfsql install {client.name} --name {name}, with its graph."
    return Finding("wrong", subject, f"{failure} ({path})", cure)


async def _of_entry(entry: Mapping[str, Any]) -> str | None:
    command = str(entry["command"])
    if shutil.which(command) is None:
        return f"its command {command} does not exist: the environment was moved or removed"
    given = entry.get("env")
    written = {str(k): str(v) for k, v in given.items()} if isinstance(given, dict) else {}
    env = {**os.environ, **{k: v for k, v in written.items() if "${" not in v}}
    return await _failure(command, tuple(map(str, entry.get("args") or ())), env)
