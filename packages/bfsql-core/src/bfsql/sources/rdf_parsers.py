"""Statements of RDF files, from rdflib's parsers but without its store.

The parsers push statements into a collector, which holds them only until they are taken, so
memory does not grow with the file. The parser of Turtle and TriG expects the whole text; it is
fed statement by statement from a window on the file: a run of whole lines. If a statement does
not end in the window, its partial result is dropped and the window grows. JSON-LD is read whole.

Nothing is fetched while reading: contexts of JSON-LD have to be in the file, and external
entities of XML are refused. The limits of `rdf_guard` are checked before the parsers run.
"""

from __future__ import annotations

import importlib.util
import logging
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache, partial
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias
from xml import sax

import rdflib
from pydantic_core import from_json
from rdflib.exceptions import ParserError
from rdflib.parser import InputSource
from rdflib.plugins.parsers.notation3 import BadSyntax, RDFSink, SinkParser, sfloat
from rdflib.plugins.parsers.ntriples import (
    W3CNTriplesParser,
    r_literal,
    r_nodeid,
    r_tail,
    r_uriref,
    r_wspace,
    unquote,
)
from rdflib.plugins.parsers.trig import TrigSinkParser

from bfsql.errors import SourceError
from bfsql.models.rdf import Literal, Term
from bfsql.models.records import Refusal
from bfsql.sources.json_ld_guard import check_json_ld, with_local_contexts
from bfsql.sources.rdf_guard import open_guarded
from bfsql.sources.text import LONGEST_LINE, encoding_of, lines, not_text, open_utf8
from bfsql.sources.xml_guard import open_xml

_WINDOW = 1 << 16
_LONGEST_STATEMENT = 1 << 26
_WORD = re.compile(r"\S")
_UNCLOSED = "newline found in string literal"
"""rdflib's message for a text without a closing quote."""
_XSD = str(rdflib.XSD)
_NUMBERS = ((int, "integer"), (Decimal, "decimal"), (sfloat, "double"))

Quad: TypeAlias = tuple[Term, Term, Term, Term]
"""Subject, predicate, object and graph; the graph is None outside of named graphs.

A blank node is None, or in `exact` reading an `rdflib.BNode`.
"""

exact_literal = partial(rdflib.Literal, normalize=False)
"""Creates rdflib literals whose text is unchanged: `0042` does not become `42`."""

# rdflib writes a traceback to stderr for every literal that is invalid for its datatype.
logging.getLogger("rdflib.term").setLevel(logging.ERROR)


def quads(
    path: Path, format_: str, *, exact: bool = False, encoding: str | None = None
) -> Iterator[Quad | Refusal]:
    """The statements of a file, in its order; bad lines of N-Triples and N-Quads are refusals.

    Args:
        path: The file.
        format_: `turtle`, `ntriples`, `nquads`, `trig`, `rdfxml` or `jsonld`.
        exact: Whether blank nodes and graphs are distinguished, and literals of RDF/XML and
            JSON-LD retain their text. Memory then grows with the number of labelled blank nodes.
        encoding: Encoding of the text, UTF-8 by default; RDF/XML declares its own.

    Raises:
        SourceError: A syntax error, in formats that cannot continue after one, with its line if
            the format has lines; or the file is not in the encoding.
    """
    if format_ == "rdfxml":
        return _rdf_xml(path, exact=exact)
    return _READERS[format_](path, encoding_of(path, encoding), exact=exact)


