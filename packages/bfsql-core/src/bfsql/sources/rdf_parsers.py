"""Statements of RDF files, from pyoxigraph's parsers.

Files are read as streams, so memory does not grow with them; JSON-LD is read whole. The parsers
are lenient: they accept IRIs and language tags that the grammar does not, and leave the text of
literals unchanged. N-Triples and N-Quads are parsed in blocks of lines, and line by line where a
block has a fault or exceeds a limit, so that a bad line does not affect the others.

Nothing is fetched while reading: contexts of JSON-LD have to be in the file, and external
entities of XML are refused. A parser that deeply nested terms would end sees no Turtle or TriG
before `rdf_guard` has, no line with such terms in N-Triples either, and of RDF/XML only what expat
has read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import pyoxigraph
from pydantic_core import from_json, to_json
from pyoxigraph import DefaultGraph, NamedNode, RdfFormat, parse

from bfsql.errors import SourceError
from bfsql.models.rdf import Literal
from bfsql.models.rdf_statements import REIFIES
from bfsql.models.records import Refusal
from bfsql.sources.files import PACKED
from bfsql.sources.json_ld_guard import check_json_ld, with_local_contexts
from bfsql.sources.rdf_blank_nodes import BlankNode, Quoted
from bfsql.sources.rdf_guard import LONG_IRI, TurtleGuard, open_guarded
from bfsql.sources.text import encoding_of, lines, not_text, open_utf8, rest_of_line, whole_text
from bfsql.sources.xml_reader import DEEPEST, LONGEST_IRI, LONGEST_LITERAL, PlainXml

FORMATS = {
    "turtle": RdfFormat.TURTLE,
    "ntriples": RdfFormat.N_TRIPLES,
    "nquads": RdfFormat.N_QUADS,
    "trig": RdfFormat.TRIG,
    "rdfxml": RdfFormat.RDF_XML,
    "jsonld": RdfFormat.JSON_LD,
}
"""pyoxigraph's formats, by their names here."""

TOO_LONG = "has a literal longer than 16 MB, which Oxigraph does not read; split it"
"""The reason if a parser raises MemoryError, which is its limit on a term."""

_QUOTED = (
    "a statement is the object of another, and only quoted there; write _:r rdf:reifies "
    "<<( s p o )>>, and _:r in its place"
)
_OLDER = (
    "a statement is an end of another, which RDF 1.2 writes as _:r rdf:reifies <<( s p o )>> (in "
    "N-Triples with the whole IRI of rdf:reifies), with _:r in its place"
)
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
PLACE = re.compile(r"Parser error (?:at|between) line .*?: ")
"""The position at the start of the parser's messages."""
_ESCAPES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
"""Escaped backslashes, pairs of surrogates and, as its group, lone surrogates."""
_TAG_FAULTS = ("A language code", "Unexpected character", "A double exponent")
"""Faults after which Turtle is read on with the next statement: those of the language tags `@1`,
`@en_US` and `@1en`. After a fault within a literal or an IRI, the parser would find other terms in
what follows than the guard did."""


Quad: TypeAlias = tuple[
    str | BlankNode, str, str | Literal | BlankNode | Quoted, str | BlankNode | None
]
"""Subject, predicate, object and graph; the graph is None outside of named graphs. A statement is
an object only of `rdf:reifies`."""


def quads(
    path: Path,
    format_: str,
    *,
    encoding: str | None = None,
    base: str = "",
    context: Path | None = None,
) -> Iterator[Quad | Refusal]:
    """The statements of a file, in its order; bad lines of N-Triples and N-Quads are refusals.

    Args:
        path: The file.
        format_: `turtle`, `ntriples`, `nquads`, `trig`, `rdfxml` or `jsonld`.
        encoding: Encoding of the text, UTF-8 by default; RDF/XML declares its own.
        base: What relative IRIs are resolved against; by default `base_of` the path.
        context: File with the context of JSON-LD that names one elsewhere.

    Raises:
        SourceError: A syntax error, in formats that cannot continue after one, with its line if
            the format has lines; or the file is not in the encoding.
    """
    base = base or base_of(path)
    if format_ == "rdfxml":
        return _rdf_xml(path, base)
    encoding = encoding_of(path, encoding)
    if format_ == "jsonld":
        return _json_ld(path, base, encoding, context)
    if format_ in {"turtle", "trig"}:
        return _turtle(path, format_, encoding, base)
    return _lines(path, format_, encoding)


def base_of(path: Path) -> str:
    """What relative IRIs of a file are resolved against: its name, without its folder."""
    name = path.stem if path.suffix.lower() in PACKED else path.name
    return f"file:///{quote(name)}"


# --- terms --------------------------------------------------------------------


def _plain(path: Path, quads: Iterable[pyoxigraph.Quad]) -> Iterator[Any]:
    """Statements of the parser, as plain ones."""
    for subject, predicate, object_, graph in quads:
        if type(object_) is pyoxigraph.Triple and predicate.value != REIFIES:
            yield Refusal(path, None, _QUOTED)
            continue
        yield (
            subject.value if type(subject) is NamedNode else BlankNode(subject.value),
            predicate.value,
            object_.value if type(object_) is NamedNode else _object(object_),
            None if type(graph) is DefaultGraph else _object(graph),
        )


def _object(term: Any) -> Any:
    if type(term) is NamedNode:
        return str(term.value)
    if type(term) is pyoxigraph.BlankNode:
        return BlankNode(term.value)
    if type(term) is pyoxigraph.Triple:
        edge = tuple(getattr(end, "value", "") for end in term)
        return edge if all(type(end) is NamedNode for end in term) else (None, None, None)
    if term.language:
        return Literal(term.value, term.language)
    datatype = term.datatype.value
    return Literal(term.value, None, None if datatype == _XSD_STRING else datatype)


