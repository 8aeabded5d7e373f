"""The text of XML for a parser that reads UTF-8 only, and text only in one piece.

pyoxigraph's parser of RDF/XML refuses other encodings, and text that a comment, a processing
instruction or a CDATA section divides. `XmlText` recodes a file, leaves out the first two and
writes the third as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BufferedReader, TextIOWrapper
from xml.sax.saxutils import escape

_HIDDEN = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[(.*?)\]\]>|(<(?:!--|\?|!\[).*|<!?-?\Z)", re.DOTALL
)
"""A comment, an instruction, a CDATA section with its text; or, as the second group, the beginning
of one whose end was not read yet."""
_DECLARED = re.compile(rb"""\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w.-]+)""")
_MARKS = {
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"<\x00": "utf-16-le",
    b"\x00<": "utf-16-be",
    b"\xef\xbb": "utf-8-sig",
}


class XmlText:
    """The text of an XML file as a stream of bytes in UTF-8.

    Args:
        stream: The file, which was checked to be well-formed.
        by_line: Whether each read returns one line at most, so that `line` is that of a fault.
    """

    def __init__(self, stream: BufferedReader, *, by_line: bool = False) -> None:
        self.line = 1
        """The line in which the last read ended."""
        head = stream.peek(1)[:1_000]
        declared = _DECLARED.match(head)
        encoding = declared[1].decode() if declared else "utf-8"
        self._text = TextIOWrapper(stream, _MARKS.get(head[:2], encoding), newline="")
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
