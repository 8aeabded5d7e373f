"""Names with accents, for who types none: `cafe` finds `café` where a store compares letters."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from functools import cache

LONGEST = 60
"""Characters of a text that is made an expression."""
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]()|\-]")
_LETTERS = (*range(0xC0, 0x250), *range(0x1E00, 0x1F00))


def any_accents(text: str) -> str | None:
    """A regular expression for a text with and without accents, as XPath has them.

    Args:
        text: What is looked for.

    Returns:
        None where no letter of it has accents, or it is too long.
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    letters = [_accented().get(letter, "") for letter in plain.lower()]
    if len(plain) > LONGEST or not any(letters):
        return None
    return "".join(
        f"[{letter}{others}]" if others else _SPECIAL.sub(r"\\\g<0>", letter)
        for letter, others in zip(plain.lower(), letters, strict=True)
    )


@cache
def _accented() -> dict[str, str]:
    """Letter to its lower-case forms with accents."""
    forms: dict[str, str] = defaultdict(str)
    for letter in map(chr, _LETTERS):
        base = unicodedata.normalize("NFKD", letter)[0]
        if base != letter and letter == letter.lower() and base.isalpha():
            forms[base] += letter
    return dict(forms)