class _Collector(rdflib.Graph):
    """A graph that holds statements only until they are taken; its named graphs share the list."""

    def __init__(
        self, *, exact: bool, name: Term = None, waiting: list[Quad] | None = None
    ) -> None:
        super().__init__(bind_namespaces="none")
        self.context_aware = True  # so that the parser of JSON-LD requests named graphs
        self.default_context = self
        self.name = name
        self._exact = exact
        self._waiting: list[Quad] = [] if waiting is None else waiting

    def get_context(self, identifier: Any) -> _Collector:
        """The collector of a named graph; the parser of JSON-LD calls it."""
        name = self.term(identifier)
        return _Collector(exact=self._exact, name=name, waiting=self._waiting)

    def add(self, triple: Any) -> _Collector:
        subject, predicate, object_ = map(self.term, triple)
        self._waiting.append((subject, predicate, object_, self.name))
        return self

    def take(self) -> list[Quad]:
        waiting, self._waiting[:] = self._waiting[:], []
        return waiting

    def term(self, term: Any) -> Term:
        """A term from one of the parsers, as a plain term."""
        if type(term) is str or isinstance(term, Literal):
            return term
        if isinstance(term, rdflib.BNode):
            return term if self._exact else None
        if isinstance(term, rdflib.Literal):
            datatype = None if term.datatype is None else str(term.datatype)
            return Literal(str(term), term.language, datatype)
        if isinstance(term, bool):
            return Literal(str(term).lower(), None, f"{_XSD}boolean")
        for kind, name in _NUMBERS:
            if isinstance(term, kind):
                return Literal(str(term), None, f"{_XSD}{name}")
        return str(term[1]) if isinstance(term, tuple) else str(term)  # `a`, for rdf:type


