"""XML files as expat reads them: once, as a stream, and within limits.

Entities can make a small file huge, and parsers differ in how much of that they survive: some
abort the whole process. Only expat therefore sees the file itself; `PlainXml` passes what it read
on to a parser of RDF/XML, without the declarations. These limits hold beside expat's own:

| limit | value |
|---|---|
| length of an entity | `LONGEST_ENTITY`; it refers to no other entity, and is in the file itself |
| all entities together | `ALL_ENTITIES` |
| text with its entities replaced | `EXPANSION`, or `GROWTH` times the file if that is more |
| depth of nested elements | `DEEPEST` |
| a literal; an IRI; a namespace | `LONGEST_LITERAL`; `LONGEST_IRI`; `LONGEST_NAMESPACE` |
"""

from __future__ import annotations

import gzip
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Generator
from pathlib import Path
from typing import ClassVar, NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from bfsql.errors import SourceError
from bfsql.sources.fields import excerpt
from bfsql.sources.files import open_bytes
from bfsql.sources.text import check_not_binary

DEEPEST = 1_000
"""Most levels of nested elements, and of RDF-star terms."""
LONGEST_LITERAL = 1 << 25
"""Most bytes of a literal, a text or a comment: 32 MB."""
LONGEST_IRI = 1 << 16
"""Most bytes of an IRI or a name: 64 kB."""
LONGEST_NAMESPACE = 1_000
"""Most characters of a namespace or base, since each name that uses it repeats it."""
LONGEST_ENTITY = 1_000
"""Most characters of an entity."""
ALL_ENTITIES = 1 << 16
"""Most characters of all entities of a file together."""
EXPANSION = 1 << 24
"""Characters of text and attributes that any file may have once its entities are replaced."""
GROWTH = 10
"""How many times its own size a larger file may have."""

CHUNK = 1 << 16
"""Bytes of a file that a parser reads at a time: more while it reads a long term."""

_AMPLIFIED = 43
"""expat's own limit, a hundredfold growth after 8 MB (XML_ERROR_AMPLIFICATION_LIMIT_BREACH)."""

_REFERENCE = re.compile(r"&(?!#|(?:amp|lt|gt|quot|apos);)([^\s;]+);")
_TAG = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")
_IRI_ATTRIBUTES = {"about", "resource", "ID", "nodeID", "datatype"}
"""Attributes of RDF/XML that are IRIs, or parts of one."""
_MARKUP, _QUOTED = re.compile(r"[&<>\r]"), re.compile(r"[&<>\"\r\n\t]")
_WHITE = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}


