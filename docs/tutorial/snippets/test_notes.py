"""The conformance kit over a folder of notes, in reading mode."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bfsql.abc import GraphDbInterface
from bfsql_notes import NotesBackend
from bfsql_notes.queries import read
from bfsql_testing import BackendSuite

GARDEN = Path(__file__).parent / "garden"


class TestNotes(BackendSuite):
    words = ("tea", "water")

    @asynccontextmanager
    async def backend(self) -> AsyncIterator[GraphDbInterface]:
        yield NotesBackend(read(GARDEN))
