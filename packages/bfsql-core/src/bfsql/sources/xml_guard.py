"""Limits on untrusted XML, checked before a parser of graphs sees it.

Entities can make a small file huge, and parsers differ in how much of that they survive: some
abort the whole process. `XmlGuard` therefore reads every XML file first, as a stream, and
refuses what no honest file needs. It does not depend on the parser that follows.

| limit | value |
|---|---|
| length of an entity | `LONGEST_ENTITY`; it refers to no other entity, and is in the file itself |
| all entities together | `ALL_ENTITIES` |
| text with its entities replaced | `EXPANSION`, or `GROWTH` times the file if that is more |
| depth of nested elements | `DEEPEST` |
| a literal; an IRI; a namespace | `LONGEST_LITERAL`; `LONGEST_IRI`; `LONGEST_NAMESPACE` |
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, Protocol
from xml.parsers import expat
from xml.sax.saxutils import escape

from bfsql.errors import SourceError
from bfsql.sources.fields import excerpt
from bfsql.sources.files import ChunkStream, open_bytes
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

_CHUNK = 1 << 15
"""Bytes that are checked, and passed on, at a time: more while a long term is read."""

_AMPLIFIED = 43
"""expat's own limit, a hundredfold growth after 8 MB (XML_ERROR_AMPLIFICATION_LIMIT_BREACH)."""

_DECLARATION = re.compile(r"""<!ENTITY\s+([^\s%"'&<>]+)\s+(?:"([^"]*)"|'([^']*)')\s*>""")
_REFUSED = (
    (re.compile(r"<!ENTITY\s+%"), "a parameter entity"),
    (re.compile(r"<!ENTITY\s+\S+\s+(?:SYSTEM|PUBLIC)\b"), "an external entity"),
    (re.compile(""), "an entity in an unusual form"),
)
_AMPERSAND = re.compile(r"&#(?:x0*26|0*38);")
_REFERENCE = re.compile(r"&(?!#|(?:amp|lt|gt|quot|apos);)")
_IRI_ATTRIBUTES = {"about", "resource", "ID", "nodeID", "datatype"}
"""Attributes of RDF/XML that are IRIs, or parts of one."""


class Guard(Protocol):
    """A check of a document that is fed to it piece by piece."""

    pending: int
    """Bytes at the end of what was fed that belong to a term whose end was not fed yet."""

    def feed(self, chunk: bytes) -> None:
        """Check the next piece of the document; an empty one ends it.

        Raises:
            SourceError: The document exceeds a limit.
        """


def guarded_stream(stream: io.BufferedIOBase, guard: Guard) -> io.BufferedReader:
    """The bytes of a stream, each of them checked before it is passed on."""

    def chunks() -> Iterator[bytes]:
        chunk = b" "
        while chunk:
            # The beginning of a long term is scanned again with each piece that follows.
            chunk = stream.read(min(max(_CHUNK, guard.pending), 1 << 20))
            guard.feed(chunk)
            if chunk:
                yield chunk

    return io.BufferedReader(ChunkStream(chunks(), stream))


def open_xml(path: Path, *, doctype: bool = True) -> io.BufferedReader:
    """The bytes of an XML file, decompressed; reading them raises `SourceError` at a limit.

    Args:
        path: The file.
        doctype: Whether the format may have a document type declaration.
    """
    with open_bytes(path) as stream:
        check_not_binary(path, stream.read(16))
    return guarded_stream(open_bytes(path), XmlGuard(path, doctype=doctype))