class XmlReader(ABC):
    """Reads an XML file; subclasses say what an element means.

    Args:
        path: The file.
    """

    root = ""
    """Name of the first element; empty if it can be any."""
    namespace_separator: ClassVar[str | None] = None
    """What precedes the names that `begin` gets, after the namespace; None for the whole name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._depth = self._pending = self._fed = 0
        self.parser = parser = expat.ParserCreate(namespace_separator=self.namespace_separator)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self.open_doctype

    @abstractmethod
    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""

    @abstractmethod
    def end(self, name: str) -> None:
        """Handle the end of an element."""

    def open_doctype(self, _name: str, _system: str | None, *_: object) -> None:
        """Handle the start of the document type declaration, which few formats need."""
        self.refuse(
            "declares a document type (<!DOCTYPE ...>), which is refused for safety; remove it"
        )

    def parts(self, *, by_line: bool = False) -> Generator[int, None, None]:
        """Read the file in parts; after each, yield the line in which it began.

        Args:
            by_line: Whether a part is a line at most.

        Raises:
            SourceError: The file exceeds a limit, is not well-formed XML, or in an unknown
                encoding.
        """
        with open_bytes(self.path) as stream:
            check_not_binary(self.path, stream.peek(16)[:16])
            line, chunk = 1, b" "
            while chunk:
                chunk = self._chunk(stream, by_line=by_line)
                self._feed(chunk)
                yield line
                line += chunk.count(b"\n")

    def _chunk(self, stream: gzip.GzipFile | io.BufferedReader, *, by_line: bool) -> bytes:
        # expat scans the beginning of a long term again with each piece that follows.
        size = min(max(CHUNK, self._pending), 1 << 20)
        return stream.readline(size) if by_line else stream.read(size)

    def _feed(self, chunk: bytes) -> None:
        self._fed += len(chunk)
        self._pending += len(chunk)  # an element that starts or ends sets it to 0
        try:
            self.parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            if error.code == _AMPLIFIED:
                self.refuse_growth()
            reason = f"is not well-formed XML: {expat.ErrorString(error.code)}"
            raise SourceError(self.path, reason, error.lineno) from error
        except SourceError:
            raise
        except (LookupError, ValueError) as error:
            reason = f"declares an encoding that cannot be read ({error}); save it as UTF-8"
            raise SourceError(self.path, reason) from error
        if self._pending > LONGEST_LITERAL:
            self._refuse_text()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._pending = 0
        if self._depth > DEEPEST:
            self.refuse(f"nests elements more than {DEEPEST:,} deep; flatten the document")
        if len(name) > LONGEST_IRI:
            self.refuse(f"has a name longer than {LONGEST_IRI >> 10} kB")
        for attribute, value in attributes.items():
            if len(attribute) > LONGEST_NAMESPACE or len(value) > LONGEST_NAMESPACE:
                self._check_attribute(attribute, len(value))
        name = name.rpartition(" ")[2]
        if self._depth == 1 and self.root not in {"", name}:
            raise SourceError(self.path, f"its first element is <{name}>, not <{self.root}>", 1)
        self.begin(name, attributes)

    def _check_attribute(self, name: str, length: int) -> None:
        prefix, _, local = name.rpartition(":")
        if "xmlns" in (prefix, name) or name == "xml:base":
            if length > LONGEST_NAMESPACE:
                self.refuse(f"declares {name} longer than {LONGEST_NAMESPACE:,} characters")
        elif max(len(name), length if local in _IRI_ATTRIBUTES else 0) > LONGEST_IRI:
            self.refuse(f"has an IRI longer than {LONGEST_IRI >> 10} kB")
        elif length > LONGEST_LITERAL:
            self._refuse_text()

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._pending = 0
        self.end(name.rpartition(" ")[2])

    def check_growth(self, size: int) -> None:
        """Refuse a file whose text and attributes have become too large by entities."""
        if size > max(EXPANSION, GROWTH * self._fed):
            self.refuse_growth()

    def refuse_growth(self) -> NoReturn:
        """Refuse a file whose entities make it too large."""
        self.refuse(
            f"has entities that make it larger than {EXPANSION >> 20} MB and {GROWTH} times the "
            "file; write the text itself where it is used"
        )

    def _refuse_text(self) -> NoReturn:
        self.refuse(f"has a text longer than {LONGEST_LITERAL >> 20} MB; split it")

    def refuse(self, reason: str) -> NoReturn:
        """Refuse the file, with the line that was reached."""
        raise SourceError(self.path, reason, self.parser.CurrentLineNumber)


class PlainXml(XmlReader):
    """The elements and texts of a file as XML in UTF-8, with their entities replaced.

    pyoxigraph's parser of RDF/XML refuses other encodings, and text that a comment, a processing
    instruction or a CDATA section divides; and it replaces entities without limit.

    Args:
        path: The file.
        by_line: Whether each read returns one line at most, so that `line` is that of a fault.

    Attributes:
        line: The line of the file in which the last piece began.
    """

    def __init__(self, path: Path, *, by_line: bool = False) -> None:
        super().__init__(path)
        self.line = 1
        self._parts = self.parts(by_line=by_line)
        self._ready = b""
        self._pieces: list[str] = []
        self._size = 0
        self._is_external = False
        self._entities: dict[str, str] = {}
        self.parser.specified_attributes = True
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = self._declare
        self.parser.SkippedEntityHandler = self._skip

    def read(self, size: int) -> bytes:
        """The next bytes, at most so many; empty at the end.

        Raises:
            SourceError: As of `parts`.
        """
        while not self._ready and (line := next(self._parts, None)) is not None:
            self.line = line
            self._ready = "".join(self._pieces).encode()
            self._pieces.clear()
        piece, self._ready = self._ready[:size], self._ready[size:]
        return piece

    def close(self) -> None:
        """Close the file."""
        self._parts.close()

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """See `XmlReader`."""
        if not attributes:
            self._pieces.append(f"<{name}>")
            return
        if self._entities:
            self._add(sum(map(len, attributes.values())))
        if self._is_external:
            self._check_references()
        written = "".join(
            f" {key}={quoteattr(value, _WHITE)}" if _QUOTED.search(value) else f' {key}="{value}"'
            for key, value in attributes.items()
        )
        self._pieces.append(f"<{name}{written}>")

    def end(self, name: str) -> None:
        """See `XmlReader`."""
        self._pieces.append(f"</{name}>")

    def _characters(self, text: str) -> None:
        self._add(len(text))
        self._pieces.append(escape(text, _WHITE) if _MARKUP.search(text) else text)

    def _add(self, length: int) -> None:
        self._size += length
        self.check_growth(self._size)

    # --- the document type declaration ---

    def open_doctype(self, _name: str, system: str | None, *_: object) -> None:
        """See `XmlReader`; here it may declare entities."""
        self._is_external = system is not None

    def _declare(self, name: str, is_parameter: bool, value: str | None, *_: object) -> None:  # noqa: FBT001
        if is_parameter or value is None:
            kind = "a parameter entity" if is_parameter else "an external entity"
            self.refuse(f"declares {kind}, which is not read; remove it")
        if len(value) > LONGEST_ENTITY:
            self.refuse(
                f"declares the entity {excerpt(name)} with {len(value):,} characters; at most "
                f"{LONGEST_ENTITY:,} are read, so write the text itself where it is used"
            )
        if _REFERENCE.search(value):
            self.refuse(
                f"declares the entity {excerpt(name)}, which refers to another; write the text of "
                "the other one in its place"
            )
        self._entities[name] = value
        if sum(map(len, (*self._entities, *self._entities.values()))) > ALL_ENTITIES:
            self.refuse(
                f"declares entities of more than {ALL_ENTITIES >> 10} kB in all; write the text "
                "itself where it is used"
            )

    def _check_references(self) -> None:
        # What a DTD elsewhere may declare, expat leaves out of attributes, and does not report.
        tag = _TAG.match((self.parser.GetInputContext() or b"").replace(b"\0", b""))
        assert tag is not None  # the one that starts
        for name in _REFERENCE.findall(tag[0].decode("utf-8", "replace")):
            if name not in self._entities:
                self._skip(name)

    def _skip(self, name: str, _is_parameter: bool = False) -> None:  # noqa: FBT001, FBT002
        self.refuse(
            f"uses the entity {name!r}, which it does not declare; nothing is fetched while "
            "reading, so write the text itself where it is used"
        )
