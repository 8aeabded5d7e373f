"""Limits on untrusted Turtle and TriG, checked before a parser sees them.

Parsers descend into nested RDF-star terms by recursion, where a deep one ends the whole process,
and repeat a namespace in each name that uses it. `TurtleGuard` divides the text into tokens, as a
stream, and refuses what no honest file has. It does not depend on the parser that follows. The
limits are those of `xml_reader`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from bfsql.errors import SourceError
from bfsql.sources.files import ChunkStream
from bfsql.sources.text import open_utf8
from bfsql.sources.xml_reader import CHUNK, DEEPEST, LONGEST_IRI, LONGEST_LITERAL, LONGEST_NAMESPACE

_FLAT = re.compile(
    rb"""(?:
    [^<>\#\\"']++ | \\[\s\S] | >(?=[^>])             # names, keywords and punctuation
  | <[^<>\r\n]{0,%d}+>                                # an IRI of usual length
  | "(?:(?:[^"\\\r\n]++|\\[^\r\n])++"|"(?=[^"])) | "{3}(?:[^"\\]++|\\[\s\S]|"{1,2}(?=[^"]))*+"{3}
  | '(?:(?:[^'\\\r\n]++|\\[^\r\n])++'|'(?=[^'])) | '{3}(?:[^'\\]++|\\[\s\S]|'{1,2}(?=[^']))*+'{3}
    )*+"""
    % LONGEST_NAMESPACE,
    re.VERBOSE,
)
"""Any number of tokens that need no check. It has no groups, which Python 3.11 may lose here."""
LONG_IRI = f"has an IRI longer than {LONGEST_IRI >> 10} kB; shorten it"
"""The reason if a file is refused for that."""

_IRI_END = re.compile(rb"[<>\r\n]")
_BROKEN = re.compile(
    rb'"(?!"")(?:[^"\\\r\n]++|\\[^\r\n])*+\\?[\r\n]|'
    rb"'(?!'')(?:[^'\\\r\n]++|\\[^\r\n])*+\\?[\r\n]"
)
"""A text whose line ends before it does."""
_COMMENT = re.compile(rb"#[^\r\n]*+[\r\n]")


def open_guarded(path: Path, encoding: str) -> io.BufferedReader:
    """The bytes of Turtle or TriG in UTF-8; reading them raises `SourceError` at a limit.

    Args:
        path: The file, plain or compressed.
        encoding: As `encoding_of` returns it.
    """
    stream, guard = open_utf8(path, encoding), TurtleGuard(path)

    def chunks() -> Iterator[bytes]:
        chunk = b" "
        while chunk:
            # The beginning of a long term is scanned again with each piece that follows.
            chunk = stream.read(min(max(CHUNK, guard.pending), 1 << 20))
            guard.feed(chunk)
            if chunk:
                yield chunk

    return io.BufferedReader(ChunkStream(chunks(), stream))


class TurtleGuard:
    """Checks Turtle or TriG that is fed to it piece by piece.

    A literal or an IRI that its line leaves open is refused, because a lenient parser would read
    on and find other terms in what follows than the guard.

    Attributes:
        pending: Bytes at the end of what was fed that belong to a term whose end was not fed yet.
    """

    def __init__(self, name: object) -> None:
        self.pending = 0
        self._name = name
        self._rest = self._name_before = b""
        self._depth, self._line = 0, 1

    def feed(self, chunk: bytes) -> None:
        """Check the next piece; an empty one ends the text.

        Raises:
            SourceError: The text exceeds a limit.
        """
        text = self._rest + (chunk or b"\n")  # the last token, too, ends before a character
        at = start = 0
        while at >= 0:
            found = _FLAT.match(text, at)
            assert found is not None  # it matches nothing, too
            start = found.end()
            # The bytes before a long IRI show whether it is a namespace.
            before = text[max(at, start - 64) : start].split()
            self._name_before = before[-1] if before else self._name_before
            self._line += text.count(b"\n", at, start)
            at = self._after(text, start)
        # The beginning of a comment is not needed to find its end.
        self._rest = text[start:] if text[start : start + 1] != b"#" else b"#"
        self.pending = len(self._rest)

    def _after(self, text: bytes, at: int) -> int:
        """The end of the token that begins here; -1 if it is incomplete."""
        match text[at : at + 1], text[at : at + 2]:
            case _, b"<<":
                self._depth += 1
                if self._depth > DEEPEST:
                    self._refuse(f"nests RDF-star terms more than {DEEPEST:,} deep; flatten them")
                return at + 2
            case _, b">>":
                self._depth = max(0, self._depth - 1)
                return at + 2
            case b"#", _:
                found = _COMMENT.match(text, at)
                return found.end() if found else -1
            case b"<", following if following != b"<":
                return self._after_iri(text, at)
        if _BROKEN.match(text, at):
            self._refuse("bad syntax: a literal is not closed before the end of its line")
        if len(text) - at > LONGEST_LITERAL:
            self._refuse(f"has a literal longer than {LONGEST_LITERAL >> 20} MB; split it")
        return -1

    def _after_iri(self, text: bytes, at: int) -> int:
        end = _IRI_END.search(text, at + 1)
        if (end.end() if end else len(text)) - at > LONGEST_IRI + 2:
            self._refuse(LONG_IRI)
        if end is None:
            return -1
        if end[0] != b">":
            self._refuse("bad syntax: an IRI is not closed by '>'")
        # Each short name that a namespace abbreviates repeats it.
        before = self._name_before.lower()
        if before.endswith(b":") or before in {b"base", b"@base"}:
            self._refuse(f"declares a namespace longer than {LONGEST_NAMESPACE:,} characters")
        return end.end()

    def _refuse(self, reason: str) -> NoReturn:
        raise SourceError(self._name, reason, self._line)
