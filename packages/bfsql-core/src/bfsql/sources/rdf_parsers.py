"""Statements from RDF files, by rdflib's parsers but without its store.

The parsers push statements into a sink; the sinks here hold them only until
they are taken. Turtle and TriG, whose parser wants the whole text, are fed
statement by statement from a window on the file.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml import sax

import rdflib
from pydantic_core import from_json
from rdflib.exceptions import ParserError
from rdflib.parser import InputSource
from rdflib.plugins.parsers.jsonld import to_rdf
from rdflib.plugins.parsers.ntriples import (
    W3CNTriplesParser,
    r_literal,
    r_nodeid,
    r_tail,
    r_uriref,
    r_wspace,
    unquote,
)
from rdflib.plugins.parsers.rdfxml import create_parser

from bfsql.errors import SourceError
from bfsql.models.rdf import Literal, Statement, Term
from bfsql.models.records import Refusal
from bfsql.sources.files import open_bytes
from bfsql.sources.turtle import turtle_statements

_CHUNK = 1 << 16

# It writes a traceback to stderr for every literal that is no value of its datatype.
logging.getLogger("rdflib.term").setLevel(logging.ERROR)


def statements(path: Path, format_: str) -> Iterator[Statement | Refusal]:
    """The statements of a file, in its order; of N-Triples and N-Quads bad lines are refused.

    Args:
        path: The file.
        format_: `turtle`, `ntriples`, `nquads`, `trig`, `rdfxml` or `jsonld`.

    Raises:
        SourceError: A syntax error, in the formats that cannot go on after one.
    """
    return _READERS[format_](path)


# --- N-Triples and N-Quads --------------------------------------------------


def _lines(path: Path, *, quads: bool) -> Iterator[Statement | Refusal]:
    parser = _LineParser()
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                if line and not line.startswith("#"):
                    yield parser.statement(line, quads=quads)
            except (ParserError, ValueError) as error:
                kind = "N-Quads" if quads else "N-Triples"
                reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else _short(error)
                yield Refusal(path, number, f"is no statement of {kind}: {reason}")


class _LineParser(W3CNTriplesParser):
    """The parser of one line; its terms are plain, and no blank node is remembered."""

    __slots__ = ()

    def statement(self, line: str, *, quads: bool) -> Statement:
        self.line = line
        subject = self._term(literals=False)
        self.eat(r_wspace)
        predicate = self._term(literals=False)
        self.eat(r_wspace)
        object_ = self._term(literals=True)
        self.eat(r_wspace)
        if quads and not self.peek("."):
            self._term(literals=False)
        self.eat(r_tail)
        if self.line:
            raise ParserError(f"more after the full stop: {self.line}")
        return subject, predicate, object_

    def _term(self, *, literals: bool) -> Term:
        if self.peek("<"):
            return _unquoted(self.eat(r_uriref)[1])
        if self.peek("_"):
            self.eat(r_nodeid)
            return None
        if literals:
            text, language, datatype = self.eat(r_literal).groups()
            return Literal(_unquoted(text), language, datatype)
        raise ParserError(f"an IRI or a blank node is due at {self.line}")


def _unquoted(text: str) -> str:
    return unquote(text) if "\\" in text else text


# --- RDF/XML and JSON-LD ----------------------------------------------------


class _Passing(rdflib.Graph):
    """A graph that holds statements only until they are taken."""

    def __init__(self) -> None:
        super().__init__(bind_namespaces="none")
        self._waiting: list[Statement] = []

    def add(self, triple: Any) -> _Passing:
        subject, predicate, object_ = map(_term, triple)
        self._waiting.append((subject, predicate, object_))
        return self

    def taken(self) -> list[Statement]:
        waiting, self._waiting = self._waiting, []
        return waiting


def _term(term: Any) -> Term:
    if isinstance(term, rdflib.Literal):
        return Literal(
            str(term), term.language, None if term.datatype is None else str(term.datatype)
        )
    return None if isinstance(term, rdflib.BNode) else str(term)


class _Locator(sax.xmlreader.Locator):
    """Where the parser is, and the base of relative IRIs."""

    def __init__(self, source: InputSource, parser: Any) -> None:
        self._source = source
        self._parser = parser

    def getSystemId(self) -> str | None:  # noqa: N802
        return self._source.getSystemId()

    def getLineNumber(self) -> int | None:  # noqa: N802
        line: int = self._parser.getLineNumber()
        return line


def _rdf_xml(path: Path) -> Iterator[Statement]:
    graph = _Passing()
    source = InputSource(path.absolute().as_uri())
    parser: Any = create_parser(source, graph)
    parser.getContentHandler().setDocumentLocator(_Locator(source, parser))
    try:
        with open_bytes(path) as stream:
            while chunk := stream.read(_CHUNK):
                parser.feed(chunk)
                yield from graph.taken()
        parser.close()
    except sax.SAXParseException as error:
        reason = f"is not well-formed XML: {error.getMessage()}"
        raise SourceError(path, reason, error.getLineNumber()) from error
    except (ParserError, sax.SAXException) as error:
        reason = re.sub(r"^\S*: ", "", _short(error))  # without its own account of the place
        raise SourceError(path, f"is no RDF/XML: {reason}", parser.getLineNumber()) from error
    yield from graph.taken()


def _json_ld(path: Path) -> Iterator[Statement]:
    with open_bytes(path) as stream:
        content = stream.read().removeprefix(b"\xef\xbb\xbf")
    try:
        document = local_contexts(path, from_json(content))
    except ValueError as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(path, f"is not JSON: {error}") from error
    graph = _Passing()
    try:
        to_rdf(document, graph, base=path.absolute().as_uri())
    except Exception as error:  # the parser lets through whatever goes wrong inside of it
        raise SourceError(path, f"is no JSON-LD: {_short(error)}") from error
    yield from graph.taken()


def local_contexts(path: Path, value: Any) -> Any:
    """A JSON-LD document without contexts that would be fetched; schema.org's is its vocabulary.

    Args:
        path: Its file, for the error.
        value: The document, or a part of it.

    Raises:
        SourceError: Another context is a document elsewhere.
    """
    if isinstance(value, list):
        return [local_contexts(path, item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: local_contexts(path, item) for key, item in value.items()}
    if "@context" in found:
        context = found["@context"]
        listed = context if isinstance(context, list) else [context]
        found["@context"] = [_context(path, part) for part in listed]
    return found


def _context(path: Path, context: Any) -> Any:
    remote = context if isinstance(context, str) else None
    if isinstance(context, dict) and isinstance(context.get("@import"), str):
        remote = context["@import"]
    if remote is None:
        return context
    if remote.rstrip("/") in {"https://schema.org", "http://schema.org"}:
        return {"@vocab": "http://schema.org/"}
    raise SourceError(
        path,
        f"its context {remote!r} is a document elsewhere, and nothing is fetched while reading; "
        "write the context into the file",
    )


def _short(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


_READERS: dict[str, Callable[[Path], Iterator[Statement | Refusal]]] = {
    "turtle": turtle_statements,
    "trig": lambda path: turtle_statements(path, graphs=True),
    "ntriples": lambda path: _lines(path, quads=False),
    "nquads": lambda path: _lines(path, quads=True),
    "rdfxml": _rdf_xml,
    "jsonld": _json_ld,
}
