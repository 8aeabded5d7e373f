"""`bfsql demo`: the calls of a model on a graph of films, and their answers.

Nodes of the graph are `Person`, `Movie` and `Genre`, with ids such as `Person:TomHanks` and
`Movie:Big1988`. Edges go from a person to a movie (`ACTED_IN`, with the `role` where it is known,
`DIRECTED`, `WROTE`, `COMPOSED_FOR`) and from a movie to its genres (`HAS_GENRE`). Casts and crews
are a selection.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bfsql.cli.clients import own_command

if TYPE_CHECKING:
    from rich.console import Console

    from bfsql.answers import Answer
    from bfsql.plugins import BackendPlugin
    from bfsql.settings import BackendSettings

TITLE = "Films and people"
DESCRIPTION = (
    "Films from 1976 to 2019, and who acted in them, directed, wrote and scored them. Casts are "
    "partial. Predicates run from person to film, HAS_GENRE from film to genre."
)
NODE_TABLES = ("genres.csv", "movies.csv", "people.csv")
"""Columns: id, type, name; movies also aliases, released; people also aliases, born."""

EDGE_TABLES = ("roles.csv",)
"""Columns: subject, predicate, object, role."""


@dataclass(frozen=True, slots=True)
class Step:
    """One question of the session."""

    thought: str
    """Why a model makes the call."""
    tool: str
    arguments: dict[str, Any]
    digest: Callable[[Any], str]
    """Summarizes the answer for a person."""


HANKS, RYAN = "Person:TomHanks", "Person:MegRyan"


def _types(answer: Any) -> str:
    return f"{', '.join(answer['entity_types'])}; {', '.join(answer['predicates'])}"


def _hits(answer: Any) -> str:
    return ", ".join(f"{hit.get('name')} = {hit['id']}" for hit in answer[:3])


def _counts(answer: Any) -> str:
    return f"{answer['node_count']} nodes and {answer['edge_count']} edges in the whole answer"


def _names(answer: Any, entity_type: str) -> str:
    names = sorted(
        str(node.get("metadata", {}).get("name", node["id"]))
        for node in answer["nodes"]
        if node["entity_type"] == entity_type and node["id"] not in (HANKS, RYAN)
    )
    return f"{len(names)}: {', '.join(names)}"


def _together(answer: Any) -> str:
    """Summarizes who has an edge to a film of both, and who is near both through other films."""
    played = {edge["subject"] for edge in answer["edges"] if edge["predicate"] == "ACTED_IN"}
    names = {n["id"]: n["metadata"]["name"] for n in answer["nodes"] if "metadata" in n}
    near = names.keys() - {HANKS, RYAN}
    both = ", ".join(sorted(names[i] for i in near & played))
    return (
        f"{len(near & played)} played in a film with both: {both}. "
        f"{len(near - played)} more worked with each of them, in different films."
    )


def _often(answer: Any) -> str:
    return ", ".join(
        f"{node['metadata']['name']} {node['paths']}" for node in answer["nodes"] if "paths" in node
    )


STEPS = (
    Step("What is this graph?", "describe_schema", {}, _types),
    Step("Names to ids.", "search_entities", {"query": "Tom Hanks"}, _hits),
    Step("A misspelt name.", "search_entities", {"query": "Meg Ryann"}, _hits),
    Step(
        "A cheap survey: everything as stubs.",
        "bfs_query",
        {"seeds": [HANKS], "max_hops": 2, "topology_only": True, "limit": 40},
        _counts,
    ),
    Step(
        "The same neighbourhood, detail on films alone.",
        "bfs_query",
        {"seeds": [RYAN], "max_hops": 1, "node_types": ["Movie"], "predicates": ["ACTED_IN"]},
        lambda a: _names(a, "Movie"),
    ),
    Step(
        "One stub, expanded.",
        "describe_entity",
        {"id": "Movie:SleeplessInSeattle1993"},
        lambda a: f"{a.get('name')} ({a.get('released')})",
    ),
    Step(
        "Several at once.",
        "describe_entities",
        {"ids": [HANKS, RYAN]},
        lambda a: ", ".join(f"{e.get('name')} (born {e.get('born')})" for e in a),
    ),
    Step(
        "In which films did both play?",
        "intersect_subgraphs",
        {"seeds": [HANKS, RYAN], "k": 1},
        lambda a: _names(a, "Movie"),
    ),
    Step(
        "Who directed films with Tom Hanks, and how many? One call, by name.",
        "bfs_query",
        {
            "seeds": ["Tom Hanks"],
            "path": ["-ACTED_IN-> Movie", "<-DIRECTED- Person"],
            "show": "ends",
            "sort_by": "-paths",
            "fields": ["name"],
            "limit": 5,
        },
        _often,
    ),
    Step(
        "Who appeared in films with both Tom Hanks and Meg Ryan? Again one call.",
        "intersect_subgraphs",
        {
            "seeds": ["Tom Hanks", "Meg Ryan"],
            "k": 2,
            "node_types": ["Person"],
            "predicates": ["ACTED_IN"],
            "exclude_node_types": ["Genre"],
            "fields": ["name"],
        },
        _together,
    ),
)
"""The session: the six tools, ending with the question that only the last one answers."""


@contextmanager
def films_paths() -> Iterator[tuple[Path, ...]]:
    """Paths of the tables, nodes before edges, for as long as the context lasts.

    They are the installed files, or temporary copies if the package is imported from an archive.
    """
    folder = files("bfsql") / "films"
    with ExitStack() as stack:
        yield tuple(
            stack.enter_context(as_file(folder / name)) for name in (*NODE_TABLES, *EDGE_TABLES)
        )


@click.command()
@click.option(
    "--path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("films.db"),
    show_default=True,
    help="Where to put the films graph.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answers as a model reads them.")
def demo(path: Path, *, as_json: bool) -> None:
    """Load a graph of films and show a sample session with it."""
    from rich.console import Console

    console = Console(highlight=False)
    loaded = asyncio.run(_load(path))
    console.print(
        f"Films and people, {'loaded into' if loaded else 'already in'} [bold]{path}[/bold]. "
        "Below, a real MCP client calls [bold]bfsql serve[/bold] over stdio: the calls of a "
        "model, and their answers.\n"
    )
    asyncio.run(_session(console, path, as_json=as_json))
    _farewell(console, path)


async def _load(path: Path) -> bool:
    """Make the films graph; False if it exists already."""
    from bfsql import plugins
    from bfsql.errors import LoadRefused
    from bfsql.loading import load
    from bfsql.models.load import LoadOptions
    from bfsql.settings import resolve
    from bfsql.sources import read_all

    plugin = plugins.load("sqlite")
    settings = resolve(plugin.settings, options={"path": path}).settings
    with films_paths() as files:
        try:
            await load(
                plugin,
                settings,
                files,
                how=LoadOptions(strict=True, title=TITLE, description=DESCRIPTION),
            )
        except LoadRefused as refused:
            if await _holds(plugin, settings, list(read_all(files))):
                return False
            raise LoadRefused(
                f"{path} contains a graph that was not created by the demo, or is being written "
                "by another load, and the demo does not replace it. Name another file: bfsql "
                "demo --path NAME"
            ) from refused
    return True


async def _holds(plugin: BackendPlugin, settings: BackendSettings, records: list[Any]) -> bool:
    """Whether a graph has the nodes and edges of these records."""
    from bfsql.errors import StoreError
    from bfsql.models.records import EdgeRecord, NodeRecord

    types = {r.id: r.entity_type for r in records if isinstance(r, NodeRecord)}
    edges = {(r.subject, r.predicate, r.object) for r in records if isinstance(r, EdgeRecord)}
    try:
        backend = await plugin.open(settings)
    except StoreError:
        return False
    try:
        found = {node.id: node.entity_type for node in await backend.get_nodes_batch(list(types))}
        return found == types and edges <= set(await backend.edges_batch(list(types)))
    finally:
        await backend.close()


async def _session(console: Console, path: Path, *, as_json: bool) -> None:
    """The answers in a real client's session with a server over stdio."""
    from mcp import Client, StdioServerParameters
    from mcp_types import TextContent

    from bfsql.answers import Answer

    program, *arguments = _serve(path)
    async with Client(StdioServerParameters(command=program, args=arguments)) as client:
        [description] = [
            tool.description or ""
            for tool in (await client.list_tools()).tools
            if tool.name == "bfs_query"
        ]
        console.print("[dim]Before its first call, the model has read in bfs_query's description:")
        for line in description.splitlines()[1:3]:  # what the graph holds
            known = {"": [line]} if as_json or line[0] != "{" else json.loads(line)
            for text in (text for texts in known.values() for text in texts):
                console.print(f"  {text}", style="dim", markup=False, soft_wrap=as_json)
        for number, step in enumerate(STEPS, start=1):
            blocks = (await client.call_tool(step.tool, step.arguments)).content
            text, *notes = [block.text for block in blocks if isinstance(block, TextContent)]
            content = json.loads(text)
            content = content if isinstance(content, dict) else {"result": content}
            answer = Answer(text, content, tuple(content.get("notes", notes)))
            _show(console, number, step, answer, as_json=as_json)


