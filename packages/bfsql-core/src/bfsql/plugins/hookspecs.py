"""The hooks that a plugin can implement: names, arguments and results.

A plugin is a module, an object or a class (which is called without arguments) that an entry point
in the group `bfsql.hooks` names. It marks the hooks that it implements with `hookimpl`, and takes
the arguments that it needs, by name:

    from bfsql.plugins import hookimpl

    @hookimpl
    def refuse_call(tool):
        return "Intersections are closed." if tool == "intersect_subgraphs" else None

Hooks receive copies; changing them does not change an answer. An exception that a hook raises is
logged, and the answer is sent as if the hook had not been called, except for a redaction.

This module imports pluggy, so it is imported only if a hook plugin is installed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pluggy

from bfsql.plugins.declaration import CallOutcome, CommandDeclaration

if TYPE_CHECKING:
    from bfsql.call import Caller
    from bfsql.models.records import EntityStub, Triple

PROJECT = "bfsql"
"""pluggy's name for this host."""

PLAIN = ("watch_call", "redact_metadata", "cli_commands")
"""Hooks that cannot be `async def`."""

Kind: TypeAlias = Literal["node", "edge", "evidence"]
"""Owner of metadata; `evidence` is an item of `provenance` in a description."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks the functions of a plugin that implement a hook."""


@hookspec
def watch_call(
    tool: str,
    arguments: Mapping[str, Any],
    caller: Caller | None,
    outcome: CallOutcome,
    seconds: float,
) -> None:
    """Receive a tool call after it has ended, even if it was invalid, refused or cancelled.

    A plain function.

    Args:
        tool: The tool's name, as the client gave it.
        arguments: The values that were used, with defaults filled in; if they were not accepted,
            what the client sent.
        caller: The caller; None on stdio, on the command line and in Python.
        outcome: Size and rows of the answer, or the kind of error.
        seconds: Duration of the call.
    """


@hookspec(firstresult=True)
def refuse_call(
    tool: str, arguments: Mapping[str, Any], caller: Caller | None
) -> str | Awaitable[str | None] | None:
    """Refuse a tool call before the graph is queried; may be `async def`.

    If it raises an exception, the call continues: a policy that must hold in all cases has to catch
    its own failures and return a sentence.

    Args:
        tool: The tool's name.
        arguments: The values of its arguments, checked, with defaults filled in.
        caller: The caller; None on stdio, on the command line and in Python.

    Returns:
        A sentence for the model, which becomes an error of the kind `refused`; None to allow the
        call.
    """


@hookspec(firstresult=True)
def redact_metadata(  # type: ignore[empty-body]  # a specification has none
    kind: Kind, key: str | Triple, metadata: dict[str, Any], caller: Caller | None
) -> Mapping[str, Any]:
    """Remove from a record's metadata what must not be sent; a plain function.

    It is applied before everything else that uses metadata: filters, the budget, names in search
    results and in errors. Ids, types and predicates are not metadata. The cache is behind it, so
    that redaction for one caller does not affect answers for another.

    If it raises an exception, or returns anything but a mapping, the record's metadata is withheld,
    and a note in the answer says so. The first failure of a call is logged.

    Args:
        kind: The owner of the metadata.
        key: The id of the node, or the `(subject, predicate, object)` of the edge or of the
            evidence's edge.
        metadata: A copy of the metadata, which may be changed and returned. For a search hit it is
            that of the whole record, on which the decision about the name may depend. That of an
            edge may contain its evidence, as a list under `provenance`.
        caller: The caller; None on stdio, on the command line and in Python.

    Returns:
        What may be sent.
    """


@hookspec(firstresult=True)
def rerank_candidates(
    query: str, node_types: Sequence[str], candidates: list[EntityStub], caller: Caller | None
) -> Sequence[EntityStub] | Awaitable[Sequence[EntityStub] | None] | None:
    """Put the candidates of a search in another order; may be `async def`.

    Args:
        query: The text of the search.
        node_types: The types that the call keeps; empty for all.
        candidates: At most 20, best first, with the names that were found.
        caller: The caller; None on stdio, on the command line and in Python.

    Returns:
        The candidates, best first, of which those that are missing follow in their previous order;
        None to leave the order as it is. One that was not among them is an error.
    """


@hookspec(firstresult=True)
def cli_commands() -> Sequence[CommandDeclaration] | None:
    """Declare commands for the command line; a plain function.

    A plugin cannot replace one of core's commands.

    Returns:
        Declarations; the module of a command is imported when the command is called.
    """
