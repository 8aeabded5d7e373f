"""What a failure is on the command line: a sentence, safe to print, and an exit code."""

from __future__ import annotations

import re

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
        return escape(f"{found}{why}"), FAILED if found.kind in _UNANSWERED else WRONG
    if isinstance(found, BfsqlError):
        return escape(str(found)), WRONG
    if isinstance(found, OSError):
        what = f"{found.filename}: " if found.filename is not None else ""
        return escape(f"{what}{found.strerror or found}"), WRONG
    raise found


def _single(error: BaseException) -> BaseException:
    """What a task group wrapped: the first failure inside."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _cause(cause: BaseException) -> str:
    """The cause, since the reader of the command line is the operator."""
    if isinstance(cause, BfsqlError):
        return f"\nThe store says: {cause}"
    return f"\nThe cause is {type(cause).__name__}: {cause} (BFSQL_LOG_LEVEL=debug tells where)"


_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, but tab and newline
    "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"  # what reorders or breaks lines
    "\ud800-\udfff]"
)


def escape(text: str) -> str:
    """The text with control and bidirectional characters as escapes, as JSON writes them."""
    return _INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
