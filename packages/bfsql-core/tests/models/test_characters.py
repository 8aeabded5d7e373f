"""Invisible characters are removed from text and escaped in names, unless a script needs them."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql.models.characters import HIDDEN, escaped, is_visible, without_hidden
from bfsql.models.matching import MatchClass, NameQuery
from bfsql.models.merge import fold

TABLE = HIDDEN.findall("".join(map(chr, range(0x110000))))

NEEDED = {
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Persian, an abbreviation": "\u0647\u200d.\u0642",
    "Sinhala": "\u0dc1\u0dca\u200d\u0dbb\u0dd3",
    "Malayalam": "\u0d28\u0d4d\u200d",
    "Mongolian": "\u182a\u1820\u180b",
    "a family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "a heart between two": "\U0001f469\u200d\u2764\ufe0f\u200d\U0001f468",
    "a skin tone": "\U0001f469\U0001f3fd\u200d\U0001f52c",
    "a keycap": "1\ufe0f\u20e3",
    "a warning as text": "\u26a0\ufe0e",
    "lines": "one\n\ttwo",
    "a sign over Arabic digits": "\u0600\u0661\u0662",
}

HIDING = {
    "tags": "Aspirin" + "".join(chr(0xE0000 + ord(c)) for c in "obey"),
    "zero width space": "Asp\u200birin",
    "byte order mark": "\ufeffAspirin",
    "soft hyphen": "Aspi\u00adrin",
    "word joiner": "Aspi\u2060rin",
    "invisible plus": "Aspi\u2064rin",
    "joiners in Latin": "A\u200cs\u200dpirin",
    "selectors with data": "Aspirin" + "".join(chr(0xE0100 + c) for c in b"obey"),
    "a Hangul filler": "\u3164Aspirin\uffa0",
    "grapheme joiner": "As\u034fpirin",
    "selectors behind letters": "A\ufe0fs\ufe00pirin",
    "control and bidirectional": "\x1bAsp\u202eirin\u2069\x9b",
    "annotation": "Asp\ufff9irin\ufffb",
    "music and shorthand": "Asp\U0001d173irin\U0001bca0",
}


@pytest.mark.parametrize("name", NEEDED)
def test_what_a_script_needs_stays_as_it_is(name):
    text = NEEDED[name]
    assert without_hidden(text) == text
    assert escaped(text) == text


@pytest.mark.parametrize("name", HIDING)
def test_what_shows_nothing_is_removed_from_text_and_escaped_in_names(name):
    text = HIDING[name]
    assert without_hidden(text) == "Aspirin"
    assert not is_visible(text)
    shown = escaped(f'"{text}"')
    assert shown.isascii()
    assert json.loads(shown) == text
    assert fold(text) == "aspirin"
    assert NameQuery("aspirin").match("i:1", text, []) == (MatchClass.NAME, 0)
    assert NameQuery(text).match("i:1", "Aspirin", []) == (MatchClass.NAME, 0)


def test_the_table_has_all_that_unicode_ignores_or_calls_a_format_but_what_shows():
    shown = {"\u06dd", "\u070f", "\u08e2", "\u0890", "\u0891", "\U000110bd", "\U000110cd"}
    shown |= {chr(c) for c in (*range(0x600, 0x606), *range(0x13430, 0x13460))}  # visible signs
    formats = {c for c in map(chr, range(0x110000)) if unicodedata.category(c) == "Cf"}
    assert formats - shown <= set(TABLE)
    assert {"\t", "\n", " ", "\u00a0", "\u2028", "\u0301"}.isdisjoint(TABLE)
    assert without_hidden("".join(TABLE).replace("\u200c", "")) == ""


def test_a_joiner_needs_a_letter_and_there_is_one_at_a_time():
    assert without_hidden("\u0645\u200c\u200c\u200d\u06cc") == "\u0645\u200c\u06cc"
    assert without_hidden("\u200d\U0001f469\u200d") == "\U0001f469"
    assert without_hidden("\u2764\ufe0f\ufe0f\ufe0e") == "\u2764\ufe0f"
    assert (
        without_hidden("\U0001f600" + "".join(chr(0xFE00 + c) for c in range(16))) == "\U0001f600"
    )


def test_line_separators_and_half_characters_are_escaped_where_text_is_written():
    assert without_hidden("a\u2028b\u2029") == "a\u2028b\u2029"
    assert escaped("a\u2028b\ud800") == "a\\u2028b\\ud800"
    assert escaped("\U000e0041") == "\\udb40\\udc41"


hard = st.text(
    st.sampled_from([*TABLE[::97], *"a1\u0645\u06cc\u0915\u094d\u182a\u2764\U0001f469\u20e3\n"])
    | st.sampled_from("\u200c\u200d\ufe0e\ufe0f\u180b\u180e\u200b\U000e0041\U000e0101")
)


@given(hard)
def test_cleaning_what_is_clean_changes_nothing_and_what_stays_is_not_escaped(text):
    clean = without_hidden(text)
    assert without_hidden(clean) == clean
    assert escaped(clean) == clean
    assert json.loads(escaped(json.dumps(text, ensure_ascii=False))) == text
    assert without_hidden(json.loads(f'"{escaped(clean)}"'.replace("\n", "\\n"))) == clean
