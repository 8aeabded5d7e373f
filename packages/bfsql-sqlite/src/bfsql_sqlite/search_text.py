r"""Text as search compares it, and the terms that the index knows an entry by.

A term is text whose first character tells its kind:

    g...    three characters in a row of a name, an alias or the id, each with a space at either
            end; `g\n` and two are the beginning of the name
    n...    a word of the name
    o...    a word of an alias or the id
    t7      the type has number 7
    ~0a1b   an alias or the id has this checksum

Names, aliases and ids are folded. A checksum is shared by few texts of a
block, so that what it finds is compared with the text.
"""

from __future__ import annotations

import re
import unicodedata
import zlib

from bfsql.models.characters import is_ascii_line
from bfsql.models.merge import without_accents

GRAM = 3
"""Characters of a trigram."""
SEPARATOR = "\0"
"""Stands between the labels of an entry; folded text has none."""
TRIGRAM, NAME_WORD, OTHER_WORD, TYPE, CHECKSUM = "gnot~"
"""The kinds of terms."""
START = "\n"
"""Stands in front of a name; folded text has none."""

_CHECKSUMS = 1 << 14
_GAPS = re.compile(r"[^\w\n]|_")
_ASCII_GAPS = {code: " " for code in range(128) if _GAPS.match(chr(code))}


def fold(text: str) -> str:
    """Text for comparison: decomposed, marks dropped, case folded, spaces single."""
    if is_ascii_line(text):
        return " ".join(text.lower().split())
    text = unicodedata.normalize("NFC", without_accents(text).casefold())
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.lower().split())


def spaced(folded: str) -> str:
    """Folded text with spaces for what is neither letter nor digit, line breaks kept."""
    return folded.translate(_ASCII_GAPS) if folded.isascii() else _GAPS.sub(" ", folded)


def words(folded: str) -> list[str]:
    """The runs of letters and digits in folded text, each once, in order."""
    return list(dict.fromkeys(spaced(folded).split()))


def grams(folded: str) -> list[str]:
    """Every three characters in a row, each once, a space at either end of the text included."""
    return inner_grams(f" {folded} ")


def inner_grams(folded: str) -> list[str]:
    """Every three characters in a row, each once."""
    rows = range(len(folded) - GRAM + 1)
    return list(dict.fromkeys(folded[i : i + GRAM] for i in rows))


def gram_text(folded: str, others: str) -> str:
    """The text of an entry whose trigrams are its terms, those with a `SEPARATOR` excepted.

    Args:
        folded: The name.
        others: The aliases and the id, a line break between two.
    """
    rest = others.replace("\n", f" {SEPARATOR} ")
    return f"{START}{folded[:2]:2}{SEPARATOR} {folded} {SEPARATOR} {rest} {SEPARATOR}"


def checksum(folded: str) -> int:
    """A number by which an alias or id is found; no text has that of no text at all."""
    return zlib.crc32(folded.encode()) % _CHECKSUMS + 1 if folded else 0


def checksum_term(number: int) -> str:
    """The term of a checksum."""
    return f"{CHECKSUM}{number:04x}"


def type_term(t: int) -> str:
    """The term of the type with a number."""
    return f"{TYPE}{t}"
