"""Changes one entry of a JSON or TOML file and keeps every other byte.

Client files belong to their users: they have comments, trailing commas and an order. So the text
around the entry is not parsed and rewritten. The result of a change is parsed again, and refused if
anything except the entry differs.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

Value: TypeAlias = Any

Step: TypeAlias = str | tuple[str, str]
"""A key of an object; or a key and its value, which identify an object in an array."""


class Unreadable(ValueError):
    """The text is not valid; the message names the line."""


def _expected(whole: Value, path: Sequence[Step], value: Value) -> Value:
    """The parsed value after an entry has been set."""
    if not path:
        return value
    step, *rest = path
    if isinstance(step, tuple):
        if not isinstance(whole, list):
            raise Unreadable("the place for the entry is not an array")
        found = [n for n, one in enumerate(whole) if _is_element(one, step)]
        at = found[-1] if found else len(whole)
        return [*whole[:at], value, *whole[at + 1 :]]
    if not isinstance(whole, dict):
        raise Unreadable("the place for the entry is not an object")
    missing: Value = [] if rest and isinstance(rest[0], tuple) else {}
    return {**whole, step: _expected(whole.get(step, missing), rest, value)}


def _is_element(value: Value, step: Step) -> bool:
    return isinstance(value, dict) and value.get(step[0]) == step[1]


# --- JSON, with comments and trailing commas ----------------------------------

_TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_NOT_JSON = re.compile(rf"({_TEXT})|//[^\n]*|/\*.*?\*/|\ufeff|[^\S \t\r\n]", re.DOTALL)
"""A text; or a comment or a white space that JSON does not have."""
_TRAILING_COMMA = re.compile(rf"({_TEXT}|[\[{{,:]\s*,)|,(?=\s*[\]}}])", re.DOTALL)
"""A text or a wrong comma; or a comma between a value and the end of an object or an array."""
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\n]*)?")
_WORD = re.compile(r"[^\s,\]}/]+|.")

_NOT_CLOSED = "a text in double quotes is missing or not closed"
_REASONS = {
    "Expecting property name enclosed in double quotes": _NOT_CLOSED,
    "Unterminated string starting at": _NOT_CLOSED,
    "Invalid control character at": _NOT_CLOSED,
    "Expecting ':' delimiter": "a colon is missing",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing",
    "Extra data": "there is more text after the end",
}
"""Messages of `json`, in the words of this module."""

_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class _Item:
    """A member of an object, or an element of an array, which has no key."""

    key: str | None
    value: Value
    start: int
    """Start of the key, or of the element."""
    value_start: int
    end: int

    def matches(self, step: Step) -> bool:
        return self.key == step if isinstance(step, str) else _is_element(self.value, step)


class _Json:
    """A JSON text, and the positions of what is in it.

    Raises:
        Unreadable: It is not JSON.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.newline = "\r\n" if "\r\n" in text else "\n"
        # Both have the same length as the text.
        self._without_comments = _blanked(_NOT_JSON, text)
        self._plain = _blanked(_TRAILING_COMMA, self._without_comments)
        self.is_empty = not self._plain.strip()
        try:
            self.value = {} if self.is_empty else json.loads(self._plain)
        except json.JSONDecodeError as error:
            raise Unreadable(f"line {error.lineno}: {_reason(error)}") from None
        except (ValueError, RecursionError):
            raise Unreadable("a number is too long, or values are nested too deeply") from None
        self.start = self._behind_blanks(0)
        indented = re.search(r"\n([ \t]+)\S", text)
        self._step = indented[1] if indented else "  "

    def find(self, path: Sequence[Step]) -> list[_Item]:
        """The items along a path from the outermost value, as far as they exist."""
        found: list[_Item] = []
        start = self.start
        for step in path:
            items, _ = self._items(start)
            same = [item for item in items if item.matches(step)]
            if not same:
                break
            found.append(same[-1])  # of members with the same key, the last takes effect
            start = same[-1].value_start
        return found

    def with_value(self, item: _Item, value: Value) -> str:
        """The text with another value of an item."""
        body = self._as_json(value, self._indent(item.start))
        return self.text[: item.value_start] + body + self.text[item.end :]

    def with_item(self, parent: int, key: str | None, value: Value) -> str:
        """The text with an item at the end of the object or array that starts at `parent`."""
        text, (items, end) = self.text, self._items(parent)
        name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
        if not items:
            outer = self._indent(parent)
            indent = outer + self._step
            inside = text[parent + 1 : end - 1].rstrip()  # comments
            entry = f"{self.newline}{indent}{name}{self._as_json(value, indent)}"
            return f"{text[: parent + 1]}{inside}{entry}{self.newline}{outer}{text[end - 1 :]}"
        last = items[-1]
        if not self._begins_line(last.start):
            entry = f"{name}{json.dumps(value, ensure_ascii=False)}"
            return f"{text[: last.end]}, {entry}{text[last.end :]}"
        comma = self._behind_blanks(last.end)
        trailing = text[comma] == ","
        place = comma + 1 if trailing else last.end
        rest = _REST_OF_LINE.match(text, place)
        assert rest is not None
        indent = self._indent(last.start)
        entry = f"{self.newline}{indent}{name}{self._as_json(value, indent)}{',' * trailing}"
        before = text[:place] + "," * (not trailing) + rest[0]
        return f"{before}{entry}{text[rest.end() :]}"

    def without_item(self, parent: int, item: _Item) -> str:
        """The text without an item of an object or an array, its comma and its line."""
        text, (items, _) = self.text, self._items(parent)
        position = items.index(item)
        alone = self._begins_line(item.start)
        behind = self._behind_blanks(item.end)
        before = text[: item.start]
        if alone:
            before = before.rstrip(" \t").removesuffix("\n").removesuffix("\r")
        if text[behind] == ",":
            return before + text[behind + 1 if alone else self._behind_blanks(behind + 1) :]
        if position == 0:
            comments = text[parent + 1 : item.start].rstrip()
            if comments:
                comments += self.newline + self._indent(parent)
            return text[: parent + 1] + comments + text[behind:]
        comma = self._behind_blanks(items[position - 1].end)
        between = before[comma + 1 :]
        return text[:comma] + (between if alone else between.rstrip(" ")) + text[item.end :]

    def _items(self, start: int) -> tuple[list[_Item], int]:
        """The items of the object or the array that begins at a position, and its end."""
        plain, items = self._plain, list[_Item]()
        if plain[start] not in "{[":
            return items, start
        at = self._behind_blanks(start + 1)
        while plain[at] not in "}]":
            first, key = at, None
            if plain[start] == "{":
                key, at = _decode(plain, at)
                at = self._behind_blanks(self._behind_blanks(at) + 1)  # the colon
            value, end = _decode(plain, at)
            items.append(_Item(key, value, first, at, end))
            at = self._behind_blanks(end)
            if self._without_comments[at] == ",":
                at = self._behind_blanks(at + 1)
        return items, at + 1

    def _behind_blanks(self, at: int) -> int:
        """The position after white space and comments."""
        rest = self._without_comments
        while rest[at : at + 1].isspace():
            at += 1
        return at

    def _begins_line(self, at: int) -> bool:
        return self.text[:at].rstrip(" \t").endswith("\n")

    def _indent(self, at: int) -> str:
        """The indentation of the line of a position."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _as_json(self, value: Value, indent: str) -> str:
        """A value as JSON, indented like the text around it."""
        lines = json.dumps(value, indent=self._step, ensure_ascii=False).split("\n")
        return f"{self.newline}{indent}".join(lines)


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    """The text with a blank for each character of what matches, except for texts and line ends."""
    return pattern.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)


def _reason(error: json.JSONDecodeError) -> str:
    if error.msg == "Expecting value":
        word = _WORD.match(error.doc, error.pos)
        return f"{word[0][:20]!r} is not a value" if word else "it ends before its value"
    escape = "a text contains an escape that JSON does not allow"
    return escape if "escape" in error.msg else _REASONS.get(error.msg, error.msg)


def read_json(text: str) -> Value:
    """The value of a JSON text, which may have comments and trailing commas; `{}` if it is empty.

    Raises:
        Unreadable: It is not JSON.
    """
    return _Json(text).value


def set_item(text: str, path: Sequence[Step], value: Value) -> str:
    """The text with an item set; missing objects and arrays along the path are created.

    Args:
        text: JSON with an object as the outermost value; or empty.
        path: Steps from the outermost object to the item.
        value: Its new value.

    Raises:
        Unreadable: The text is not JSON, or something along the path is not an object or an array.
    """
    whole = _Json(text)
    expected = _expected(whole.value, path, value)
    if whole.is_empty:
        return f"{text}{json.dumps(expected, indent=2, ensure_ascii=False)}\n"
    found = whole.find(path)
    if len(found) == len(path):
        changed = whole.with_value(found[-1], value)
    else:
        for step in reversed(path[len(found) + 1 :]):
            value = {step: value} if isinstance(step, str) else [value]
        parent, step = found[-1].value_start if found else whole.start, path[len(found)]
        changed = whole.with_item(parent, step if isinstance(step, str) else None, value)
    if read_json(changed) != expected:
        raise Unreadable("the entry cannot be written without changing something else")
    return changed


def remove_item(text: str, path: Sequence[Step]) -> str:
    """The text without an item; unchanged if there is none."""
    whole = _Json(text)
    if whole.is_empty or len(found := whole.find(path)) < len(path):
        return text
    return whole.without_item(found[-2].value_start if len(path) > 1 else whole.start, found[-1])


# --- TOML ----------------------------------------------------------------------


def read_toml(text: str) -> dict[str, Value]:
    """The tables of a TOML text.

    Raises:
        Unreadable: It is not TOML.
    """
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(str(error)) from None


_TABLE = r"""
(?:(\A)|^[^\S\n]*\n)?                                     # the blank line before it
^[ \t]*\[{name}(?:\..*)?\].*(?:\n|\Z)                     # the header of the table or of a part
(?:(?:[^\S\n]*(?:\#.*)?\n)*[ \t]*[^\s\[\#].*(?:\n|\Z))*  # keys, and what is between them
(?:[ \t]*\#.*(?:\n|\Z))*                                  # a comment behind a blank line stays
(?(1)(?:[^\S\n]*\n)?)                                    # at the start, the blank line behind it
"""


def set_table(text: str, key: str, name: str, value: dict[str, Value] | None) -> str:
    """The text with the table `key.name` at its end, in place of the existing one.

    Args:
        text: TOML.
        key: The table that contains the table.
        name: Its name in that table.
        value: Its content: strings, lists of strings, tables of strings; None to remove it.

    Raises:
        Unreadable: The text is not TOML, or writes the table in a way that cannot be replaced.
    """
    due = _expected(read_toml(text), [key, name], value)
    newline, block = "\r\n" if "\r\n" in text else "\n", ""
    if value is None:
        del due[key][name]
    else:
        lines = [f"[{toml_key(key)}.{toml_key(name)}]"]
        lines += [f"{toml_key(one)} = {_toml(item)}" for one, item in value.items()]
        block = newline.join([*lines, ""])
    pattern = r"\s*\.\s*".join(f'"?{re.escape(toml_text(one)[1:-1])}"?' for one in (key, name))
    found = list(re.finditer(_TABLE.format(name=pattern), text, re.MULTILINE | re.VERBOSE))
    # What looks like the table may be inside a multi-line string.
    for chosen in (found, *([one] for one in found), []):
        changed = text
        for one in reversed(chosen):
            changed = changed[: one.start()] + changed[one.end() :]
        if changed and block:
            changed += newline if changed.endswith("\n") else newline * 2
        with suppress(Unreadable):
            left = read_toml(changed + block)
            left.setdefault(key, {})  # it may have no header of its own
            if left == due:
                return changed + block
    verb = "removed" if value is None else "replaced"
    raise Unreadable(f"the table {key}.{name} cannot be {verb}, because of the way it is written")


def toml_key(key: str) -> str:
    """A key in TOML, which is quoted only if it has to be."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key)


def toml_text(text: str) -> str:
    """A text in TOML, which unlike JSON has DEL as an escape alone."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml(value: Value) -> str:
    match value:
        case str():
            return toml_text(value)
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case dict():
            return f"{{ {', '.join(f'{toml_key(k)} = {_toml(v)}' for k, v in value.items())} }}"
        case _:
            return json.dumps(value)
