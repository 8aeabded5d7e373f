"""The check in front of all six tools, on the raw arguments (`protocol.md` 12).

What can only mean one thing is taken as that: a bare string or a JSON string
for a list, `"2"` or `2.0` for 2. Everything else is refused, in a sentence
that names the argument, the value, and what would be right.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

from bfsql.errors import ToolError
from bfsql.tools.parameters import MAX_TEXT_BYTES, PARAMETERS, Parameter

SHOWN = 60
"""Characters of a wrong value that a sentence repeats."""


def checked(tool: str, arguments: Any) -> dict[str, Any]:
    """The arguments of a call, each of its right type, defaults filled in.

    Args:
        tool: Name of the tool.
        arguments: What the client sent.

    Raises:
        ToolError: An unknown tool or argument, a missing argument or a wrong value.
    """
    if tool not in PARAMETERS:
        raise ToolError(
            f"There is no tool {shown(tool)}. The tools are: {', '.join(PARAMETERS)}.",
            kind="unknown_tool",
        )
    parameters = {p.name: p for p in PARAMETERS[tool]}
    given = _given(tool, arguments)
    for name in given:
        if name not in parameters:
            raise _unknown_argument(tool, name, list(parameters))
    return {name: _value(tool, p, given.get(name)) for name, p in parameters.items()}


def shown(value: Any) -> str:
    """A value as a sentence repeats it: as JSON, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False)
        if not text.isprintable():  # half a character, or one that hides or turns others
            text = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError):  # no JSON, a huge number, nested too deeply
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"


def _given(tool: str, arguments: Any) -> Mapping[str, Any]:
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise ToolError(
            f"{tool} takes its arguments as an object of names and values, not {shown(arguments)}.",
            kind="bad_value",
        )
    return {str(name): value for name, value in arguments.items()}


def _unknown_argument(tool: str, name: str, known: list[str]) -> ToolError:
    near = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    have = f"Its arguments are: {', '.join(known)}." if known else "It takes no arguments."
    return ToolError(
        f"{tool} has no argument {shown(name)}.{hint} {have}",
        kind="unknown_argument",
        argument=name,
    )


def _value(tool: str, p: Parameter, value: Any) -> Any:
    if value is None or (p.kind == "texts" and not p.required and value in ([], "")):
        if p.required:
            raise ToolError(
                f"{tool} needs {p.name}. {p.description}",
                kind="missing_argument",
                argument=p.name,
            )
        return [] if p.kind == "texts" else p.default
    match p.kind:
        case "text":
            return _text(p, value)
        case "texts":
            return _texts(p, value)
        case "whole":
            return _whole(p, value)
        case "flag":
            return _flag(p, value)


def _text(p: Parameter, value: Any, right: str = "one string") -> str:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise _wrong(p, value, right)
    if not value.strip():
        raise _wrong(p, value, "a string that is not blank")
    size = len(value.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT_BYTES:
        raise ToolError(
            f"{p.name} holds a text of {size} bytes: {shown(value)}. At most {MAX_TEXT_BYTES} "
            "bytes are taken. Ids come from search_entities.",
            kind="too_large",
            argument=p.name,
        )
    return value


def _texts(p: Parameter, value: Any) -> list[str]:
    items = _listed(value)
    if items is None:
        raise _wrong(p, value, "a list of strings")
    if len(items) < p.least_items:
        need = "at least one" if p.least_items == 1 else f"{p.least_items} or more"
        raise _wrong(p, value, f"a list of {need}", " Ids come from search_entities.")
    if p.maximum is not None and len(items) > p.maximum:
        raise ToolError(
            f"{p.name} holds {len(items)} values; at most {p.maximum} are taken. "
            "Make several calls.",
            kind="too_large",
            argument=p.name,
        )
    return list(dict.fromkeys(_text(p, item, "a list of strings") for item in items))


def _listed(value: Any) -> list[Any] | None:
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            try:
                decoded = json.loads(value)
            except (ValueError, RecursionError):
                return [value]
            return decoded if isinstance(decoded, list) else [value]
        return [value]
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    return list(value) if isinstance(value, list | tuple) else None


def _whole(p: Parameter, value: Any) -> int:
    number = _number(value)
    if number is None or (isinstance(number, float) and not number.is_integer()):
        raise _wrong(p, value, f"a whole number {_range(p)}")
    number = int(number)
    if number == 0 and p.or_zero:
        return 0
    too_small = p.minimum is not None and number < p.minimum
    if too_small or (p.maximum is not None and number > p.maximum):
        raise _wrong(p, value, f"a whole number {_range(p)}")
    return number


def _number(value: Any) -> float | int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if isinstance(value, str) and len(value) <= SHOWN:
        for read in (int, float):
            try:
                return read(value)
            except ValueError:
                continue
    return None


def _flag(p: Parameter, value: Any) -> bool:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise _wrong(p, value, "true or false")


def _range(p: Parameter) -> str:
    if p.maximum is not None:
        return f"from {p.minimum} to {p.maximum}"
    return f"of at least {p.minimum}" + (", or 0 for no bound" if p.or_zero else "")


def _wrong(p: Parameter, value: Any, right: str, advice: str = "") -> ToolError:
    return ToolError(
        f"{p.name} must be {right}, not {shown(value)}. {p.description}{advice}",
        kind="bad_value",
        argument=p.name,
    )
