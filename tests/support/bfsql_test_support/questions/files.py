"""A graph and questions of your own, from files."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bfsql.models import GraphRecord, Refusal
from bfsql.sources import read_all
from bfsql_test_support.questions.kinds.kind import Form
from bfsql_test_support.questions.scores import f1, rows_of

RDF = frozenset({".ttl", ".nt", ".nq", ".trig", ".rdf", ".owl"})
FORMS = {bool: Form.YES_OR_NO, int: Form.NUMBER, float: Form.NUMBER, str: Form.TEXT}


@dataclass(frozen=True)
class FileKind:
    """The form of an answer."""

    form: Form
    name: str = "of a file"
    hint: str = ""


@dataclass(frozen=True)
class FileQuestion:
    """A question of a file."""

    text: str
    answer: Any

    @property
    def kind(self) -> FileKind:
        """What the form of the right answer says."""
        if isinstance(self.answer, dict):
            return FileKind(Form.TABLE)
        return FileKind(FORMS.get(type(self.answer), Form.NAMES))

    def is_right(self, answer: Any) -> bool:
        """Whether the sets of values are equal."""
        return rows_of(answer) == rows_of(self.answer)

    def f1(self, answer: Any) -> float:
        """F1 of the sets of values."""
        return f1(rows_of(answer), rows_of(self.answer))


def questions_of(path: Path) -> list[FileQuestion]:
    """The questions of a file with `{"question": ..., "answer": ...}` on each line.

    Raises:
        ValueError: A line is something else; includes its number.
    """
    found = []
    for number, line in enumerate(path.read_text("utf-8-sig").splitlines(), 1):
        if not line.strip():
            continue
        try:
            given = json.loads(line)
            found.append(FileQuestion(str(given["question"]), given["answer"]))
        except (ValueError, LookupError, TypeError) as error:
            raise ValueError(
                f'{path}:{number}: a line is {{"question": "...", "answer": ...}}; the answer is a '
                "value, or a list of values"
            ) from error
    return found


@dataclass(frozen=True)
class GraphFile:
    """A graph in a file of a format of `bfsql load`, or made by it."""

    path: Path
    description = "The graph of a file."

    @classmethod
    def of(cls, path: Path) -> "GraphFile":
        """The graph of a file; RDF is given to SPARQL as it is."""
        return (RdfFile if path.suffix.lower() in RDF else cls)(path.resolve(strict=True))

    @property
    def name(self) -> str:
        """The name of the file without its ending."""
        return self.path.stem

    @property
    def is_loaded(self) -> bool:
        """Whether `bfsql load` made it."""
        with self.path.open("rb") as file:
            return file.read(15) == b"SQLite format 3"

    def records(self) -> Iterator[GraphRecord]:
        """Its nodes and edges, as `bfsql load` reads them without options."""
        yield from (one for one in read_all([self.path]) if not isinstance(one, Refusal))


class RdfFile(GraphFile):
    """An RDF file."""

    @cached_property
    def _parsed(self) -> tuple[bytes, dict[str, str]]:
        import pyoxigraph

        by_suffix = "rdf" if self.path.suffix.lower() == ".owl" else self.path.suffix[1:].lower()
        format_ = pyoxigraph.RdfFormat.from_extension(by_suffix)
        base = self.path.as_uri()
        quads: Any = pyoxigraph.parse(path=self.path, format=format_, base_iri=base)
        triples = (quad.triple for quad in quads)
        written = pyoxigraph.serialize(triples, format=pyoxigraph.RdfFormat.N_TRIPLES)
        assert written is not None
        used = {p: iri for p, iri in quads.prefixes.items() if f"<{iri}".encode() in written}
        return bytes(written), used

    @property
    def prefixes(self) -> dict[str, str]:
        """The declared prefixes that it uses."""
        return self._parsed[1]

    def ntriples(self) -> bytes:
        """Its statements, without their graphs."""
        return self._parsed[0]