class XmlGuard:
    """Checks an XML document against the limits of this module.

    Args:
        name: The file, or another name of the document for messages.
        doctype: Whether it may have a document type declaration.
    """

    def __init__(self, name: object, *, doctype: bool = True) -> None:
        self.pending = 0
        self._name = name
        self._depth = self._fed = self._text = self._size = 0
        self._may_declare = doctype
        self._is_external = False
        self._doctype: list[str] = []
        self._parser = expat.ParserCreate()
        self._parser.ordered_attributes = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._open_doctype
        self._parser.EndDoctypeDeclHandler = self._close_doctype
        self._parser.SkippedEntityHandler = self._skipped

    def feed(self, chunk: bytes) -> None:
        """See `Guard`.

        Raises:
            SourceError: The document exceeds a limit, or is not well-formed XML.
        """
        self._fed += len(chunk)
        self.pending += len(chunk)  # an element that starts or ends sets it to 0
        with xml_faults(self._name):
            try:
                self._parser.Parse(chunk, not chunk)
            except expat.ExpatError as error:
                if error.code == _AMPLIFIED:
                    self._refuse_growth()
                raise
        if self.pending > LONGEST_LITERAL:
            self._refuse_text()

    # --- elements and text ---

    def _start(self, name: str, attributes: list[str]) -> None:
        self._depth += 1
        self.pending = self._text = 0
        if self._depth > DEEPEST:
            self._refuse(f"nests elements more than {DEEPEST:,} deep; flatten the document")
        if len(name) > LONGEST_IRI:
            self._refuse(f"has a name longer than {LONGEST_IRI >> 10} kB")
        if attributes and len(max(attributes, key=len)) > LONGEST_NAMESPACE:
            for attribute, value in zip(attributes[::2], attributes[1::2], strict=True):
                self._check_attribute(attribute, len(value))

    def _check_attribute(self, name: str, length: int) -> None:
        prefix, _, local = name.rpartition(":")
        if "xmlns" in (prefix, name) or name == "xml:base":
            if length > LONGEST_NAMESPACE:
                self._refuse(f"declares {name} longer than {LONGEST_NAMESPACE:,} characters")
        elif max(len(name), length if local in _IRI_ATTRIBUTES else 0) > LONGEST_IRI:
            self._refuse(f"has an IRI longer than {LONGEST_IRI >> 10} kB")
        elif length > LONGEST_LITERAL:
            self._refuse_text()

    def _end(self, _name: str) -> None:
        self._depth -= 1
        self.pending = self._text = 0

    # Only where entities are declared:

    def _start_expanded(self, name: str, attributes: list[str]) -> None:
        self._start(name, attributes)
        self._add(sum(map(len, attributes)))

    def _characters(self, text: str) -> None:
        self._text += len(text)
        if self._text > LONGEST_LITERAL:
            self._refuse_text()
        self._add(len(text))

    def _add(self, length: int) -> None:
        self._size += length
        if self._size > max(EXPANSION, GROWTH * self._fed):
            self._refuse_growth()

    def _skipped(self, name: str, _is_parameter: bool) -> None:  # noqa: FBT001
        self._refuse(
            f"uses the entity {name!r}, which it does not declare; nothing is fetched while "
            "reading, so write the text itself where it is used"
        )

    def _refuse_growth(self) -> NoReturn:
        self._refuse(
            f"has entities that make it larger than {EXPANSION >> 20} MB and {GROWTH} times the "
            "file; write the text itself where it is used"
        )

    def _refuse_text(self) -> NoReturn:
        self._refuse(f"has a text longer than {LONGEST_LITERAL >> 20} MB; split it")

    def _refuse(self, reason: str) -> NoReturn:
        raise SourceError(self._name, reason, self._parser.CurrentLineNumber)

    # --- the document type declaration ---

    def _open_doctype(self, _name: str, system: str | None, *_: object) -> None:
        # Some parsers also use the second declaration of an entity, and those in comments, of
        # which expat's own handler for entities knows nothing. Here all arrive as text.
        if not self._may_declare:
            self._refuse(
                "declares a document type (<!DOCTYPE ...>), which is refused for safety; remove it"
            )
        self._is_external = system is not None
        self._parser.DefaultHandlerExpand = self._doctype.append
        self._parser.CommentHandler = self._hidden
        self._parser.ProcessingInstructionHandler = lambda _, text: self._hidden(text)

    def _hidden(self, text: str) -> None:
        if self._is_external and "<!ENTITY" in text:  # whose uses expat could not report
            self._refuse("declares an entity in a comment of its DOCTYPE; remove the comment")
        self._doctype.append(text)

    def _close_doctype(self) -> None:
        self._parser.DefaultHandlerExpand = None
        self._parser.CommentHandler = self._parser.ProcessingInstructionHandler = None
        text, entities = "".join(self._doctype), dict[str, str]()
        for start in re.finditer("<!ENTITY", text):
            name, value = self._entity(text, start.start())
            if entities.setdefault(name, value) != value:
                self._refuse(f"declares the entity {excerpt(name)} twice; remove one of the two")
        if sum(map(len, (*entities, *entities.values()))) > ALL_ENTITIES:
            self._refuse(
                f"declares entities of more than {ALL_ENTITIES >> 10} kB in all; write the text "
                "itself where it is used"
            )
        if entities:
            self._parser.buffer_text = True
            self._parser.CharacterDataHandler = self._characters
            self._parser.StartElementHandler = self._start_expanded

    def _entity(self, text: str, at: int) -> tuple[str, str]:
        """The name and the value of the entity that is declared at a position."""
        found = _DECLARATION.match(text, at)
        if found is None:
            kind = next(kind for form, kind in _REFUSED if form.match(text, at))
            self._refuse(f"declares {kind}, which is not read; remove it")
        name, value = found[1], found[2] or found[3] or ""
        if len(value) > LONGEST_ENTITY:
            self._refuse(
                f"declares the entity {excerpt(name)} with {len(value):,} characters; at most "
                f"{LONGEST_ENTITY:,} are read, so write the text itself where it is used"
            )
        if _REFERENCE.search(_AMPERSAND.sub("&", value)):
            self._refuse(
                f"declares the entity {excerpt(name)}, which refers to another; write the text of "
                "the other one in its place"
            )
        return name, value


