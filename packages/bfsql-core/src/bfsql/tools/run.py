"""One tool call from raw arguments to an answer, whatever happens in between.

What the model can act on reaches it as a sentence. What it cannot is said to
be a fault, with an id that stands in the log beside the details; no internals
are shown (`protocol.md` 12).
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bfsql import call
from bfsql.answers import Answer
from bfsql.errors import FirstRingUnfinished, StoreError, StoreUnavailable, ToolError, TypesUnread
from bfsql.plugins import NO_HOOKS, Hooks
from bfsql.settings import Limits
from bfsql.tools.check import checked
from bfsql.tools.operations import Operations
from bfsql.tools.watched import watched

log = logging.getLogger("bfsql")


async def run(
    operations: Operations,
    limits: Limits,
    tool: str,
    arguments: Any,
    *,
    hooks: Hooks = NO_HOOKS,
    caller: call.Caller | None = None,
) -> Answer:
    """Check, run, answer.

    Args:
        operations: The six.
        limits: Gives the deadline of the call.
        tool: Name of the tool.
        arguments: As the client sent them.
        hooks: Who watches the call, and may refuse it.
        caller: Who asks, as far as the transport knows.

    Raises:
        ToolError: Whatever keeps the call from being answered.
    """
    with call.scope(seconds=limits.deadline, caller=caller):
        if not hooks:
            return await _answered(operations, limits, tool, checked(tool, arguments))
        with watched(hooks, tool, arguments) as seen:
            seen.arguments = values = checked(tool, arguments)
            if refusal := await hooks.refusal(tool, values):
                raise ToolError(refusal, kind="refused")
            seen.answer = await _answered(operations, limits, tool, values)
            return seen.answer


@contextmanager
def told(limits: Limits, what: str) -> Iterator[None]:
    """Make of whatever goes wrong with a graph the sentence for whoever asked.

    Args:
        limits: Gives the deadline, for the sentence about it.
        what: What is being done: the name of a tool, for instance.

    Raises:
        ToolError: What went wrong; what nobody outside should read is in the log.
    """
    try:
        yield
    except ToolError:
        raise
    except (FirstRingUnfinished, TypesUnread) as late:
        raise ToolError(str(late), kind="deadline") from late
    except TimeoutError as late:
        raise ToolError(_too_slow(limits), kind="deadline") from late
    except StoreUnavailable as gone:
        raise _fault("The graph's store does not answer; try again later.", "store", gone) from gone
    except StoreError as broken:
        raise _fault("The graph's store refused this call.", "store", broken) from broken
    except Exception as fault:
        raise _fault(f"{what} failed.", "internal", fault) from fault


async def _answered(
    operations: Operations, limits: Limits, tool: str, values: dict[str, Any]
) -> Answer:
    with told(limits, tool):
        answer: Answer = await getattr(operations, tool)(**values)
        return answer


def _too_slow(limits: Limits) -> str:
    within = "in time" if limits.deadline is None else f"within {limits.deadline:g} s"
    return f"The graph's store did not answer {within}. Try again, or ask for less."


def _fault(message: str, kind: str, cause: Exception) -> ToolError:
    incident = secrets.token_hex(4)
    log.error("incident %s: %s", incident, message, exc_info=cause)
    return ToolError(
        f"{message} The arguments are not the reason; tell the operator incident {incident}.",
        kind=kind,
    )
