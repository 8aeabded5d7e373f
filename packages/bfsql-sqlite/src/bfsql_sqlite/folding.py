"""Text as search compares it: without accents, case, and signs that nobody types.

The same functions write the index and read the query, so that a match is ours
to define and not the tokenizer's.
"""

from __future__ import annotations

import unicodedata

GRAM = 3
"""Characters of a trigram."""


def fold(text: str) -> str:
    """Text for comparison: decomposed, marks dropped, case folded, spaces single."""
    if not text.isascii():
        marked = unicodedata.normalize("NFKD", text)
        text = unicodedata.normalize(
            "NFC", "".join(c for c in marked if not unicodedata.combining(c)).casefold()
        )
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.lower().split())


def words(folded: str) -> list[str]:
    """The runs of letters and digits in folded text, each once, in order."""
    spaced = "".join(c if c.isalnum() else " " for c in folded)
    return list(dict.fromkeys(spaced.split()))


def grams(folded: str) -> set[str]:
    """Every three characters in a row, a space at either end of the text included."""
    padded = f" {folded} "
    return {padded[i : i + GRAM] for i in range(len(padded) - GRAM + 1)}


def type_code(number: int) -> str:
    """Three private-use characters for a type: one word and one trigram at once.

    So a full-text query filters by type inside the index, before any limit.
    Folding turns private-use characters into spaces: no name holds a code.
    """
    high, low = divmod(number, 4096 * 4096)
    middle, low = divmod(low, 4096)
    return "".join(chr(0xE000 + digit) for digit in (high, middle, low))
