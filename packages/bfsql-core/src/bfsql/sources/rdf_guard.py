"""Limits on untrusted RDF, checked before a parser sees it.

Parsers hold each term in memory several times, and some descend into nested RDF-star terms by
recursion, where a deep one ends the whole process. `TurtleGuard` divides Turtle, TriG, N-Triples
and N-Quads into tokens, as a stream, and refuses terms that no honest file has. `xml_guard` does
the same for RDF/XML, and defines the limits. Neither depends on the parser that follows.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import ClassVar, NoReturn

from bfsql.errors import SourceError
from bfsql.sources.text import open_utf8
from bfsql.sources.xml_guard import (
    DEEPEST,
    LONGEST_IRI,
    LONGEST_LITERAL,
    LONGEST_NAMESPACE,
    Guard,
    XmlGuard,
    guarded_stream,
    open_xml,
)

_TOKENS = rb"""(?:
    (?:[^\s<>#\\%(quotes)s]{0,%(longest)d}+\s++)++    # names, keywords and punctuation
  | [^\s<>#\\%(quotes)s]{1,%(longest)d}+(?=[\s<>#\\%(quotes)s])
  | <[^<>\r\n]{0,%(short)d}+>                         # an IRI
  | %(texts)s
)*+"""
"""Any number of tokens of usual length. It has no groups, which Python 3.11 may lose here."""

_LINE_TEXT = rb'"(?:[^"\\\r\n]++|\\[^\r\n])*+"'
_TEXTS = rb"""
    "(?:(?:[^"\\\r\n]++|\\[^\r\n])++"|"(?=[^"]))
  | '(?:(?:[^'\\\r\n]++|\\[^\r\n])++'|'(?=[^']))
  | "{3}(?:[^"\\]++|\\[\s\S]|"{1,2}(?=[^"]))*+"{3}
  | '{3}(?:[^'\\]++|\\[\s\S]|'{1,2}(?=[^']))*+'{3}"""
_IRI = re.compile(rb"<[^<>\r\n]{0,%d}+>" % LONGEST_IRI)
_IRI_END = re.compile(rb"[<>\r\n]")
_BROKEN = re.compile(
    rb""""(?:[^"\\\r\n]++|\\[^\r\n])*+\\?[\r\n]|'(?:[^'\\\r\n]++|\\[^\r\n])*+\\?[\r\n]"""
)
"""A text whose line ends before it does."""
_NAME = re.compile(rb"""(?:[^\s<>#\\"']++|\\[^\r\n])++""")
_COMMENT = re.compile(rb"#[^\r\n]*+[\r\n]")


def _tokens(quotes: bytes, texts: bytes) -> re.Pattern[bytes]:
    sizes = {b"longest": LONGEST_IRI, b"short": LONGEST_NAMESPACE}
    return re.compile(_TOKENS % {b"quotes": quotes, b"texts": texts, **sizes}, re.VERBOSE)


_OF_TURTLE = _tokens(b"\"'", _TEXTS)
_OF_LINES = _tokens(b'"', _LINE_TEXT)


def open_guarded(path: Path, format_: str, encoding: str) -> io.BufferedReader:
    """The bytes of an RDF file; reading them raises `SourceError` at a limit.

    Args:
        path: The file, plain or compressed.
        format_: `turtle`, `ntriples`, `nquads`, `trig` or `rdfxml`.
        encoding: As `encoding_of` returns it. The bytes are UTF-8 without a byte order mark,
            except those of RDF/XML, which declares its encoding itself.
    """
    if format_ == "rdfxml":
        return open_xml(path)
    return guarded_stream(open_utf8(path, encoding), TurtleGuard(path, format_))


def check_document(name: object, body: bytes, format_: str) -> None:
    """Check a whole document, such as one that was fetched.

    Args:
        name: Its name in messages.
        body: The document; UTF-8, unless it is RDF/XML.
        format_: As for `open_guarded`.

    Raises:
        SourceError: It exceeds a limit.
    """
    guard: Guard = XmlGuard(name) if format_ == "rdfxml" else TurtleGuard(name, format_)
    guard.feed(body)
    guard.feed(b"")