# --- N-Triples and N-Quads ----------------------------------------------------


def _lines(path: Path, format_: str, encoding: str) -> Iterator[Quad | Refusal]:
    kind = "N-Quads" if format_ == "nquads" else "N-Triples"
    with open_utf8(path, encoding) as stream:
        number = 0
        while block := stream.read(LONGEST_IRI // 2):
            block += b"" if block.endswith(b"\n") else rest_of_line(stream)
            # Each line of most blocks is a statement. A strict parser reads no term across lines.
            found: list[pyoxigraph.Quad] = []
            if len(block) <= LONGEST_IRI and block.count(b"<<") <= DEEPEST:
                with suppress(SyntaxError):
                    found = list(parse(block, FORMATS[format_]))
            if len(found) == block.count(b"\n") + (not block.endswith(b"\n")):
                yield from _plain(path, found)
                number += len(found)
                continue
            for raw in lines(BytesIO(block)):
                number += 1
                statements = _line(path, format_, raw, encoding)
                if isinstance(statements, str):
                    yield Refusal(path, number, f"is not a statement in {kind}: {statements}")
                else:
                    yield from _plain(path, statements)


def _line(path: Path, format_: str, raw: bytes, encoding: str) -> list[pyoxigraph.Quad] | str:
    """The statements of a line, which are one or none; or the reason why it is refused."""
    if len(raw) > LONGEST_LITERAL:
        return TOO_LONG
    try:
        raw.decode()
        return [quad for part in raw.splitlines() for quad in _statements(path, format_, part)]
    except SourceError as error:
        return error.reason
    except UnicodeDecodeError:
        return f"it {not_text(raw, encoding)}"
    except SyntaxError as error:
        reason = _reason(error)
        quoted = b"<<" in raw and re.match("The (subject|object) of a triple must be", reason)
        return _OLDER if quoted else reason


def _statements(path: Path, format_: str, line: bytes) -> list[pyoxigraph.Quad]:
    if b"<<" in line:
        TurtleGuard(path).feed(line + b"\n")
    head, quote, literal = line.partition(b'"')
    if b"\\u" in literal:
        literal = _ESCAPES.sub(lambda found: b"\\uFFFD" if found[1] else found[0], literal)
    found = list(parse(head + quote + literal, FORMATS[format_], lenient=True))
    if len(line) > LONGEST_IRI:
        terms = (term for quad in found for term in quad if type(term) is NamedNode)
        if any(len(term.value) > LONGEST_IRI for term in terms):
            raise SourceError(path, LONG_IRI)
    return found


def _reason(error: SyntaxError) -> str:
    reason = " ".join(PLACE.sub("", str(error.msg), count=1).split())[:200]
    if reason.startswith("<<( is not a valid subject"):
        return _OLDER
    if reason.startswith("Unexpected end"):
        return "the file ends in a statement or a graph that is not closed"
    return reason.replace("UTF-16 surrogate escape sequence", "the lone surrogate")


# --- Turtle and TriG ----------------------------------------------------------


def _turtle(path: Path, format_: str, encoding: str, base: str) -> Iterator[Quad | Refusal]:
    with open_guarded(path, encoding) as stream:
        parser = parse(stream, FORMATS[format_], base_iri=base, lenient=True)
        found: Any = _plain(path, parser)
        while found is not None:
            try:
                yield from found
                found = None
            except SyntaxError as error:
                reason = _reason(error)
                if not reason.startswith(_TAG_FAULTS):
                    raise SourceError(path, f"bad syntax: {reason}", error.lineno) from error
                reason = f"bad syntax: {reason}; the rest of the statement is left out"
                yield Refusal(path, error.lineno, reason)
                found = _plain(path, parser)
            except MemoryError as error:
                raise SourceError(path, TOO_LONG) from error


# --- RDF/XML and JSON-LD ------------------------------------------------------


def _rdf_xml(path: Path, base: str) -> Iterator[Quad | Refusal]:
    with closing(PlainXml(path)) as text:
        try:
            yield from _plain(path, _parsed_xml(text, base))
        except SyntaxError as error:
            reason = f"is not RDF/XML: {_reason(error)}"
            raise SourceError(path, reason, _faulty_line(path, base)) from error


def _parsed_xml(text: PlainXml, base: str) -> pyoxigraph.QuadParser:
    source: Any = text
    return parse(source, RdfFormat.RDF_XML, base_iri=base, lenient=True)


def _faulty_line(path: Path, base: str) -> int | None:
    """The line of a syntax error, which the parser of RDF/XML does not report."""
    with closing(PlainXml(path, by_line=True)) as text, suppress(SyntaxError):
        for _ in _parsed_xml(text, base):
            pass
    return text.line


def _json_ld(
    path: Path, base: str, encoding: str, context: Path | None
) -> Iterator[Quad | Refusal]:
    content = whole_text(path, encoding)
    try:
        parsed = from_json(content)
    except ValueError as error:
        line = re.search(r"at line (\d+)", str(error))
        reason = f"is not JSON: {str(error)[:200]}"
        raise SourceError(path, reason, int(line[1]) if line else None) from error
    check_json_ld(path, parsed)
    document = to_json(with_local_contexts(path, parsed, context))
    try:
        yield from _plain(path, parse(document, RdfFormat.JSON_LD, base_iri=base, lenient=True))
    except SyntaxError as error:
        raise SourceError(path, f"is not JSON-LD: {_reason(error)}") from error
    except MemoryError as error:
        raise SourceError(path, TOO_LONG) from error
