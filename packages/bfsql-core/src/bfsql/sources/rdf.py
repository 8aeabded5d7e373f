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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from bfsql.models.load import SourceAccount
from bfsql.models.rdf import WELL_KNOWN, Literal, Prefixes, in_languages, value_of
from bfsql.models.rdf_names import ALIAS_PROPERTIES, NAME_PROPERTIES
from bfsql.models.records import EdgeRecord, GraphRecord, GraphStream, NodeRecord, Refusal
from bfsql.sources.fields import Unusable
from bfsql.sources.files import guarded, open_bytes
from bfsql.sources.formats import SourceOptions, check_library
from bfsql.sources.text import encoding_of, lines, open_utf8

if TYPE_CHECKING:
    from bfsql.sources.rdf_parsers import Quad

_TYPE = WELL_KNOWN["rdf"] + "type"
_NAMES = {*map(Prefixes({}).full, NAME_PROPERTIES)}
_SYNONYMS = {*map(Prefixes({}).full, ALIAS_PROPERTIES)}
_TURTLE = re.compile(rb"^\s*@?prefix\s+([^\s:]*):\s*<([^\s<>]+)>", re.IGNORECASE)
_XML = re.compile(rb"""xmlns:([^\s=]+)\s*=\s*["']([^"'&<]+)["']""")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def open_rdf(
    path: Path, format_: str, options: SourceOptions, account: SourceAccount
) -> GraphStream:
    """The records of a file in one of the RDF formats.

    Raises:
        SourceError: The library for RDF is not installed; later, a syntax
            error, with its line if the format has lines.
    """
    check_library(path, format_, "pyoxigraph", "rdf")
    from bfsql.sources.rdf_parsers import quads

    if format_ != "rdfxml":
        account.encoding = encoding_of(path, options.encoding)
    return _records(path, quads(path, format_, encoding=account.encoding), options, account)


def _records(
    path: Path, found: Iterator[Quad | Refusal], options: SourceOptions, account: SourceAccount
) -> GraphStream:
    records = _Records(options, account)
    blank = 0
    for quad in found:
        if isinstance(quad, Refusal):
            yield quad
            continue
        subject, predicate, object_, _ = quad
        if not isinstance(subject, str) or not isinstance(object_, str | Literal):
            blank += 1
            continue
        try:
            records.add(subject, predicate, object_)
        except Unusable as reason:
            yield Refusal(path, None, str(reason))
        if records.ready:
            yield from records.ready
            records.ready.clear()
    records.finish_node()
    yield from records.ready
    if blank:
        noun = (
            "statement with a blank node was" if blank == 1 else "statements with blank nodes were"
        )
        account.note(f"{blank:,} {noun} left out")


@dataclass(slots=True)
class _Node:
    """A node whose record is not complete yet."""

    id: str
    entity_type: str
    metadata: dict[str, Any]


class _Records:
    """Turns statements without blank nodes into records.

    Consecutive statements that give a node its type and values become one record, if merging a
    record of each has the same result. A load of Turtle then takes a sixth less time.

    Attributes:
        ready: Records that are complete.
    """

    def __init__(self, options: SourceOptions, account: SourceAccount) -> None:
        self.ready: list[GraphRecord] = []
        prefixes = options.prefixes
        self._short = _bracketed if prefixes is None else Prefixes(prefixes).short
        self._languages = options.languages
        self._default_type = options.default_type
        self._account = account
        self._seen: set[str] = set()
        self._node: _Node | None = None

    def add(self, subject: str, predicate: str, object_: str | Literal) -> None:
        """Add a statement.

        Raises:
            Unusable: An IRI in it is empty.
        """
        if not (subject and predicate and object_):
            missing = "object" if subject and predicate else "predicate" if subject else "subject"
            raise Unusable(f"{missing} is missing")
        id_ = self._short(subject)
        if isinstance(object_, Literal):
            if in_languages(object_, self._languages):
                key, value = self._field(predicate, object_)
                self._describe(id_, self._default_type, key, value)
        elif predicate == _TYPE:
            self._describe(id_, self._short(object_))
        else:
            relation, other = self._short(predicate), self._short(object_)
            for end in (id_, other):
                if end not in self._seen:
                    self.ready.append(NodeRecord(end, self._default_type))
                    self._remember(end)
            self.ready.append(EdgeRecord(id_, relation, other))

    def _field(self, predicate: str, literal: Literal) -> tuple[str, Any]:
        """The key and the value of metadata."""
        value = value_of(literal)
        if predicate in _NAMES:
            return "name", str(value)
        if predicate in _SYNONYMS:
            return "synonyms", [str(value)]
        return self._short(predicate), value

    def _describe(self, id_: str, entity_type: str, key: str = "", value: Any = None) -> None:
        """Add a type or a value to the present node, or to the next one."""
        # Merging omits a name that is the id if there is another record, and sorts lists.
        alone = (key == "name" and value == id_) or (isinstance(value, list) and len(value) > 1)
        node = self._node
        if (
            node is None
            or alone
            or node.id != id_
            or (entity_type and node.entity_type and entity_type != node.entity_type)
            or key in node.metadata
        ):
            self.finish_node()
            self._node = node = _Node(id_, entity_type, {})
            self._remember(id_)
        else:
            node.entity_type = node.entity_type or entity_type
            self._account.nodes += 1
            self._account.joined_nodes += 1
        if key:
            node.metadata[key] = value
        if alone:
            self.finish_node()

    def finish_node(self) -> None:
        """Complete the record of the present node, if there is one."""
        node, self._node = self._node, None
        if node is not None:
            metadata = dict(sorted(node.metadata.items()))  # as merging orders it
            self.ready.append(NodeRecord(node.id, node.entity_type, metadata))

    def _remember(self, id_: str) -> None:
        # Forgotten nodes are merely emitted again: records of one id are merged.
        if len(self._seen) >= 1 << 16:
            self._seen.clear()
        self._seen.add(id_)


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
