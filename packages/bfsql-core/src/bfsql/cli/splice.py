"""Changes one entry of a JSON or TOML file and keeps every other byte.

Client files belong to their users: they have comments, trailing commas and an order. So the text
around the entry is not parsed and rewritten. The result of a change is parsed again, and refused if
anything except the entry differs.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

Value = Any

_BLANKS = re.compile(r"(?:[\s\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_BARE = re.compile(r"[^\s,\]}/]+")
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\n]*)?")


class Unreadable(ValueError):
    """The text is not valid; the message names the line."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A value and its position in the text."""

    start: int
    end: int
    value: Value
    items: tuple[_Item, ...] = ()
    """The items of an object or an array."""

    def member(self, key: str) -> _Item | None:
        """The last member of a name, which is the one that takes effect."""
        return next((item for item in reversed(self.items) if item.key == key), None)


@dataclass(frozen=True, slots=True)
class _Item:
    """A member of an object, or an element of an array."""

    key: str | None
    start: int
    """Start of the key, or of the element, which has no key."""
    node: _Node

    @property
    def end(self) -> int:
        return self.node.end


# --- JSON, with comments and trailing commas ----------------------------------


def read_json(text: str) -> Value:
    """The value of a JSON text, which may have comments and trailing commas; `{}` if it is empty.

    Raises:
        Unreadable: It is not JSON.
    """
    return _parsed(text).value


def set_member(text: str, path: Sequence[str], value: Value) -> str:
    """The text with a member set; missing objects along the path are created.

    Args:
        text: JSON with an object as the outermost value; or empty.
        path: Keys from the outermost object to the member.
        value: Its new value.

    Raises:
        Unreadable: The text is not JSON, or something along the path is not an object.
    """
    node = _parsed(text)
    due = _with_member(node.value, path, value)
    changed = _set_member(text, node, path, value)
    if read_json(changed) != due:
        raise Unreadable("the entry cannot be written without changing something else")
    return changed


def remove_member(text: str, path: Sequence[str]) -> str:
    """The text without a member; unchanged if there is none."""
    parent = _at(_parsed(text), path[:-1])
    item = parent.member(path[-1]) if parent else None
    return _without_item(text, parent, item) if parent and item else text


def set_element(text: str, path: Sequence[str], key: str, value: dict[str, Value]) -> str:
    """The text with an object in an array set: the one with the same value of `key`, or a new one.

    Args:
        text: JSON, as for `set_member`.
        path: Keys from the outermost object to the array, which is created if it is missing.
        key: The key that identifies elements.
        value: The object.

    Raises:
        Unreadable: The text is not JSON, or something other than an array is there.
    """
    array = _at(_parsed(text), path)
    if array is None:
        return set_member(text, path, [value])
    if not isinstance(array.value, list):
        raise Unreadable(f"{'.'.join(path)} is not an array")
    item = _element(array, key, value[key])
    return _with_item(text, array, None, value) if item is None else _replaced(text, item, value)


def remove_element(text: str, path: Sequence[str], key: str, name: str) -> str:
    """The text without the object in an array whose `key` has a value, if there is one."""
    array = _at(_parsed(text), path)
    item = _element(array, key, name) if array else None
    return _without_item(text, array, item) if array and item else text


def _element(array: _Node, key: str, name: str) -> _Item | None:
    for item in array.items:
        if isinstance(item.node.value, dict) and item.node.value.get(key) == name:
            return item
    return None


def _at(node: _Node, path: Sequence[str]) -> _Node | None:
    for key in path:
        item = node.member(key)
        if item is None:
            return None
        node = item.node
    return node


def _with_member(whole: Value, path: Sequence[str], value: Value) -> Value:
    """The expected parsed value after the change."""
    if not isinstance(whole, dict):
        raise Unreadable("the place for the entry is not an object")
    inner = value if len(path) == 1 else _with_member(whole.get(path[0], {}), path[1:], value)
    return {**whole, path[0]: inner}


def _set_member(text: str, node: _Node, path: Sequence[str], value: Value) -> str:
    for depth, key in enumerate(path):
        item = node.member(key)
        if item is None:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return _with_item(text, node, key, value)
        if depth == len(path) - 1:
            return _replaced(text, item, value)
        node = item.node
    raise AssertionError(path)


def _replaced(text: str, item: _Item, value: Value) -> str:
    body = _as_json(value, text, _indent(text, item.start))
    return text[: item.node.start] + body + text[item.end :]


