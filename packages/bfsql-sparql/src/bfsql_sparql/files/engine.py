"""What answers over files: rdflib by itself, or oxigraph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bfsql_sparql.files.stopping import Stop

if TYPE_CHECKING:
    import rdflib


class Engine(Protocol):
    """A dataset in process. Its methods block, and run in threads."""

    @property
    def dataset(self) -> rdflib.Dataset:
        """The same as rdflib sees it."""

    def read(self, path: Path, format_: str, stop: Stop) -> None:
        """Add the statements of a file.

        Args:
            path: The file.
            format_: Name of its format, one of core's for RDF.
            stop: Looked at while reading.

        Raises:
            SourceError: A syntax error, with its line where the format has lines.
            Stopped: As asked.
        """

    def finish(self) -> bool:
        """All files are read: get ready for queries; whether there is any statement."""

    def answer(self, query: str, stop: Stop, most: int) -> bytes:
        """A SELECT or ASK query's answer, in the SPARQL JSON results format.

        Args:
            query: The whole text.
            stop: Looked at between solutions, and more often where the engine allows.
            most: Bytes of the answer at most.

        Raises:
            Refused: It is no such query, or the answer is larger.
            Stopped: As asked.
        """
