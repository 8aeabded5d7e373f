"""What others say, as part of a sentence of ours."""

from __future__ import annotations

_SHOWN = 300  # characters


def one_line(text: str) -> str:
    """On one line, short, and without the full stop that ends our own sentence."""
    line = " ".join(text.split())
    return f"{line[:_SHOWN]}..." if len(line) > _SHOWN else line.rstrip(".")


def by(error: BaseException) -> str:
    """What an error of somebody else says."""
    return one_line(f"{type(error).__name__}: {error}".removesuffix(": "))
