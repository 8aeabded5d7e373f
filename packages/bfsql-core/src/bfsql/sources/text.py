"""The encoding of text files, and opening them as text or as UTF-8 bytes.

Text is UTF-8 unless a byte order mark or the option `encoding` specifies another encoding. The
first megabyte is checked before reading starts, so that a wrong encoding is an error that shows
the first affected line in each of the likely encodings. A bad line further down is refused by
the reader of the format, with a similar message.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from bfsql.errors import SourceError
from bfsql.sources.fields import excerpt
from bfsql.sources.files import ChunkStream, open_bytes

LONGEST_LINE = 1 << 25
"""Maximum bytes per line; a longer line is refused, because it would be held in memory whole."""
MOST_OF_WHOLE = 32 * LONGEST_LINE
"""Maximum bytes of a file that is held in memory whole, decompressed."""

_HEAD = 1 << 20
_CHUNK = 1 << 16
_AROUND = 32
"""Size in bytes of a sample on each side of the first byte that is not UTF-8."""

_MARKS = (  # the mark of UTF-32 begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LIKELY = (
    *("cp1252", "cp1250", "iso-8859-2", "cp1251", "shift_jis", "gb18030", "big5", "euc_kr"),
    "cp1253",
)
_NO_TEXT = {
    b"PK\x03\x04": "a zip archive, such as an Excel file; unpack it, or export the sheet as CSV",
    b"\x1f\x8b": "compressed by gzip; rename it so that it ends in .gz",
    b"\x28\xb5\x2f\xfd": "compressed by Zstandard; rename it so that it ends in .zst",
    b"PAR1": "a Parquet table; name the format parquet",
    b"SQLite format 3": "an SQLite database; export its tables as CSV",
}


def encoding_of(path: Path, named: str | None) -> str:
    """The encoding of a text file, by its Python name; a byte order mark precedes the named one.

    Raises:
        SourceError: The name is unknown, or none is given and the head of the file is not UTF-8.
    """
    if named is not None:
        named = _codec(path, named)
    with open_bytes(path) as stream:
        head = stream.read(_HEAD)
    if (marked := _marked(head)) is None and named is None:
        _check(path, head)
    return marked or named or "utf-8"


def beginning(path: Path) -> str:
    """The first 64 KB of a file as text; bytes that are not text become U+FFFD."""
    with open_bytes(path) as stream:
        head = stream.read(_CHUNK)
    named = _marked(head) or "utf-8"
    return head.decode("utf-8-sig" if named == "utf-8" else named, "replace")


def _marked(head: bytes) -> str | None:
    """The encoding that a byte order mark says."""
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)


def whole_text(path: Path, encoding: str) -> bytearray:
    """The text of a file that cannot be read in parts, in UTF-8.

    Raises:
        SourceError: It has more than `MOST_OF_WHOLE` bytes.
    """
    content = bytearray()
    with open_utf8(path, encoding) as stream:
        while chunk := stream.read(_CHUNK):
            content += chunk
            if len(content) > MOST_OF_WHOLE:
                most = f"more than {MOST_OF_WHOLE >> 30} GB of JSON in one value"
                raise SourceError(path, f"has {most}; write an object per line, as .jsonl")
    return content


def open_text(path: Path, encoding: str = "utf-8") -> io.TextIOWrapper:
    """The text of a file, without a byte order mark and with unchanged line ends.

    Invalid bytes become lone surrogates, by which a reader recognises the bad line.

    Args:
        path: The file.
        encoding: As `encoding_of` returns it.
    """
    return io.TextIOWrapper(
        open_bytes(path),
        encoding="utf-8-sig" if encoding == "utf-8" else encoding,
        errors="surrogateescape",
        newline="",
    )


def open_utf8(path: Path, encoding: str = "utf-8") -> io.BufferedIOBase:
    """The text of a file as bytes in UTF-8, without a byte order mark.

    Bytes that are invalid in the encoding are passed through, and are then not valid UTF-8.
    """
    stream = open_bytes(path)
    if encoding != "utf-8":
        return io.BufferedReader(ChunkStream(_recoded(stream, encoding), stream), _CHUNK)
    try:
        if stream.peek(3)[:3] == codecs.BOM_UTF8:
            stream.read(3)
    except BaseException:
        stream.close()
        raise
    return stream


def lines(stream: io.BufferedIOBase) -> Iterator[bytes]:
    """The lines of a stream; only the beginning of a line longer than `LONGEST_LINE`.

    Lines end in Unix, Windows or old Mac style; old Mac line ends are recognised up to that length.
    """
    first = rest_of_line(stream)
    if b"\r" in first.rstrip(b"\r\n") and not first.endswith(b"\n"):  # line ends of old Macs
        yield from first.splitlines(keepends=True)
    elif first:
        yield first
    yield from iter(partial(rest_of_line, stream), b"")


def rest_of_line(stream: io.BufferedIOBase) -> bytes:
    """What follows up to the end of the line, which is skipped if it is longer than that."""
    line = more = stream.readline(LONGEST_LINE + 1)
    while len(more) > LONGEST_LINE and not more.endswith(b"\n"):
        more = stream.readline(LONGEST_LINE + 1)
    return line


def not_text(raw: bytes, encoding: str) -> str:
    """The fault of a line with bytes that are not text, and a remedy."""
    if encoding == "utf-8":
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            return f"is not UTF-8 text. {_advice(raw, error.start)}"
    return f"is not {encoding} text; name another encoding with --encoding"


def _codec(path: Path, named: str) -> str:
    try:
        io.TextIOWrapper(io.BytesIO(), named)
        name = codecs.lookup(named).name
    except (LookupError, ValueError) as error:
        known = ", ".join(("utf-8", "utf-16", *_LIKELY))
        reason = f"there is no encoding {excerpt(named)}; examples are: {known}"
        raise SourceError(path, reason) from error
    return "utf-8" if name == "utf-8-sig" else name


def check_not_binary(path: Path, head: bytes) -> None:
    """Raise a `SourceError` if the first bytes of a file are those of a common binary format."""
    for magic, what in _NO_TEXT.items():
        if head.startswith(magic):
            raise SourceError(path, f"this is not text, but {what}")


def _check(path: Path, head: bytes) -> None:
    check_not_binary(path, head)
    first, second = head[::2].count(0), head[1::2].count(0)
    # In Western text in UTF-16 every other byte is zero.
    if max(first, second) * 4 > len(head) and min(first, second) * 4 < max(first, second):
        reason = "this is not UTF-8 text; it looks like UTF-16 without a byte order mark, so try"
        raise SourceError(path, f"{reason} --encoding utf-16-{'le' if second > first else 'be'}")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) < _HEAD)
    except UnicodeDecodeError as error:
        reason = (
            f"this is not UTF-8 text. {_advice(head, error.start)}; --encoding utf-8 leaves out "
            "the lines that are not UTF-8"
        )
        raise SourceError(path, reason, head.count(b"\n", 0, error.start) + 1) from error


def _advice(text: bytes, at: int) -> str:
    found = [f"{encoding} {excerpt(sample)}" for encoding, sample in islice(_readings(text, at), 8)]
    if not found:
        return "No common encoding fits; name the right one with --encoding"
    others = ", ".join(found)
    return f"In other encodings, the line is: {others}. Name the right one with --encoding"


def _readings(text: bytes, at: int) -> Iterator[tuple[str, str]]:
    """The likely encodings that can decode the whole text, and a sample in each."""
    start = max(text.rfind(b"\n", 0, at), text.rfind(b"\r", 0, at)) + 1
    if at - start > _AROUND:  # at a byte that is a character of its own in all of them
        start = next((i + 1 for i in range(at - _AROUND, at) if text[i] in b' ,;\t|"'), at)
    sample = text[start : at + _AROUND].splitlines()[0]
    samples: set[str] = set()
    for encoding in _LIKELY:
        try:
            codecs.getincrementaldecoder(encoding)().decode(text)
        except UnicodeDecodeError:
            continue
        reading = sample.decode(encoding, "ignore")
        if reading not in samples and reading.replace("\t", " ").isprintable():
            samples.add(reading)
            yield encoding, reading


def _recoded(stream: io.BufferedIOBase, encoding: str) -> Iterator[bytes]:
    """The bytes of a stream in another encoding, as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")
    mark, chunk = "\ufeff", b" "
    while chunk:
        chunk = stream.read(_CHUNK)
        text = decoder.decode(chunk, final=not chunk)
        if text:
            yield text.removeprefix(mark).encode("utf-8", "surrogateescape")
            mark = ""
