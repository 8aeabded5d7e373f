"""The hooks: where a plugin may have a say, each by name, docstring and arguments.

A plugin is a module, an object or a class (which is called without arguments)
that an entry point in the group `bfsql.hooks` names. It implements the hooks it
wants, marked with `hookimpl`, and takes of each one's arguments those it needs.

    from bfsql.plugins import hookimpl

    @hookimpl
    def refuse_call(tool):
        return "This server does not intersect." if tool == "intersect_subgraphs" else None

What is given to a hook is a copy: changing it changes no answer. Two hooks may
be `async def`, and then share the deadline of the call; the others are plain
functions that run in the server's event loop, so they must not wait.

This module is imported only where a hook plugin is installed, since it imports
pluggy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import pluggy

from bfsql.call import Caller
from bfsql.models.records import EntityStub, Triple
from bfsql.plugins.declaration import CallOutcome, CommandDeclaration

PROJECT = "bfsql"
"""pluggy's name for this host."""

PLAIN = ("watch_call", "redact_metadata", "cli_commands")
"""Hooks that cannot be `async def`."""

Kind: TypeAlias = Literal["node", "edge", "evidence"]
"""What metadata belongs to; `evidence` is an item of `provenance` in a description."""

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
    """Observe a tool call and its outcome, after the fact; plain functions only.

    It is called for every call, also for those that were refused, wrong or cancelled.
    What it raises is reported, and the answer goes out all the same.

    Args:
        tool: The tool's name, as the client gave it.
        arguments: The values of the tool's arguments, defaults filled in; as the
            client sent them where they were not accepted.
        caller: Who asked, as far as the transport knows; None on stdio, on the
            command line and in Python.
        outcome: Size and rows of the answer, or the kind of error.
        seconds: How long the call took.
    """


@hookspec(firstresult=True)
def refuse_call(
    tool: str, arguments: Mapping[str, Any], caller: Caller | None
) -> str | Awaitable[str | None] | None:
    """Refuse a tool call before the graph is asked; may be `async def`.

    What it raises is reported, and the call goes on: a policy that has to hold
    in any case catches its own failures and returns a sentence.

    Args:
        tool: The tool's name.
        arguments: The values of its arguments, checked, defaults filled in.
        caller: Who asks, as far as the transport knows; None on stdio, on the
            command line and in Python.

    Returns:
        A sentence for the model, which becomes the answer, an error of the kind
        `refused`; or None to let the call through.
    """


@hookspec(firstresult=True)
def redact_metadata(  # type: ignore[empty-body]  # a specification has none
    kind: Kind, key: str | Triple, metadata: dict[str, Any], caller: Caller | None
) -> Mapping[str, Any]:
    """Take out of metadata what must not leave; plain functions only.

    It sees every record before an answer is made of it, and before anything
    else looks at it: filters, budget, names in search results and in errors.
    Ids, types and predicates are no metadata. An answer that no record was
    redacted for is never mixed with it: the cache lies behind this hook.

    When it raises, or returns anything but a mapping, nothing of the record gets
    through, and a note in the answer says so. The first failure of a call is
    reported.

    Args:
        kind: What the metadata belongs to.
        key: The id of the node, or the `(subject, predicate, object)` of the edge
            or of the edge that the evidence is for.
        metadata: A copy of the record, which may be changed and returned. A search
            hit is a node of which only the `name` is known; an edge may hold its
            evidence as a list under `provenance`.
        caller: Who asks, as far as the transport knows; None on stdio, on the
            command line and in Python.

    Returns:
        What may leave.
    """


@hookspec(firstresult=True)
def rerank_candidates(
    query: str,
    node_types: Sequence[str],
    candidates: list[EntityStub],
    caller: Caller | None,
) -> Sequence[EntityStub] | Awaitable[Sequence[EntityStub] | None] | None:
    """Put the candidates of a search in another order; may be `async def`.

    It can neither add a candidate nor drop one: those it leaves out follow in
    the order they had. What it raises is reported, and the order stays.

    Args:
        query: What was searched for.
        node_types: The types that the call keeps; empty for all.
        candidates: At most 20, best first, with the names that were found.
        caller: Who asks, as far as the transport knows; None on stdio, on the
            command line and in Python.

    Returns:
        The candidates, best first; None to leave them as they are.
    """


@hookspec(firstresult=True)
def cli_commands() -> Sequence[CommandDeclaration] | None:
    """Declare commands for the command line; plain functions only.

    A name that core has stays core's. What it raises is reported, and the other
    commands work.

    Returns:
        Declarations; the command itself is imported when it is called.
    """
