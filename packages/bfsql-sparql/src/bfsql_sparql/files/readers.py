"""RDF files into an rdflib dataset, by rdflib's parsers: blank nodes and graphs are kept.

Nothing is fetched while reading: contexts of JSON-LD have to stand in the file,
and external entities of XML are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias
from xml import sax

import rdflib
from pydantic_core import from_json
from rdflib.exceptions import ParserError
from rdflib.parser import InputSource
from rdflib.plugins.parsers.notation3 import BadSyntax, RDFSink, SinkParser
from rdflib.plugins.parsers.ntriples import (
    W3CNTriplesParser,
    r_literal,
    r_tail,
    r_wspace,
    unquote,
    uriquote,
)
from rdflib.plugins.parsers.trig import TrigSinkParser

from bfsql.errors import SourceError
from bfsql.sources.files import faults_of, open_bytes, open_text
from bfsql.sources.rdf_parsers import local_contexts
from bfsql_sparql.files.lexical import keeping, literal
from bfsql_sparql.files.stopping import Stop, Stopped

Node: TypeAlias = rdflib.URIRef | rdflib.BNode

_CHUNK = 1 << 16
_WORD = re.compile(r"\S")
_UNCLOSED = "newline found in string literal"
"""What rdflib says where a text has no closing quote."""


def read(path: Path, format_: str, dataset: rdflib.Dataset, stop: Stop) -> None:
    """Add the statements of a file to a dataset.

    Args:
        path: The file, plain or with the ending `.gz`.
        format_: `turtle`, `ntriples`, `nquads`, `trig`, `rdfxml` or `jsonld`.
        dataset: Where they go; those without a graph into its default graph.
        stop: Looked at while reading.

    Raises:
        SourceError: The file cannot be read, or has a syntax error; with its line
            where the format has lines.
        Stopped: As asked.
    """
    with faults_of(path):
        _READERS[format_](path, dataset, stop)


# --- N-Triples and N-Quads --------------------------------------------------


def _lines(path: Path, dataset: rdflib.Dataset, stop: Stop, *, quads: bool) -> None:
    parser = _LineParser()
    graphs: dict[Node | None, rdflib.Graph] = {None: dataset.default_graph}
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, 1):
            stop.check()
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                if not line or line.startswith("#"):
                    continue
                statement, graph = parser.quad(line, quads=quads)
            except (ParserError, ValueError) as error:
                kind = "N-Quads" if quads else "N-Triples"
                reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else _short(error)
                raise SourceError(path, f"is no statement of {kind}: {reason}", number) from error
            if graph not in graphs:
                graphs[graph] = dataset.graph(graph)
            graphs[graph].add(statement)


class _LineParser(W3CNTriplesParser):
    """The parser of one line."""

    def quad(self, line: str, *, quads: bool) -> tuple[Any, Node | None]:
        """The statement of a line, and the graph that it is in, if any."""
        self.line = line
        subject = self.subject()
        self.eat(r_wspace)
        predicate = self.predicate()
        self.eat(r_wspace)
        object_ = self.object()
        self.eat(r_wspace)
        graph = (self.uriref() or self.nodeid()) if quads else None
        self.eat(r_tail)
        if self.line:
            raise ParserError(f"more after the full stop: {self.line}")
        return (subject, predicate, object_), graph or None

    def literal(self) -> Any:
        if not self.peek('"'):
            return False
        text, language, datatype = self.eat(r_literal).groups()
        kind = rdflib.URIRef(uriquote(unquote(datatype))) if datatype else None
        return literal(unquote(text), language or None, kind)


# --- Turtle and TriG --------------------------------------------------------


def _turtle(path: Path, dataset: rdflib.Dataset, stop: Stop, *, graphs: bool) -> None:
    with open_text(path) as stream:
        text = stream.read()
    kind = TrigSinkParser if graphs else SinkParser
    parser = kind(_Sink(dataset, stop), baseURI=path.absolute().as_uri(), turtle=True)
    try:
        parser.loadBuf(text)
    except BadSyntax as error:
        # Its own text shows a window only, and counts the lines of the last token.
        why, at = error._why, error._i  # noqa: SLF001
        if not why.startswith(_UNCLOSED):  # which ends where it is, others before what is wrong
            found = _WORD.search(text, at)
            at = found.start() if found else len(text)
        raise SourceError(path, f"bad syntax: {why}", text.count("\n", 0, at) + 1) from error
    except Stopped:
        raise
    except Exception as error:  # a statement cut off runs into errors of any kind
        reason = f"bad syntax: {_short(error)}"
        raise SourceError(path, reason, int(parser.lines) + 1) from error


class _Sink(RDFSink):
    """Puts statements into their graphs, the literals with their own text."""

    def __init__(self, dataset: rdflib.Dataset, stop: Stop) -> None:
        super().__init__(dataset.default_graph)
        self._stop = stop

    def newLiteral(self, s: str, dt: Any, lang: str | None) -> Any:  # noqa: N802 - its name there
        return literal(s, datatype=dt) if dt else literal(s, lang=lang)

    def makeStatement(self, quadruple: Any, why: Any = None) -> None:  # noqa: N802
        self._stop.check()
        super().makeStatement(quadruple, why)


# --- RDF/XML and JSON-LD ----------------------------------------------------


def _rdf_xml(path: Path, dataset: rdflib.Dataset, stop: Stop) -> None:
    source = InputSource(path.absolute().as_uri())
    module = keeping("rdflib.plugins.parsers.rdfxml")
    parser: Any = module.create_parser(source, dataset.default_graph)
    parser.getContentHandler().setDocumentLocator(_Place(source, parser))
    try:
        with open_bytes(path) as stream:
            while chunk := stream.read(_CHUNK):
                stop.check()
                parser.feed(chunk)
        parser.close()
    except sax.SAXParseException as error:
        reason = f"is not well-formed XML: {error.getMessage()}"
        raise SourceError(path, reason, error.getLineNumber()) from error
    except (ParserError, sax.SAXException) as error:
        reason = re.sub(r"^\S*: ", "", _short(error))  # without its own account of the place
        raise SourceError(path, f"is no RDF/XML: {reason}", parser.getLineNumber()) from error


class _Place(sax.xmlreader.Locator):
    """Where the parser is, and the base of relative IRIs."""

    def __init__(self, source: InputSource, parser: Any) -> None:
        self._source = source
        self._parser = parser

    def getSystemId(self) -> str | None:  # noqa: N802 - its name there
        return self._source.getSystemId()

    def getLineNumber(self) -> int | None:  # noqa: N802
        line: int = self._parser.getLineNumber()
        return line


def _json_ld(path: Path, dataset: rdflib.Dataset, stop: Stop) -> None:
    with open_bytes(path) as stream:
        content = stream.read().removeprefix(b"\xef\xbb\xbf")
    try:
        parsed = from_json(content)
    except ValueError as error:
        line = re.search(r"at line (\d+)", str(error))
        reason = f"is not JSON: {_short(error)}"
        raise SourceError(path, reason, int(line[1]) if line else None) from error
    document = local_contexts(path, parsed)
    stop.check()
    module = keeping("rdflib.plugins.parsers.jsonld")
    try:
        module.to_rdf(document, dataset, base=path.absolute().as_uri())
    except Stopped:
        raise
    except Exception as error:  # the parser lets through whatever goes wrong inside of it
        raise SourceError(path, f"is no JSON-LD: {_short(error)}") from error


def _short(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


_READERS: dict[str, Callable[[Path, rdflib.Dataset, Stop], None]] = {
    "turtle": lambda path, dataset, stop: _turtle(path, dataset, stop, graphs=False),
    "trig": lambda path, dataset, stop: _turtle(path, dataset, stop, graphs=True),
    "ntriples": lambda path, dataset, stop: _lines(path, dataset, stop, quads=False),
    "nquads": lambda path, dataset, stop: _lines(path, dataset, stop, quads=True),
    "rdfxml": _rdf_xml,
    "jsonld": _json_ld,
}
