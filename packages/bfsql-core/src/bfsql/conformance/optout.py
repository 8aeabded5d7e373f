"""The words with which an author says that a rule does not hold, and why.

optouts = {
    "dangling-ends": never("The store has no edges without nodes."),
    "search-name-next": notyet("The server's index does not rank exact names."),
}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Word: TypeAlias = Literal["notimpl", "notyet", "never"]


@dataclass(frozen=True, slots=True)
class OptOut:
    """A rule that a backend does not keep, with the reason that every report shows."""

    word: Word
    reason: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ValueError(f"{self.word} needs a reason: a sentence that the report shows.")

    def __str__(self) -> str:
        return f"{self.word}: {self.reason}"


def notimpl(reason: str) -> OptOut:
    """The store could do it, the backend does not do it so far."""
    return OptOut("notimpl", reason)


def notyet(reason: str) -> OptOut:
    """The store cannot do it today; a later version of it may."""
    return OptOut("notyet", reason)


def never(reason: str) -> OptOut:
    """The store cannot do it by its nature."""
    return OptOut("never", reason)
