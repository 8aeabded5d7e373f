"""RDF files: statements between IRIs are edges, literals are metadata.

| statement | becomes |
|---|---|
| `s rdf:type t` | the type of node `s` |
| `s p "text"` | metadata `p` of node `s`; `name` or `synonyms` if `p` means that |
| `s p o`, both IRIs | an edge, and the nodes `s` and `o` |

Subjects and objects are nodes without a type until a record assigns one (`protocol.md` 8).
Statements with blank nodes are left out, because these lead nowhere; a note of the account has
their number. N-Triples, N-Quads, Turtle, TriG and RDF/XML are read as streams, JSON-LD as a whole.
The graphs of N-Quads, TriG and JSON-LD become one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from bfsql.models.load import SourceAccount
from bfsql.models.rdf import WELL_KNOWN, Literal, Prefixes, in_languages, value_of
from bfsql.models.records import EdgeRecord, GraphRecord, GraphStream, NodeRecord, Refusal
from bfsql.sources.fields import Unusable, identifier, sound
from bfsql.sources.files import guarded, open_bytes
from bfsql.sources.formats import SourceOptions, check_library
from bfsql.sources.text import encoding_of, lines, open_utf8

if TYPE_CHECKING:
    from bfsql.sources.rdf_parsers import Quad

_TYPE = WELL_KNOWN["rdf"] + "type"
_NAMES = {
    WELL_KNOWN["rdfs"] + "label",
    WELL_KNOWN["skos"] + "prefLabel",
    WELL_KNOWN["schema"] + "name",
    "https://schema.org/name",
    WELL_KNOWN["foaf"] + "name",
}
_SYNONYMS = {
    WELL_KNOWN["skos"] + "altLabel",
    WELL_KNOWN["schema"] + "alternateName",
    "https://schema.org/alternateName",
}
_REMEMBERED = 1 << 16
_TURTLE = re.compile(rb"^\s*@?prefix\s+([^\s:]*):\s*<([^\s<>]+)>", re.IGNORECASE)
_XML = re.compile(rb"""xmlns:([^\s=]+)\s*=\s*["']([^"'&<]+)["']""")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def open_rdf(
    path: Path, format_: str, options: SourceOptions, account: SourceAccount
) -> GraphStream:
    """The records of an RDF file.

    Args:
        path: The file.
        format_: `turtle`, `ntriples`, `nquads`, `trig`, `rdfxml` or `jsonld`.
        options: `prefixes` (all prefixes that apply) and `languages`.
        account: Notes what was left out.

    Raises:
        SourceError: The library for RDF is not installed; later, a syntax
            error, with its line if the format has lines.
    """
    check_library(path, format_, "pyoxigraph", "rdf")
    from bfsql.sources.rdf_parsers import quads

    if format_ != "rdfxml":
        account.encoding = encoding_of(path, options.encoding)
    found = quads(path, format_, encoding=account.encoding)
    return _records(path, found, _Graph(options), account)


def _records(
    path: Path, found: Iterator[Quad | Refusal], graph: _Graph, account: SourceAccount
) -> GraphStream:
    blank = 0
    for quad in found:
        if isinstance(quad, Refusal):
            yield quad
            continue
        subject, predicate, object_, _ = quad
        if subject is None or object_ is None:
            blank += 1
        else:
            try:
                yield from graph.records(subject, predicate, object_)
            except Unusable as reason:
                yield Refusal(path, None, str(reason))
    if blank:
        noun = (
            "statement with a blank node was" if blank == 1 else "statements with blank nodes were"
        )
        account.notes.append(f"{blank:,} {noun} left out")


class _Graph:
    """Turns statements into records."""

    def __init__(self, options: SourceOptions) -> None:
        prefixes = options.prefixes
        self._short = _bracketed if prefixes is None else Prefixes(prefixes).short
        self._languages = options.languages
        self._default_type = options.default_type
        self._said: set[str] = set()

    def records(self, subject: object, predicate: object, object_: object) -> Iterator[GraphRecord]:
        """The records of one statement without blank nodes.

        Raises:
            Unusable: An id in it contains a lone surrogate, or there is a literal
                in place of an IRI.
        """
        id_, relation = self._id(subject, "subject"), self._id(predicate, "predicate")
        if isinstance(object_, Literal):
            if in_languages(object_, self._languages):
                yield NodeRecord(
                    id_, self._default_type, self._metadata(predicate, relation, object_)
                )
                self._remember(id_)
        elif predicate == _TYPE:
            yield NodeRecord(id_, self._id(object_, "object"))
            self._remember(id_)
        else:
            other = self._id(object_, "object")
            for end in (id_, other):
                if end not in self._said:
                    yield NodeRecord(end, self._default_type)
                    self._remember(end)
            yield EdgeRecord(id_, relation, other)

    def _id(self, term: object, what: str) -> str:
        if not isinstance(term, str):
            raise Unusable(f"the {what} of a statement is a literal, but it has to be an IRI")
        return self._short(identifier(str(term), what))

    def _metadata(self, predicate: object, relation: str, literal: Literal) -> dict[str, object]:
        value = sound(value_of(literal))
        if predicate in _NAMES:
            return {"name": str(value)}
        if predicate in _SYNONYMS:
            return {"synonyms": [str(value)]}
        return {relation: value}

    def _remember(self, id_: str) -> None:
        # Forgotten nodes are merely emitted again: records of one id are merged.
        if len(self._said) >= _REMEMBERED:
            self._said.clear()
        self._said.add(id_)


def _bracketed(iri: str) -> str:
    """The spelling of an id that means this IRI, regardless of the bound prefixes."""
    return f"<{iri}>"


def prefixes_of(path: Path, format_: str, encoding: str | None = None) -> dict[str, str]:
    """The prefixes that a file declares; of two declarations of one prefix, the first.

    An IRI must have the same id in the first statement of the first file and in the last of
    the last. The prefixes are therefore collected before any records are read, and then fixed.
    Turtle and TriG are scanned to the end, one line at a time; for RDF/XML only the
    first 64 KB, which contain the root element.

    Args:
        path: The file.
        format_: One of the RDF formats.
        encoding: Encoding of the text, UTF-8 by default; RDF/XML declares its own.

    Raises:
        SourceError: The file cannot be read, or is not in the encoding.
    """
    found: dict[str, str] = {}
    for prefix, namespace in guarded(path, _declared(path, format_, encoding)):
        if _ABSOLUTE.match(namespace):
            found.setdefault(prefix, namespace)
    return found


def _declared(path: Path, format_: str, encoding: str | None) -> Any:
    if format_ in {"turtle", "trig"}:
        with open_utf8(path, encoding_of(path, encoding)) as stream:
            for line in lines(stream):
                if found := _TURTLE.match(line):
                    yield found[1].decode(), found[2].decode()
    elif format_ == "rdfxml":
        with open_bytes(path) as stream:
            for prefix, namespace in _XML.findall(stream.read(1 << 16)):
                yield prefix.decode(), namespace.decode()
    elif format_ == "jsonld":
        with open_utf8(path, encoding_of(path, encoding)) as stream:
            yield from _in_context(stream.read())


def _in_context(content: bytes) -> Any:
    try:
        document = from_json(content)
    except ValueError:
        return  # the reader reports the fault better
    context = document.get("@context") if isinstance(document, dict) else None
    for part in context if isinstance(context, list) else [context]:
        if isinstance(part, dict):
            for term, meaning in part.items():
                if isinstance(meaning, str) and meaning.endswith(("/", "#", "_")):
                    yield term, meaning