def _short(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


# --- N-Triples and N-Quads --------------------------------------------------


def _lines(
    path: Path, encoding: str, *, exact: bool, named_graphs: bool = False
) -> Iterator[Quad | Refusal]:
    parser = _LineParser(exact=exact)
    with open_guarded(path, "nquads" if named_graphs else "ntriples", encoding) as stream:
        for number, raw in enumerate(lines(stream), 1):
            try:
                line = raw.decode().strip()
                if line and not line.startswith("#"):
                    yield parser.quad(line, named_graphs=named_graphs)
            except (ParserError, ValueError) as error:
                kind = "N-Quads" if named_graphs else "N-Triples"
                reason = _short(error)
                if isinstance(error, UnicodeDecodeError):
                    reason = f"it {not_text(raw, encoding)}"
                elif len(raw) > LONGEST_LINE:
                    reason = f"it is longer than {LONGEST_LINE >> 20} MB"
                yield Refusal(path, number, f"is not a statement in {kind}: {reason}")


class _LineParser(W3CNTriplesParser):
    """The parser of one line; its terms are plain."""

    __slots__ = ("_exact",)

    def __init__(self, *, exact: bool) -> None:
        super().__init__()
        self._exact = exact

    def quad(self, line: str, *, named_graphs: bool) -> Quad:
        self.line = line
        subject = self._node()
        self.eat(r_wspace)
        predicate = self._node(blank=not self._exact)
        self.eat(r_wspace)
        object_ = self._literal() if self.peek('"') else self._node()
        self.eat(r_wspace)
        graph = self._node() if named_graphs and not self.peek(".") else None
        self.eat(r_tail)
        if self.line:
            raise ParserError(f"more after the full stop: {self.line}")
        return subject, predicate, object_, graph

    def _node(self, *, blank: bool = True) -> Term:
        if self.peek("<"):
            iri = _unescaped(self.eat(r_uriref)[1])
            if iri or not self._exact:
                return iri
        elif blank and self.peek("_"):
            if self._exact:
                return self.nodeid() or None
            self.eat(r_nodeid)
            return None
        raise ParserError(f"expected an IRI or a blank node at {self.line}")

    def _literal(self) -> Literal:
        text, language, datatype = self.eat(r_literal).groups()
        return Literal(_unescaped(text), language, datatype and _unescaped(datatype))


def _unescaped(text: str) -> str:
    return unquote(text) if "\\" in text else text


# --- Turtle and TriG --------------------------------------------------------


def _turtle(
    path: Path, encoding: str, *, exact: bool, named_graphs: bool = False
) -> Iterator[Quad]:
    collector = _Collector(exact=exact)
    kind = _TrigParser if named_graphs else _TurtleParser
    parser = kind(collector, path.absolute().as_uri(), exact=exact)
    format_ = "trig" if named_graphs else "turtle"
    with TextIOWrapper(open_guarded(path, format_, encoding), "utf-8", newline="") as stream:
        text, last = _more(stream, _WINDOW)
        at, line_number = 0, 1
        while True:
            after, fault = _next(parser, text, at)
            if after >= 0:
                yield from collector.take()
                at = after
                if at < len(text):
                    continue
            collector.take()
            if fault is not None and (last or len(text) - at > _LONGEST_STATEMENT):
                line = line_number + text.count("\n", 0, fault.at)
                raise SourceError(path, f"bad syntax: {fault.reason}", line) from fault.cause
            line_number += text.count("\n", 0, at)
            if last:
                break
            more, last = _more(stream, max(_WINDOW, len(text) - at))
            text, at = text[at:] + more, 0
    if parser.inside:
        raise SourceError(path, "bad syntax: a graph is not closed by '}'", line_number)


class _Fault(NamedTuple):
    """The fault of a statement, and its position in the window."""

    at: int
    reason: str
    cause: Exception | None = None


def _more(stream: TextIOWrapper, size: int) -> tuple[str, bool]:
    """At least `size` characters, up to the end of a line; and whether they are the last."""
    text = stream.read(size)
    return text + stream.readline(LONGEST_LINE), len(text) < size


def _next(parser: _TurtleParser, text: str, at: int) -> tuple[int, _Fault | None]:
    """The end of the statement at a position, or -1 and its fault."""
    start = at
    try:
        start = parser.skipSpace(text, at)
        after = len(text) if start < 0 else parser.directiveOrStatement(text, start)
    except BadSyntax as error:  # its own message quotes the window
        place, reason = error._i, error._why  # noqa: SLF001
        if not reason.startswith(_UNCLOSED):  # raised at its place, others before the faulty word
            place = _word_after(text, place)
        return -1, _Fault(place, reason, error)
    except Exception as error:  # noqa: BLE001 - a statement cut off runs into errors of any kind
        return -1, _Fault(_word_after(text, start), str(error) or type(error).__name__, error)
    if after >= 0:
        return after, None
    return after, _Fault(_word_after(text, start), "the statement does not end")


def _word_after(text: str, at: int) -> int:
    found = _WORD.search(text, at)
    return found.start() if found else at


class _Sink(RDFSink):
    """Passes the parser's statements to a collector, with plain terms."""

    def __init__(self, collector: _Collector, *, exact: bool) -> None:
        super().__init__(collector)
        self._any_blank = None if exact else rdflib.BNode()

    # The names are those of the parser's interface.

    def newSymbol(self, *args: str) -> Any:  # noqa: N802
        return str(args[0])

    def newBlankNode(self, *_: Any, **__: Any) -> rdflib.BNode:  # noqa: N802
        return self._any_blank or rdflib.BNode()

    def newLiteral(self, s: str, dt: Any, lang: str | None) -> Any:  # noqa: N802
        return Literal(s, None if dt else lang, str(dt) if dt else None)

    def makeStatement(self, quadruple: Any, why: Any = None) -> None:  # noqa: ARG002, N802
        _, predicate, subject, object_ = quadruple
        self.graph.add((subject, predicate, object_))


class _TurtleParser(SinkParser):
    """The Turtle parser; unless it is exact, labels of blank nodes are not remembered."""

    inside = False
    """Whether a TriG graph is open."""

    def __init__(self, collector: _Collector, base: str, *, exact: bool) -> None:
        super().__init__(_Sink(collector, exact=exact), baseURI=base, turtle=True)
        self._collector = collector
        self._exact = exact

    def anonymousNode(self, ln: str) -> rdflib.BNode:  # noqa: N802
        return super().anonymousNode(ln) if self._exact else self.blankNode()


class _TrigParser(_TurtleParser, TrigSinkParser):
    """The Turtle parser with named graphs; their braces are parsed as empty statements."""

    def directiveOrStatement(self, argstr: str, h: int) -> int:  # noqa: N802
        i = self.skipSpace(argstr, h)
        if i < 0:
            return i
        if self.inside and argstr[i] == "}":
            self.inside, self._collector.name = False, None
            return i + 1
        opened = -1 if self.inside else self._opened(argstr, i)
        return opened if opened >= 0 else SinkParser.directiveOrStatement(self, argstr, i)

    def _opened(self, argstr: str, i: int) -> int:
        """The start of the content of the graph that begins here; -1 if none begins."""
        after = self.sparqlTok("GRAPH", argstr, i)
        names: list[Any] = []
        label = self.labelOrSubject(argstr, i if after < 0 else after, names)
        brace = self.skipSpace(argstr, max(i, after, label))
        if brace >= 0 and argstr[brace] == "=":  # older TriG
            brace = self.skipSpace(argstr, brace + 1)
        if brace < 0 or argstr[brace] != "{":
            return -1
        self.inside = True
        self._collector.name = self._collector.term(names[0]) if names else None
        return brace + 1


# --- RDF/XML and JSON-LD ----------------------------------------------------


@cache
def _parser_module(name: str, *, exact: bool) -> ModuleType:
    """One of rdflib's modules that create literals internally.

    rdflib normalises each literal on creation, and the only switch against it applies to the whole
    process. For exact literals the module is therefore loaded a second time, with a factory for
    literals that retain their text; the module never tests whether an object is a `Literal`.
    """
    full = f"rdflib.plugins.parsers.{name}"
    if not exact:
        return importlib.import_module(full)
    spec = importlib.util.find_spec(full)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"this rdflib has no module {full}", name=full)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.Literal = exact_literal  # type: ignore[attr-defined]
    return module