@contextmanager
def xml_faults(name: object) -> Iterator[None]:
    """Turn faults that expat reports into error messages.

    Args:
        name: The file, or another name of the document.

    Raises:
        SourceError: The document is not well-formed, or in an unknown encoding.
    """
    try:
        yield
    except expat.ExpatError as error:
        reason = f"is not well-formed XML: {expat.ErrorString(error.code)}"
        raise SourceError(name, reason, error.lineno) from error
    except SourceError:
        raise
    except (LookupError, ValueError) as error:
        reason = f"declares an encoding that cannot be read ({error}); save it as UTF-8"
        raise SourceError(name, reason) from error


# --- text for a parser that reads UTF-8 only, and text only in one piece ---

_HIDDEN = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[(.*?)\]\]>|(<(?:!--|\?|!\[).*|<!?-?\Z)", re.DOTALL
)
"""A comment, an instruction, a CDATA section with its text; or, as the second group, the beginning
of one whose end was not read yet."""
_DECLARED = re.compile(rb"""\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w.-]+)""")
_MARKS = dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), "utf-16") | {
    b"<\x00": "utf-16-le",
    b"\x00<": "utf-16-be",
    b"\xef\xbb": "utf-8-sig",
}


class XmlText:
    """The text of an XML file as a stream of bytes in UTF-8.

    pyoxigraph's parser of RDF/XML refuses other encodings, and text that a comment, a processing
    instruction or a CDATA section divides: the first two are left out, the third is plain text.

    Args:
        stream: The file, which was checked to be well-formed.
        by_line: Whether each read returns one line at most, so that `line` is that of a fault.
    """

    def __init__(self, stream: io.BufferedReader, *, by_line: bool = False) -> None:
        self.line = 1
        """The line in which the last read ended."""
        head = stream.peek(1)[:1_000]
        declared = _DECLARED.match(head)
        encoding = declared[1].decode() if declared else "utf-8"
        self._text = io.TextIOWrapper(stream, _MARKS.get(head[:2], encoding), newline="")
        self._by_line = by_line
        self._pieces = self._visible()
        self._ready = b""
        self._rest = ""

    def read(self, size: int) -> bytes:
        """The next bytes, at most so many; empty at the end."""
        if not self._ready:
            self._ready = next(self._pieces, b"")
        piece, self._ready = self._ready[:size], self._ready[size:]
        return piece

    def _visible(self) -> Iterator[bytes]:
        while chunk := self._text.read(max(1 << 16, len(self._rest))):
            text, self._rest = self._rest + chunk, ""
            visible = _HIDDEN.sub(self._replacement, text).encode()
            for piece in visible.splitlines(keepends=True) if self._by_line else [visible]:
                if piece:
                    yield piece
                    self.line += piece.count(b"\n")
        yield self._rest.encode()

    def _replacement(self, hidden: re.Match[str]) -> str:
        if hidden[2] is not None:
            self._rest = hidden[2]
        elif hidden[1] is not None:
            return escape(hidden[1])
        elif self._by_line:
            return "\n" * hidden[0].count("\n")
        return ""