def _with_item(text: str, parent: _Node, key: str | None, value: Value) -> str:
    """The text with an item after the last one of an object or an array."""
    if parent.start == parent.end:  # the text is empty
        return f"{text}{json.dumps({key: value}, indent=2, ensure_ascii=False)}\n"
    newline = _newline(text)
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if not parent.items:
        outer = _indent(text, parent.start)
        indent = outer + _step(text)
        inside = text[parent.start + 1 : parent.end - 1].rstrip()  # comments
        body = f"{newline}{indent}{name}{_as_json(value, text, indent)}{newline}{outer}"
        return f"{text[: parent.start + 1]}{inside}{body}{text[parent.end - 1 :]}"
    last = parent.items[-1]
    if not _begins_line(text, last.start):
        body = json.dumps(value, ensure_ascii=False)
        return f"{text[: last.end]}, {name}{body}{text[last.end :]}"
    comma = _blank(text, last.end)
    trailing = text[comma] == ","
    place = comma + 1 if trailing else last.end
    rest = _REST_OF_LINE.match(text, place)
    assert rest is not None
    indent = _indent(text, last.start)
    body = f"{newline}{indent}{name}{_as_json(value, text, indent)}{',' * trailing}"
    before = text[:place] + "," * (not trailing) + rest[0]
    return f"{before}{body}{text[rest.end() :]}"


def _without_item(text: str, parent: _Node, item: _Item) -> str:
    """The text without an item, its comma and its line."""
    at = parent.items.index(item)
    alone = _begins_line(text, item.start)
    behind = _blank(text, item.end)
    if text[behind] == ",":
        start = _end_of_line_before(text, item.start) if alone else item.start
        return text[:start] + text[behind + 1 if alone else _blank(text, behind + 1) :]
    if at == 0:
        comments = text[parent.start + 1 : item.start].rstrip()
        if comments:
            comments += _newline(text) + _indent(text, parent.start)
        return text[: parent.start + 1] + comments + text[behind:]
    comma = _blank(text, parent.items[at - 1].end)
    start = _end_of_line_before(text, item.start) if alone else item.start
    between = text[comma + 1 : start]
    return text[:comma] + (between if alone else between.rstrip(" ")) + text[item.end :]


def _begins_line(text: str, at: int) -> bool:
    line = text.rfind("\n", 0, at) + 1
    return line > 0 and not text[line:at].strip(" \t")


def _end_of_line_before(text: str, at: int) -> int:
    end = text.rfind("\n", 0, at)
    return end - 1 if text[end - 1 : end] == "\r" else end


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent(text: str, at: int) -> str:
    """The indentation of the line of a position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _step(text: str) -> str:
    """The indentation unit of the file: that of its first indented line."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _as_json(value: Value, text: str, indent: str) -> str:
    """A value as JSON, indented like the text around it."""
    lines = json.dumps(value, indent=_step(text), ensure_ascii=False).split("\n")
    return f"{_newline(text)}{indent}".join(lines)


def _parsed(text: str) -> _Node:
    start = _blank(text, 0)
    if start == len(text):
        return _Node(start, start, {})
    node = _value(text, start)
    if (rest := _blank(text, node.end)) != len(text):
        _fail(text, rest, "there is more text after the end")
    return node


def _value(text: str, at: int) -> _Node:
    """The value that begins at a position."""
    match text[at : at + 1]:
        case "{":
            items, end = _items(text, at, "}")
            return _Node(at, end, {str(i.key): i.node.value for i in items}, items)
        case "[":
            items, end = _items(text, at, "]")
            return _Node(at, end, [item.node.value for item in items], items)
        case '"':
            return _string(text, at)
        case "":
            _fail(text, at, "it ends before its value")
    found = _BARE.match(text, at)
    word = found[0] if found else text[at]
    try:
        return _Node(at, at + len(word), json.loads(word))
    except ValueError:
        return _fail(text, at, f"{word[:20]!r} is not a value")


def _items(text: str, at: int, last: str) -> tuple[tuple[_Item, ...], int]:
    """The items of the object or array that begins at a position, and its end."""
    items: list[_Item] = []
    at = _blank(text, at + 1)
    while text[at : at + 1] != last:
        start, key = at, None
        if last == "}":
            name = _string(text, at)
            key, at = name.value, _blank(text, name.end)
            if text[at : at + 1] != ":":
                _fail(text, at, f"a colon is missing after {key!r}")
            at = _blank(text, at + 1)
        items.append(_Item(key, start, _value(text, at)))
        at = _blank(text, items[-1].end)
        if text[at : at + 1] == ",":
            at = _blank(text, at + 1)
        elif text[at : at + 1] != last:
            _fail(text, at, f"a comma or {last} is missing")
    return tuple(items), at + 1


