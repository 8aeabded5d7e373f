"""Turtle and TriG as streams, by rdflib's parser and a window on the text.

The parser takes a text and a position, and reads the statement that stands
there. The window is a run of whole lines; when a statement does not end in it,
what it gave is forgotten and the window grows. So memory holds a few statements,
not the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import rdflib
from rdflib.plugins.parsers.notation3 import BadSyntax, RDFSink, SinkParser, sfloat
from rdflib.plugins.parsers.trig import TrigSinkParser

from bfsql.errors import SourceError
from bfsql.models.rdf import Literal, Statement, Term
from bfsql.sources.files import open_text

_WINDOW = 1 << 16
_LONGEST_STATEMENT = 1 << 26
_BLANK = rdflib.BNode()
_WORD = re.compile(r"\S")
_XSD = str(rdflib.XSD)


def turtle_statements(path: Path, *, graphs: bool = False) -> Iterator[Statement]:
    """The statements of a Turtle file, or of a TriG file with its graphs made one.

    Args:
        path: The file.
        graphs: Whether it is TriG.

    Raises:
        SourceError: A syntax error, with its line; or a statement of more than
            64 million characters.
    """
    sink = _Sink()
    parser = (_TrigParser if graphs else _TurtleParser)(sink, path.absolute().as_uri())
    with open_text(path) as stream:
        text, last = _more(stream, _WINDOW)
        at, lines = 0, 1
        while True:
            after, fault = _next(parser, text, at)
            if after >= 0:
                yield from sink.taken()
                at = after
                if at < len(text):
                    continue
            sink.taken()
            if fault is not None and (last or len(text) - at > _LONGEST_STATEMENT):
                line = lines + text.count("\n", 0, _after_space(text, fault.at))
                raise SourceError(path, f"bad syntax: {fault.reason}", line) from fault.cause
            lines += text.count("\n", 0, at)
            if last:
                break
            more, last = _more(stream, max(_WINDOW, len(text) - at))
            text, at = text[at:] + more, 0
    if parser.inside:
        raise SourceError(path, "bad syntax: a graph is not closed by '}'", lines)


def _after_space(text: str, at: int) -> int:
    """Where the word stands that the parser stopped before."""
    found = _WORD.search(text, at)
    return found.start() if found else at


@dataclass(frozen=True, slots=True)
class _Fault:
    """What is wrong with a statement, and where in the window."""

    at: int
    reason: str
    cause: Exception | None = None


def _more(stream: TextIOWrapper, size: int) -> tuple[str, bool]:
    """At least so many characters, up to the end of a line; and whether they are the last."""
    text = stream.read(size)
    return text + stream.readline(), len(text) < size


def _next(parser: _TurtleParser, text: str, at: int) -> tuple[int, _Fault | None]:
    """Where the statement at a position ends, or -1 and what is wrong with it."""
    start = at
    try:
        start = parser.skipSpace(text, at)
        after = len(text) if start < 0 else parser.directiveOrStatement(text, start)
    except BadSyntax as error:
        return -1, _Fault(error._i, error._why, error)  # noqa: SLF001 - its text shows the window
    except Exception as error:  # noqa: BLE001 - a statement cut off runs into errors of any kind
        return -1, _Fault(start, str(error) or type(error).__name__, error)
    return after, _Fault(start, "the statement does not end") if after < 0 else None


class _Sink(RDFSink):
    """Holds the statements of the parser until they are taken."""

    def __init__(self) -> None:
        super().__init__(rdflib.Graph(bind_namespaces="none"))
        self._waiting: list[Statement] = []

    def newSymbol(self, *args: str) -> Any:  # noqa: N802 - the parser's name for it
        return str(args[0])

    def newBlankNode(self, *_: Any, **__: Any) -> rdflib.BNode:  # noqa: N802
        return _BLANK

    def newLiteral(self, s: str, dt: Any, lang: str | None) -> Any:  # noqa: N802
        return Literal(s, None if dt else lang, str(dt) if dt else None)

    def makeStatement(self, quadruple: Any, why: Any = None) -> None:  # noqa: ARG002, N802
        _, predicate, subject, object_ = quadruple
        self._waiting.append((_term(subject), _term(predicate), _term(object_)))

    def taken(self) -> list[Statement]:
        waiting, self._waiting = self._waiting, []
        return waiting


class _TurtleParser(SinkParser):
    """The parser, without its memory of blank nodes."""

    inside = False
    """Whether a graph of TriG is open."""

    def __init__(self, sink: RDFSink, base: str) -> None:
        super().__init__(sink, baseURI=base, turtle=True)

    def anonymousNode(self, ln: str) -> rdflib.BNode:  # noqa: ARG002, N802
        return _BLANK


class _TrigParser(_TurtleParser, TrigSinkParser):
    """The same with named graphs, whose braces are statements that say nothing."""

    def directiveOrStatement(self, argstr: str, h: int) -> int:  # noqa: N802
        i = self.skipSpace(argstr, h)
        if i < 0:
            return i
        if self.inside and argstr[i] == "}":
            self.inside = False
            return i + 1
        opened = -1 if self.inside else self._opening(argstr, i)
        if opened >= 0:
            self.inside = True
            return opened
        return SinkParser.directiveOrStatement(self, argstr, i)

    def _opening(self, argstr: str, i: int) -> int:
        """Where a graph's content begins, or -1 when no graph does."""
        after = self.sparqlTok("GRAPH", argstr, i)
        label = self.labelOrSubject(argstr, i if after < 0 else after, [])
        brace = self.skipSpace(argstr, max(i, after, label))
        return brace + 1 if brace >= 0 and argstr[brace] == "{" else -1


_NUMBERS = ((int, "integer"), (Decimal, "decimal"), (sfloat, "double"))


def _term(term: Any) -> Term:
    if isinstance(term, rdflib.BNode):
        return None
    if isinstance(term, bool):
        return Literal(str(term).lower(), None, f"{_XSD}boolean")
    for kind, name in _NUMBERS:
        if isinstance(term, kind):
            return Literal(str(term), None, f"{_XSD}{name}")
    if isinstance(term, tuple):  # the parser's own words, as `a` for rdf:type
        return str(term[1])
    return term if isinstance(term, Literal) else str(term)