class _JoinedText:
    """A handler that receives the text between two tags as one piece.

    rdflib's handler appends each piece to a string, which takes hours for a few megabytes in
    small pieces; every `&amp;` is a piece.
    """

    def __init__(self, handler: Any) -> None:
        self._handler = handler
        self._pieces: list[str] = []
        self.characters = self._pieces.append

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handler, name)

    def startElementNS(self, *arguments: Any) -> None:  # noqa: N802
        self._pass_on()
        self._handler.startElementNS(*arguments)

    def endElementNS(self, *arguments: Any) -> None:  # noqa: N802
        self._pass_on()
        self._handler.endElementNS(*arguments)

    def _pass_on(self) -> None:
        if self._pieces:
            self._handler.characters("".join(self._pieces))
            self._pieces.clear()


class _Locator(sax.xmlreader.Locator):
    """The position of the parser, and the base of relative IRIs."""

    def __init__(self, source: InputSource, parser: Any) -> None:
        self._source = source
        self._parser = parser

    def getSystemId(self) -> str | None:  # noqa: N802
        return self._source.getSystemId()

    def getLineNumber(self) -> int | None:  # noqa: N802
        line: int = self._parser.getLineNumber()
        return line


def _rdf_xml(path: Path, *, exact: bool) -> Iterator[Quad]:
    collector = _Collector(exact=exact)
    source = InputSource(path.absolute().as_uri())
    parser: Any = _parser_module("rdfxml", exact=exact).create_parser(source, collector)
    handler = parser.getContentHandler()
    handler.setDocumentLocator(_Locator(source, parser))
    parser.setContentHandler(_JoinedText(handler))
    try:
        with open_xml(path) as stream:
            while chunk := stream.read(1 << 16):
                parser.feed(chunk)
                yield from collector.take()
        parser.close()
    except sax.SAXParseException as error:
        reason = f"is not well-formed XML: {error.getMessage()}"
        raise SourceError(path, reason, error.getLineNumber()) from error
    except (ParserError, sax.SAXException) as error:
        reason = re.sub(r"^\S*: ", "", _short(error))  # without its own description of the position
        raise SourceError(path, f"is not RDF/XML: {reason}", parser.getLineNumber()) from error
    yield from collector.take()


def _json_ld(path: Path, encoding: str, *, exact: bool) -> Iterator[Quad]:
    with open_utf8(path, encoding) as stream:
        content = stream.read()
    try:
        parsed = from_json(content)
    except ValueError as error:
        line = re.search(r"at line (\d+)", str(error))
        reason = f"is not JSON: {_short(error)}"
        raise SourceError(path, reason, int(line[1]) if line else None) from error
    check_json_ld(path, parsed)
    document = with_local_contexts(path, parsed)
    collector = _Collector(exact=exact)
    try:
        _parser_module("jsonld", exact=exact).to_rdf(
            document, collector, base=path.absolute().as_uri()
        )
    except Exception as error:  # the parser lets all internal errors through
        raise SourceError(path, f"is not JSON-LD: {_short(error)}") from error
    yield from collector.take()


_READERS: dict[str, Callable[..., Iterator[Quad | Refusal]]] = {
    "turtle": _turtle,
    "trig": partial(_turtle, named_graphs=True),
    "ntriples": _lines,
    "nquads": partial(_lines, named_graphs=True),
    "jsonld": _json_ld,
}
