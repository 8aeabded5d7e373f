r"""Text as search compares it, and the terms of an entry in the index.

A term is text whose first character tells its kind:

    g...    three characters in a row of a name, an alias or the id, each with a space at either
            end; `g\n` and two are the beginning of the name
    n...    a word of the name
    o...    a word of an alias or the id
    t7      the type has number 7
    ~0a1b   an alias or the id has this checksum

Names, aliases and ids are folded. Few texts of a block share a checksum,
so the entries it finds are compared with the text.
"""

from __future__ import annotations

import re
import unicodedata
import zlib

from bfsql.models.characters import is_ascii_line
from bfsql.models.merge import without_accents

GRAM = 3
"""Number of characters in a trigram."""
SEPARATOR = "\0"
"""The separator between the labels of an entry, which folded text never contains."""
TRIGRAM, NAME_WORD, OTHER_WORD, TYPE, CHECKSUM = "gnot~"
"""The kinds of terms."""
START = "\n"
"""The mark before a name, which folded text never contains."""

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
    """Folded text with spaces for everything but letters, digits and line breaks."""
    return folded.translate(_ASCII_GAPS) if folded.isascii() else _GAPS.sub(" ", folded)


def words(folded: str) -> list[str]:
    """The runs of letters and digits in folded text, each once, in order."""
    return list(dict.fromkeys(spaced(folded).split()))


def grams(folded: str) -> list[str]:
    """Every three consecutive characters, each once, of the text with a space at either end."""
    return inner_grams(f" {folded} ")


def swapped_grams(folded: str) -> list[str]:
    """Every trigram, each once, of the text with two of its neighbouring characters swapped.

    The ones that short words with swapped letters share with a name are among them.
    """
    ends = range(1, len(folded))
    swapped = (f"{folded[: i - 1]}{folded[i]}{folded[i - 1]}{folded[i + 1 :]}" for i in ends)
    return list(dict.fromkeys(gram for text in swapped for gram in grams(text)))


def inner_grams(folded: str) -> list[str]:
    """Every three consecutive characters, each once."""
    rows = range(len(folded) - GRAM + 1)
    return list(dict.fromkeys(folded[i : i + GRAM] for i in rows))


def gram_text(folded: str, others: str) -> str:
    """The text whose trigrams, except those with a `SEPARATOR`, are the terms of an entry.

    The others are the aliases and the id, separated by line breaks.
    """
    rest = others.replace("\n", f" {SEPARATOR} ")
    return f"{START}{folded[:2]:2}{SEPARATOR} {folded} {SEPARATOR} {rest} {SEPARATOR}"


def checksum(folded: str) -> int:
    """A number that helps to find an alias or id; only the empty text has the number 0."""
    return zlib.crc32(folded.encode()) % (1 << 14) + 1 if folded else 0


def checksum_term(number: int) -> str:
    """The term of a checksum."""
    return f"{CHECKSUM}{number:04x}"


def type_term(t: int) -> str:
    """The term of a type, by its number."""
    return f"{TYPE}{t}"
