"""Shared parts of the GraphML and GEXF readers: XML as a stream, one element at a time.

A document type declaration is refused, since neither format needs one and
entities can make a small file huge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.records import GraphRecord, GraphStream, Refusal
from bfsql.sources.attributes import ID, OBJECT, SUBJECT, Attributes
from bfsql.sources.fields import Unusable
from bfsql.sources.options import SourceOptions
from bfsql.sources.xml_guard import open_xml, xml_faults

_INTEGERS = {"int", "integer", "long", "short", "byte", "biginteger"}
_DECIMALS = {"float", "double", "bigdecimal"}
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


@dataclass(slots=True)
class Declaration:
    """An attribute that the file declares."""

    name: str
    type: str
    of: str
    default: Any = None


@dataclass(slots=True)
class Element:
    """A node or an edge whose end has not been read yet."""

    kind: str
    line: int
    attributes: dict[str, Any] = field(default_factory=dict)
    undirected: bool = False


class XmlGraph(ABC):
    """A file that is being read: the open elements and the finished records."""

    root: str
    """Name of the first element."""

    def __init__(self, path: Path, options: SourceOptions, account: SourceAccount) -> None:
        self.path = path
        self.make = Attributes(options, account)
        self.account = account
        self.ready: list[GraphRecord | Refusal] = []
        self.open: list[Element] = []
        self._text: list[str] | None = None
        self._depth = 0
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.XmlDeclHandler = self._declaration

    def records(self) -> GraphStream:
        """The nodes and edges of the file, in its order.

        Raises:
            SourceError: The file is not well-formed XML, begins with an unexpected element,
                or declares a document type.
        """
        self.account.encoding = "utf-8"
        with open_xml(self.path, doctype=False) as stream:
            chunk = None
            while chunk != b"":
                chunk = stream.read(1 << 16)
                self._feed(chunk)
                ready, self.ready = self.ready, []
                yield from ready

    @property
    def line(self) -> int:
        """1-based number of the line that is being read."""
        return self._parser.CurrentLineNumber

    @abstractmethod
    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element; names are without namespaces."""

    @abstractmethod
    def end(self, name: str, text: str) -> None:
        """Handle the end of an element, with the text collected because of `listen`."""

    def listen(self) -> None:
        """Collect text until the next element ends."""
        self._text = []

    def begin_node(self, attributes: dict[str, str]) -> Element:
        """Open a node."""
        element = Element("node", self.line, {ID: attributes.get("id")})
        self.open.append(element)
        return element

    def begin_edge(self, attributes: dict[str, str], *, undirected: bool) -> Element:
        """Open an edge."""
        ends = {SUBJECT: attributes.get("source"), OBJECT: attributes.get("target")}
        element = Element("edge", self.line, dict(ends), undirected)
        self.open.append(element)
        return element

    def finish(self, known: list[str] | None = None) -> None:
        """Turn the node or edge that was opened last into a record.

        `known` are the attributes that nodes have; None if `label` is a node's name.
        """
        element = self.open.pop()
        try:
            if element.kind == "node":
                self.ready.append(self.make.node(element.attributes, ID, known))
            else:
                self.ready.append(self.make.edge(element.attributes, SUBJECT, OBJECT))
                if element.undirected:
                    self.make.note_undirected()
        except Unusable as reason:
            self.ready.append(Refusal(self.path, element.line, str(reason)))

    # --- the parser's handlers ---

    def _feed(self, chunk: bytes) -> None:
        with xml_faults(self.path):
            self._parser.Parse(chunk, not chunk)

    def _declaration(self, _: str, encoding: str | None, __: int) -> None:
        self.account.encoding = (encoding or "utf-8").lower()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(" ")[2]
        self._depth += 1
        if self._depth == 1 and name != self.root:
            raise SourceError(self.path, f"its first element is <{name}>, not <{self.root}>", 1)
        self.begin(name, attributes)

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _end(self, name: str) -> None:
        self._depth -= 1
        text = "".join(self._text or ())
        self.end(name.rpartition(" ")[2], text)


def typed(text: str, type_: str) -> Any:
    """The value of a text by its declared type; the text itself if it is not such a value."""
    if type_ == "boolean":
        return _TRUTH.get(text.strip().lower(), text)
    try:
        if type_ in _INTEGERS:
            return int(text)
        if type_ in _DECIMALS:
            return float(text)
    except ValueError:
        return text
    return [part.strip() for part in text.split("|")] if type_ == "liststring" else text
