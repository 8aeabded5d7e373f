"""GraphML, read as a stream: an element at a time.

The `<key>`s declare names, types and defaults of the attributes; data under a
key without a name (drawing tools write such) is left out. Undirected edges keep
the direction in which they are written. A document type declaration is
refused, since GraphML needs none and entities can make a small file huge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.records import GraphRecord, GraphStream, Refusal
from bfsql.sources.attributes import Attributes
from bfsql.sources.fields import Unusable
from bfsql.sources.files import open_bytes
from bfsql.sources.formats import SourceOptions

_CHUNK = 1 << 16
_INTEGERS = {"int", "long", "short"}
_DECIMALS = {"float", "double"}
_ID, _SOURCE, _TARGET = ":node id", ":edge source", ":edge target"
"""Keys of the ids among the attributes; a declared name could be `id` or `source`."""


def open_graphml(path: Path, options: SourceOptions, account: SourceAccount) -> GraphStream:
    """The nodes and edges of a GraphML file, in its order.

    Args:
        path: The file.
        options: Names of attributes, and defaults.
        account: Of the file.

    Raises:
        SourceError: It is not well-formed XML, no GraphML, or declares a
            document type.
    """
    document = _Document(path, Attributes(options, account))
    with open_bytes(path) as stream:
        while chunk := stream.read(_CHUNK):
            document.feed(chunk)
            yield from document.taken()
        document.feed(b"", last=True)
        yield from document.taken()


@dataclass(slots=True)
class _Key:
    """What a `<key>` declares."""

    name: str
    type: str
    of: str
    default: Any = None


@dataclass(slots=True)
class _Element:
    """A node or an edge whose end has not come yet."""

    kind: str
    line: int
    attributes: dict[str, Any] = field(default_factory=dict)


class _Document:
    """What has been read so far, and the records that are ready."""

    def __init__(self, path: Path, make: Attributes) -> None:
        self._path = path
        self._make = make
        self._keys: dict[str, _Key] = {}
        self._open: list[_Element] = []
        self._key: _Key | None = None
        self._text: list[str] | None = None
        self._ready: list[GraphRecord | Refusal] = []
        self._depth = 0
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype

    def feed(self, chunk: bytes, *, last: bool = False) -> None:
        """Reads on."""
        try:
            self._parser.Parse(chunk, last)
        except expat.ExpatError as error:
            reason = f"is not well-formed XML: {expat.ErrorString(error.code)}"
            raise SourceError(self._path, reason, error.lineno) from error

    def taken(self) -> Iterator[GraphRecord | Refusal]:
        """The records that became ready since the last time."""
        ready, self._ready = self._ready, []
        yield from ready

    # --- handlers ---

    def _doctype(self, *_: object) -> None:
        raise SourceError(
            self._path,
            "declares a document type (<!DOCTYPE ...>), which is refused for safety; remove it",
            self._parser.CurrentLineNumber,
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(" ")[2]
        self._depth += 1
        if self._depth == 1 and name != "graphml":
            raise SourceError(self._path, f"its first element is <{name}>, not <graphml>", 1)
        handler = _HANDLERS.get(name)
        if handler is not None:
            handler(self, name, attributes)

    def _declare(self, _: str, attributes: dict[str, str]) -> None:
        of = attributes.get("for", "all")
        key = _Key(attributes.get("attr.name", ""), attributes.get("attr.type", "string"), of)
        self._keys[attributes.get("id", "")] = self._key = key

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        element = _Element(name, self._parser.CurrentLineNumber)
        if name == "node":
            element.attributes[_ID] = attributes.get("id")
        else:
            ends = {_SOURCE: attributes.get("source"), _TARGET: attributes.get("target")}
            element.attributes.update(ends)
        self._open.append(element)

    def _data(self, name: str, attributes: dict[str, str]) -> None:
        if name == "data":
            self._key = self._keys.get(attributes.get("key", ""))
        self._text = []

    def _hyperedge(self, *_: object) -> None:
        line = self._parser.CurrentLineNumber
        reason = "is a hyperedge; an edge has a subject and an object"
        self._ready.append(Refusal(self._path, line, reason))

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _end(self, name: str) -> None:
        name = name.rpartition(" ")[2]
        self._depth -= 1
        if name in {"data", "default"}:
            self._value(name, "".join(self._text or ()))
            self._text = None
        elif name in {"node", "edge"} and self._open:
            self._finish(self._open.pop())

    def _value(self, name: str, text: str) -> None:
        key = self._key
        if key is None or not key.name or not text:
            return
        if name == "default":
            key.default = _typed(text, key.type)
        elif self._open:
            self._open[-1].attributes[key.name] = _typed(text, key.type)

    def _finish(self, element: _Element) -> None:
        for key in self._keys.values():
            if key.default is not None and key.of in {element.kind, "all"}:
                element.attributes.setdefault(key.name, key.default)
        try:
            if element.kind == "node":
                known = [key.name for key in self._keys.values() if key.of in {"node", "all"}]
                self._ready.append(self._make.node(element.attributes, _ID, known))
            else:
                self._ready.append(self._make.edge(element.attributes, _SOURCE, _TARGET))
        except Unusable as reason:
            text = str(reason).replace(":node ", "").replace(":edge ", "")
            self._ready.append(Refusal(self._path, element.line, text))


_HANDLERS: dict[str, Callable[[_Document, str, dict[str, str]], None]] = {
    "key": _Document._declare,  # noqa: SLF001 - the table is part of the class
    "node": _Document._begin,  # noqa: SLF001
    "edge": _Document._begin,  # noqa: SLF001
    "data": _Document._data,  # noqa: SLF001
    "default": _Document._data,  # noqa: SLF001
    "hyperedge": _Document._hyperedge,  # noqa: SLF001
}


def _typed(text: str, type_: str) -> Any:
    if type_ == "boolean":
        return {"true": True, "1": True, "false": False, "0": False}.get(text.strip().lower(), text)
    try:
        if type_ in _INTEGERS:
            return int(text)
        if type_ in _DECIMALS:
            return float(text)
    except ValueError:
        return text
    return text
