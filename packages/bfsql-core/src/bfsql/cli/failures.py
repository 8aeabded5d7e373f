"""What a failure is on the command line: a sentence and an exit code."""

from __future__ import annotations

from bfsql.cli.visible import visible
from bfsql.errors import BfsqlError, ToolError

WRONG = 2
"""The caller can correct it."""

FAILED = 1
"""The call was right and could not be answered."""

_UNANSWERED = ("deadline", "store", "refused", "internal")


def explained(error: BaseException) -> tuple[str, int]:
    """The sentence for standard error, and the exit code.

    Args:
        error: One of the project's own errors, an OSError, or a group with one
            of these in it; anything else in a group is raised again.
    """
    found = _single(error)
    if isinstance(found, ToolError):
        cause = found.__cause__
        why = "" if cause is None or found.kind not in ("store", "internal") else _cause(cause)
        return visible(f"{found}{why}"), FAILED if found.kind in _UNANSWERED else WRONG
    if isinstance(found, BfsqlError):
        return visible(str(found)), WRONG
    if isinstance(found, OSError):
        what = f"{found.filename}: " if found.filename is not None else ""
        return visible(f"{what}{found.strerror or found}"), WRONG
    raise found


def _single(error: BaseException) -> BaseException:
    """What a task group wrapped: the first failure inside."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _cause(cause: BaseException) -> str:
    """On the command line the reader is the operator, so the cause is told."""
    if isinstance(cause, BfsqlError):
        return f"\nThe store says: {cause}"
    return f"\nThe cause is {type(cause).__name__}: {cause} (BFSQL_LOG_LEVEL=debug tells where)"