def _string(text: str, at: int) -> _Node:
    found = _STRING.match(text, at)
    if found is None:
        _fail(text, at, "a text in double quotes is missing or not closed")
    try:
        return _Node(at, found.end(), json.loads(found[0]))
    except ValueError:
        _fail(text, at, "a text contains an escape that JSON does not allow")


def _blank(text: str, at: int) -> int:
    """The position after white space and comments."""
    found = _BLANKS.match(text, at)
    assert found is not None
    return found.end()


def _fail(text: str, at: int, reason: str) -> NoReturn:
    raise Unreadable(f"line {text.count(chr(10), 0, at) + 1}: {reason}")


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


def set_table(text: str, path: Sequence[str], value: dict[str, Value]) -> str:
    """The text with a table set: it replaces the existing one, or is appended.

    Args:
        text: TOML.
        path: Keys of the table.
        value: Its content: strings, lists of strings, tables of strings.

    Raises:
        Unreadable: The text is not TOML, or writes the table in a way that cannot be replaced.
    """
    present = read_toml(text)
    due = _with_member(present, path, value)
    if path[-1] in _table(present, path[:-1]):
        text = remove_table(text, path)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(map(_toml_key, path))}]"]
    lines += [f"{_toml_key(key)} = {_toml(item)}" for key, item in value.items()]
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    changed = f"{text}{gap}{newline.join(lines)}{newline}"
    if read_toml(changed) != due:
        raise Unreadable(
            f"the table {'.'.join(path)} cannot be replaced, because of the way it is written"
        )
    return changed


def remove_table(text: str, path: Sequence[str]) -> str:
    """The text without a table and its sub-tables; the table needs a header of its own.

    Raises:
        Unreadable: It is written in another way.
    """
    due = read_toml(text)
    parent = _table(due, path[:-1])
    del parent[path[-1]]
    lines = text.splitlines(keepends=True)
    blocks = list(_blocks(lines, path))
    # What looks like a block may be inside a multi-line string.
    for chosen in (blocks, *([block] for block in blocks)):
        gone = {number for block in chosen for number in block}
        changed = "".join(line for number, line in enumerate(lines) if number not in gone)
        with suppress(Unreadable):
            left = read_toml(changed)
            if not parent:  # the parent table may have no header of its own
                _table(left, path[:-2]).setdefault(path[-2], {})
            if left == due:
                return changed
    raise Unreadable(
        f"the table {'.'.join(path)} cannot be removed, because of the way it is written"
    )


def _blocks(lines: Sequence[str], path: Sequence[str]) -> Iterator[range]:
    """Line numbers of a table and its sub-tables, each with the blank line before it."""
    start = None
    for number, line in enumerate([*lines, "[end]"]):
        keys = _head_keys(line)
        if keys is None:
            continue
        if start is not None:
            blank = start > 0 and not lines[start - 1].strip()
            yield range(start - blank, _end_of_block(lines[:number], start))
        start = number if keys[: len(path)] == list(path) else None


def _end_of_block(lines: Sequence[str], start: int) -> int:
    """The line at which a table ends; a comment behind a blank line belongs to what follows."""
    end = len(lines)
    while not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#"):
        end -= 1
    while end < len(lines) and lines[end].strip():
        end += 1
    return end + (start == 0 and end < len(lines))


def _table(whole: dict[str, Value], path: Sequence[str]) -> dict[str, Value]:
    """A table of the parsed text; empty if there is none."""
    for key in path:
        found = whole.get(key)
        whole = found if isinstance(found, dict) else {}
    return whole


def _head_keys(line: str) -> list[str] | None:
    """The keys of a table's header; None if the line is not a header."""
    if not line.lstrip().startswith("["):
        return None
    try:
        value: Value = tomllib.loads(line.strip())
    except tomllib.TOMLDecodeError:
        return None
    keys: list[str] = []
    while isinstance(value, dict) and value:
        [(key, value)] = value.items()
        keys.append(key)
    return keys


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key)


def _toml(value: Value) -> str:
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case dict():
            return f"{{ {', '.join(f'{_toml_key(k)} = {_toml(v)}' for k, v in value.items())} }}"
        case _:
            return json.dumps(value)
