"""A command for each tool, made from the same table as the tool's schema.

    bfsql bfs-query RxNorm:3251 --max-hops 2 --topology-only

The values are passed to the tool as typed, so that errors have the same sentences as for a model.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import Any, get_args

import click

from bfsql.answers import Answer
from bfsql.call import AnswerFormat
from bfsql.cli.configuration import Configuration
from bfsql.cli.configured import ConfiguredCommand, opened
from bfsql.errors import ToolError
from bfsql.tools.descriptions import HELP, TOOLS, ToolDefinition
from bfsql.tools.parameters import PARAMETERS, Parameter

_OPTIONS = {"path": "step"}
"""Options with a name different from their argument: `--path` is the store's file."""
_SEPARATED = ("node_types", "exclude_node_types", "predicates")
_METAVARS = {"text": "TEXT", "texts": "TEXT", "whole": "NUMBER", "flag": ""}
_SECTIONS = {
    "Where to go": "max-hops step to k connect",
    "What to keep": "where exclude-node-types",
    "What to show": "show sort-by limit fields facets measure node-types topology-only",
    "Output": "all json answer-format as",
}
"""The sections of the tools' options in their help; only `--help-all` shows the other options."""
_EXAMPLES = {
    "describe_schema": (
        "bfsql describe-schema films.db",
        'bfsql describe-schema films.db --seeds "Tom Hanks"',
    ),
    "search_entities": ('bfsql search-entities films.db "tom hnks"',),
    "bfs_query": (
        'bfsql bfs-query films.db "Tom Hanks"',
        'bfsql bfs-query films.db "Tom Hanks" --step "-ACTED_IN-> Movie" \\',
        '    --step "<-DIRECTED- Person" --show ends --sort-by -paths',
        'bfsql bfs-query films.db "Tom Hanks" --to "Kevin Bacon"',
        'bfsql bfs-query films.db "Movie:*" --where "released>=2010" --sort-by released',
    ),
    "describe_entity": ('bfsql describe-entity films.db "Tom Hanks"',),
    "describe_entities": ('bfsql describe-entities films.db "Tom Hanks" "Meg Ryan"',),
    "intersect_subgraphs": ('bfsql intersect-subgraphs films.db "Tom Hanks" "Meg Ryan" --connect',),
}


def tool_command(definition: ToolDefinition) -> ConfiguredCommand:
    """The command of one tool."""
    tool, parameters = definition.name, PARAMETERS[definition.name]
    first = next((p for p in parameters if p.required and p.kind in ("text", "texts")), None)

    def answer(
        configuration: Configuration,
        *,
        as_json: bool,
        answer_format: str | None,
        every_line: bool,
        as_role: str | None,
        **options: Any,
    ) -> None:
        arguments = _arguments(parameters, first, options)
        chosen = "json" if as_json else answer_format
        is_display = chosen is None and sys.stdout.isatty()
        if as_role is not None:
            configuration = configuration.with_server(role=as_role)
        if chosen is not None:
            configuration = configuration.with_server(answer_format=chosen)
        elif is_display and "fields" in arguments:
            arguments["fields"] = [*arguments["fields"], "name"]
        found = asyncio.run(_ask(configuration, tool, arguments))
        if is_display:
            from bfsql.cli.answer import show

            show(tool, found, arguments, every_line=every_line)
            return
        click.echo(found.text.encode() + b"\n", nl=False)
        for notes in found.blocks[1:]:
            click.echo(notes, err=True)

    params: list[click.Parameter] = [_option(p) for p in parameters]
    if first is not None:
        several = first.kind == "texts"
        params.append(
            click.Argument(
                ["positional"],
                nargs=-1 if several else 1,
                required=False,
                metavar=f"[{first.name.upper()}]{'...' if several else ''}",
            )
        )
    params += [
        click.Option(["--as", "as_role"], metavar="ROLE", help="Answer as for a role of the file."),
        click.Option(["--all", "every_line"], is_flag=True, help="Show all lines on a terminal."),
        click.Option(
            ["--json", "as_json"], is_flag=True, help="Print exactly what the tool returns."
        ),
        click.Option(
            ["--answer-format"],
            type=click.Choice(get_args(AnswerFormat)),
            metavar="json|lines",
            help="Print what the tool returns, as JSON or as lines.",
        ),
    ]
    return ConfiguredCommand(
        tool.replace("_", "-"),
        params=params,
        callback=answer,
        help=HELP[tool],
        graph=True,
        takes_names=first is not None,
        sections=_SECTIONS,
        examples=_EXAMPLES[tool],
    )


def _option(p: Parameter) -> click.Option:
    return click.Option(
        [_option_flag(p.name), f"_{p.name}"],
        help=p.help,
        default=None,
        is_flag=p.kind == "flag",
        hidden=not p.is_listed,
        multiple=p.kind == "texts",
        metavar=_METAVARS[p.kind] or None,
    )


def _option_flag(argument: str) -> str:
    return f"--{_OPTIONS.get(argument, argument).replace('_', '-')}"


def _arguments(
    parameters: tuple[Parameter, ...], first: Parameter | None, raw: dict[str, Any]
) -> dict[str, Any]:
    """The raw arguments of the tool: only those that were given."""
    positional = raw.pop("positional", None)
    arguments = {
        p.name: value for p in parameters if (value := raw[f"_{p.name}"]) not in (None, (), False)
    }
    if first and positional not in (None, ()):
        if first.kind == "text" and first.name in arguments:
            raise click.UsageError(
                f"{first.name} is given twice: {positional!r} and {arguments[first.name]!r}."
            )
        said = arguments.get(first.name, ())
        arguments[first.name] = positional if first.kind == "text" else (*positional, *said)
    if first and first.name not in arguments:
        raise click.UsageError(f"Missing argument {first.name.upper()}. {first.help}")
    return {name: _items(name, v) if isinstance(v, tuple) else v for name, v in arguments.items()}


def _items(name: str, values: tuple[str, ...]) -> list[str]:
    """The values of a list; commas separate types and predicates, but are part of names."""
    if name not in _SEPARATED:
        return list(values)
    return [part.strip() for value in values for part in value.split(",") if part.strip()]


async def _ask(configuration: Configuration, tool: str, arguments: dict[str, Any]) -> Answer:
    if configuration.server.settings.log_level != "debug":
        # The cause of an internal error is shown with its sentence; a traceback would hide both.
        logging.getLogger("bfsql").addHandler(logging.NullHandler())
        if logging.lastResort:  # standard error: failures of hooks appear nowhere else
            logging.getLogger("bfsql.hooks").addHandler(logging.lastResort)
    async with opened(configuration) as graph:
        if tool == "describe_schema":
            await graph.counted()  # there is no later call that could show it
        try:
            return await graph.call(tool, arguments)
        except ToolError as error:
            odd = [name for name in _OPTIONS if error.argument and f" {name}" in f" {error}"]
            more = [f"On the command line, {name} is {_option_flag(name)}." for name in odd]
            error.args = (" ".join([str(error), *more]),)
            raise


_COMMANDS = {definition.name: tool_command(definition) for definition in TOOLS}

describe_schema = _COMMANDS["describe_schema"]
search_entities = _COMMANDS["search_entities"]
bfs_query = _COMMANDS["bfs_query"]
describe_entity = _COMMANDS["describe_entity"]
describe_entities = _COMMANDS["describe_entities"]
intersect_subgraphs = _COMMANDS["intersect_subgraphs"]