class TurtleGuard:
    """Checks Turtle, TriG, N-Triples or N-Quads against the limits of `xml_guard`.

    A literal or an IRI that its line leaves open is refused in Turtle and TriG, because a lenient
    parser would read on and find other terms in what follows than the guard. In N-Triples and
    N-Quads, whose statements are lines, it is passed over, since lines that have a fault are
    parsed one by one.
    """

    def __init__(self, name: object, format_: str) -> None:
        self.pending = 0
        self._name = name
        self._lines = format_ in {"ntriples", "nquads"}
        self._tokens = _OF_LINES if self._lines else _OF_TURTLE
        self._rest = self._name_before = b""
        self._depth, self._line = 0, 1

    def feed(self, chunk: bytes) -> None:
        """See `Guard`."""
        text = self._rest + (chunk or b"\n")  # the last token, too, ends before a character
        at = 0
        while at >= 0:
            found = self._tokens.match(text, at)
            assert found is not None  # it matches nothing, too
            start = found.end()
            # The bytes before a long IRI show whether it is a namespace.
            before = text[max(at, start - 64) : start].split()
            self._name_before = before[-1] if before else self._name_before
            self._line += text.count(b"\n", at, start)
            at = self._after(text, start) if start < len(text) else -1
        # The beginning of a comment is not needed to find its end.
        self._rest = text[start:] if text[start : start + 1] != b"#" else b"#"
        self.pending = len(self._rest)

    def _after(self, text: bytes, at: int) -> int:
        """The end of a token that is long or part of a nested term; -1 if it is incomplete."""
        two = text[at : at + 2]
        if two == b"<<":
            self._depth += 1
            if self._depth > DEEPEST:
                self._refuse(f"nests RDF-star terms more than {DEEPEST:,} deep; flatten them")
            return at + 2
        if two == b">>":
            self._depth = max(0, self._depth - 1)
            return at + 2
        if len(two) == 1:
            return -1
        return self._AFTER.get(two[:1], TurtleGuard._after_name)(self, text, at)

    def _after_comment(self, text: bytes, at: int) -> int:
        found = _COMMENT.match(text, at)
        return found.end() if found else -1

    def _after_iri(self, text: bytes, at: int) -> int:
        found = _IRI.match(text, at)
        if found is not None:
            # Each short name that a namespace abbreviates repeats it.
            before = self._name_before.lower()
            if before.endswith(b":") or before in {b"base", b"@base"}:
                self._refuse(f"declares a namespace longer than {LONGEST_NAMESPACE:,} characters")
            return found.end()
        end = _IRI_END.search(text, at + 1)
        if end is None and len(text) - at <= LONGEST_IRI + 1:
            return -1
        if end is None or end[0] == b">":
            self._refuse_name()
        if not self._lines:
            self._refuse("bad syntax: an IRI is not closed by '>'")
        return at + 1

    def _after_text(self, text: bytes, at: int) -> int:
        is_long = not self._lines and text[at : at + 3] == text[at : at + 1] * 3
        if not is_long and _BROKEN.match(text, at):
            if not self._lines:
                self._refuse("bad syntax: a literal is not closed before the end of its line")
            return at + 1
        if len(text) - at > LONGEST_LITERAL:
            self._refuse(f"has a literal longer than {LONGEST_LITERAL >> 20} MB; split it")
        return -1

    def _after_name(self, text: bytes, at: int) -> int:
        found = _NAME.match(text, at)
        if found is None:
            return at + 1
        if found.end() - at > LONGEST_IRI:
            self._refuse_name()
        self._name_before = found[0]
        return found.end() if found.end() < len(text) else -1

    _AFTER: ClassVar = {
        b"<": _after_iri,
        b'"': _after_text,
        b"'": _after_text,
        b"#": _after_comment,
    }

    def _refuse_name(self) -> NoReturn:
        self._refuse(f"has an IRI or a name longer than {LONGEST_IRI >> 10} kB; shorten it")

    def _refuse(self, reason: str) -> NoReturn:
        raise SourceError(self._name, reason, self._line)
