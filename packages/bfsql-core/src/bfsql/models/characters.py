"""Characters that are invisible or reorder the visible text, in one table.

Answers, terminals and web pages all use this table. These characters can hide an instruction
in a name, or make two names look alike. They are removed from text; in ids, types and
predicates, which are never altered, they are written as escapes. Characters that a script
needs are preserved in their proper places: a joiner after a letter of a script that joins its
letters, joiners and variation selectors inside emoji, and the selectors of Mongolian. Tab and
newline are preserved; line and paragraph separators are preserved in text and escaped when it
is written.
"""

from __future__ import annotations

import re

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Includes Unicode's Default_Ignorable_Code_Point, interlinear annotations and deprecated tags.
_IGNORABLE = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SEPARATORS = "\u2028\u2029"

HIDDEN = re.compile(f"[{_CONTROLS}{_BIDI}{_IGNORABLE}]")
"""One character of the table; some of them are needed in their places."""

_ESCAPED = re.compile(f"[{_CONTROLS}{_BIDI}{_IGNORABLE}{_SEPARATORS}\ud800-\udfff]")
# All but the characters of the table that Python considers printable; to search takes longer.
_VISIBLE = re.compile(
    "[\0-\u034e\u0350-\u115e\u1161-\u17b3\u17b6-\u180a\u1810-\u3163\u3165-\ufdff\ufe10-\uff9f"
    "\uffa1-\U000e00ff\U000e01f0-\U0010ffff]*+"
)

# Arabic, Syriac and similar scripts, and the scripts of India and their descendants.
_JOINING = re.compile(
    "[\u0600-\u061b\u061d-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u1bff\ua800-\uabff"
    "\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff\U0001e900-\U0001e95f]"
)
_MONGOLIAN = re.compile("[\u1820-\u18aa]")
_SYMBOL = re.compile(
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf"
    "\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_KEYCAP = re.compile("[#*0-9][\ufe0e\ufe0f]\u20e3")


def without_hidden(text: str) -> str:
    """The text without the characters of the table, except for those that its script needs."""
    if is_visible(text.replace("\n", "")):  # the expression takes three times as long
        return text
    return HIDDEN.sub(lambda found: found[0] if _is_needed(found) else "", text)


def escaped(text: str) -> str:
    r"""The text with JSON escapes for the same characters, line separators and lone surrogates.

    U+202E becomes `\u202e`, and U+E0041 the two escapes `\udb40\udc41`.
    """
    if is_ascii_line(text):
        return text
    return _ESCAPED.sub(lambda found: found[0] if _is_needed(found) else _escape(found[0]), text)


def is_visible(text: str) -> bool:
    """Whether every character is visible: a single line, without characters of the table."""
    return text.isprintable() and (text.isascii() or _VISIBLE.fullmatch(text) is not None)


def is_ascii_line(text: str) -> bool:
    """Whether the text is ASCII without control characters, as most texts are."""
    return text.isascii() and text.isprintable()


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _is_needed(found: re.Match[str]) -> bool:
    """Whether the character determines how the preceding one is displayed."""
    text, at = found.string, found.start()
    before, after = text[max(at - 1, 0) : at], text[at + 1 : at + 2]
    match found[0]:
        case "\u200c" | "\u200d" if _JOINING.match(before):
            return True
        case "\u200d":  # between two symbols of one emoji
            front = text[at - 2] if before == "\ufe0f" and at > 1 else before
            return bool(_SYMBOL.match(front) and _SYMBOL.match(after))
        case "\ufe0e" | "\ufe0f":
            return bool(_SYMBOL.match(before) or _KEYCAP.match(before + found[0] + after))
        case character:
            return "\u180b" <= character <= "\u180f" and bool(_MONGOLIAN.match(before))
