"""What a check is given: ways to open the backend, and what its author says of it.

    trial = Trial(fill=my_backend_with)
    async with trial.filled(records) as backend: ...

Only `fill` or `open` is needed. Every other way is one that an author may have
and another may not; a rule that needs one that is not there is not tried.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from bfsql.abc import GraphDbInterface
from bfsql.conformance.keeps import EVERYTHING, Kind, kept
from bfsql.conformance.rule import Untried
from bfsql.models import GraphRecord

Fill = Callable[[Sequence[GraphRecord]], AbstractAsyncContextManager[GraphDbInterface]]
"""Records to an open backend whose store holds exactly these."""

Open = Callable[[], AbstractAsyncContextManager[GraphDbInterface]]
"""Gives an open backend over a store that is there."""

SAMPLE = 25
"""Nodes that a check in reading mode looks at."""

EXAMPLES = 25
"""Graphs that hypothesis makes."""

RULE_SECONDS = 60.0
"""How long one rule may take; a backend that takes longer hangs."""


@dataclass(slots=True)
class Trial:
    """One backend, before the rules."""

    fill: Fill | None = None
    """Fills a store and opens it; None where that cannot be."""
    open: Open | None = None
    """Opens a store that is there; None where the kit's own graph is to be read."""
    keeps: frozenset[Kind] = EVERYTHING
    """The kinds of values that the store keeps."""
    queries: Callable[[GraphDbInterface], Sequence[str] | None] | None = None
    """The query texts that a backend has sent so far, without parameters, oldest first."""
    round_trips: Callable[[GraphDbInterface], int | None] | None = None
    """How many questions a backend has sent to its store so far."""
    gone: Callable[[GraphDbInterface], AbstractAsyncContextManager[None] | None] | None = None
    """A context in which the backend's store cannot be reached, and after which it can."""
    read_only: Fill | None = None
    """As `fill`, but the open backend has the right to read and no other."""
    omitting: Fill | None = None
    """As `fill`, but of a node with 200 edges the backend has to leave some out, and says so."""
    sample: Sequence[str] = ()
    """Ids to look at in reading mode; without them the kit finds some by searching."""
    words: Sequence[str] = ()
    """What to search for when ids have to be found."""
    size: int = SAMPLE
    """Nodes to look at in reading mode."""
    examples: int = EXAMPLES
    """Graphs that hypothesis makes."""
    rule_seconds: float = RULE_SECONDS
    """How long one rule may take."""
    oddities: list[str] = field(default_factory=list)
    """What is unusual about the store without being the backend's fault."""

    @asynccontextmanager
    async def filled(self, records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
        """An open backend whose store holds what it keeps of these records.

        Raises:
            Untried: The store cannot be filled.
        """
        if self.fill is None:
            raise Untried("The store cannot be filled by the kit.")
        async with self.fill(kept(records, self.keeps)) as backend:
            yield backend

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[GraphDbInterface]:
        """An open backend over the store that is there, or else over the kit's village."""
        if self.open is not None:
            async with self.open() as backend:
                yield backend
            return
        from bfsql.conformance.graphs import village

        async with self.filled(village()) as backend:
            yield backend

    def kept(self, records: Sequence[GraphRecord]) -> list[GraphRecord]:
        """What the store keeps of these records."""
        return kept(records, self.keeps)

    def odd(self, sentence: str) -> None:
        """Note what is unusual about the store; the rule holds all the same."""
        if sentence not in self.oddities:
            self.oddities.append(sentence)
