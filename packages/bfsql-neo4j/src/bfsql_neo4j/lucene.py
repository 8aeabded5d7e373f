r"""What a person typed, as a query of the full-text index.

Nothing in it means anything to Lucene: phrases stand in quotes, and what is
looked for with a prefix or a typo has every special character escaped.
"""

from __future__ import annotations

import re

LONGEST = 256
"""Characters of a text that are looked for."""
MOST_WORDS = 16
"""Words that are looked for; Lucene refuses queries of more than 1,024 parts."""
_LIKE = 4
"""Characters from which on a word may be misspelt."""

_SPECIAL = re.compile(r'([+\-&|!(){}\[\]^"~*?:\\/<>=])')
_IN_QUOTES = re.compile(r'(["\\])')
_OUTER = re.compile(r"^\W+|\W+$")


def lucene(text: str, *, all_words: bool = True) -> str | None:
    """The query for a text; None where there is nothing to look for.

    The whole phrase counts most, then words as they are, as beginnings, and
    misspelt.

    Args:
        text: What was typed.
        all_words: Whether a hit has to have all of them.
    """
    text = " ".join(text[:LONGEST].split())
    words = [word for word in text.split(" ") if re.search(r"\w", word)][:MOST_WORDS]
    if not words:
        return None
    required = "+" if all_words else ""
    each = " ".join(f"{required}({_word(word)})" for word in words)
    return f"{phrase(text)}^8 ({each})"


def _word(word: str) -> str:
    core = _escaped(_OUTER.sub("", word).lower())
    misspelt = f" {core}~^0.5" if len(core) >= _LIKE else ""
    return f"{phrase(word)}^4 {core}*{misspelt}"


def phrase(text: str) -> str:
    """The text as it is, between quotes."""
    return '"' + _IN_QUOTES.sub(r"\\\1", text) + '"'


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