def _show(console: Console, number: int, step: Step, answer: Answer, *, as_json: bool) -> None:
    """Print a call and its answer: the first lines that a person sees, or what a model reads."""
    from bfsql.cli.answer import show

    console.print()
    console.rule(f"[bold]{number}. {step.thought}", align="left", style="cyan")
    arguments = ", ".join(f"{k}={json.dumps(v)}" for k, v in step.arguments.items())
    console.print(f"asked  {step.tool}({arguments})", style="cyan", markup=False)
    if as_json:
        console.print(answer.text, markup=False, soft_wrap=True)
    else:
        console.print()
        show(step.tool, answer, step.arguments, console, most=10)
        console.print()
    console.print(f"means  {step.digest(json.loads(answer.text))}", style="green", markup=False)


def _farewell(console: Console, path: Path) -> None:
    program, *arguments = _serve(path.resolve())
    entry = {"mcpServers": {"films": {"command": program, "args": arguments}}}
    file = shlex.quote(str(path))
    console.print()
    console.rule("[bold]Use it with your own assistant", align="left", style="cyan")
    lines = (
        "Add it to your MCP client (cursor, vscode, codex and others likewise):\n",
        f"  {_typed()} install claude-desktop {file}",
        "\nOr paste this into its configuration:\n",
        json.dumps(entry, indent=2),
        "\nOr query it yourself:\n",
        f"  {_typed()} search-entities 'Nora Ephron' --path {file}",
        f"  {_typed()} bfs-query 'Nora Ephron' --max-hops 1 --path {file}",
    )
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def _typed() -> str:
    """How to call `bfsql` in this environment: by its name if the shell finds it."""
    program, *module = own_command()
    if not module and shutil.which("bfsql") == program:
        return "bfsql"
    here = Path(program)
    shown = here.relative_to(Path.cwd()) if here.is_relative_to(Path.cwd()) else here
    return shlex.join([str(shown), *module])


def _serve(path: Path) -> tuple[str, ...]:
    return own_command("serve", "--path", str(path), "--backend", "sqlite")
