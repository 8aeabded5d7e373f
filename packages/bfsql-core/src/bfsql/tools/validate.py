"""Validation of a call's arguments: their form and their names (`protocol.md` 12, 13, 24).

Raw arguments are checked first. Unambiguous variants are accepted: a bare string or a JSON
string for a list, `"2"` or `2.0` for 2. Everything else is refused, in a sentence that names
the argument, the value, and the expected form.

Types and predicates follow. A type unknown to the graph is never an error, since recipes are used
with different graphs: a note names it and the closest known types.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, Self, TypeVar

from bfsql.answers.clean import HUGE
from bfsql.answers.notes import Note
from bfsql.errors import ToolError, bad_value, did_you_mean
from bfsql.models import MAX_HOPS, MAX_STEPS
from bfsql.models.quotation import EXCERPT_LENGTH, excerpt, listed
from bfsql.models.quotation import SHOWN as LISTED
from bfsql.models.spelling import KnownNames
from bfsql.query.vocabulary import read_as
from bfsql.tools.parameters import MAX_TEXT_BYTES, PARAMETERS, Parameter

T = TypeVar("T", bound=Note)


# --- the raw arguments --------------------------------------------------------


def checked(
    tool: str, arguments: Any, has_name: Callable[[str], bool] = lambda _: False
) -> dict[str, Any]:
    """The arguments of a call, converted to their types and with defaults filled in.

    Args:
        tool: Name of the tool.
        arguments: The arguments as the client sent them.
        has_name: Whether the graph has a type, predicate or property of a name. `null` is an
            argument that is not set, unless the graph has it.

    Raises:
        ToolError: An unknown tool or argument, a missing argument or a wrong value.
    """
    if tool not in PARAMETERS:
        raise ToolError(
            f"There is no tool {excerpt(tool)}. The tools are: {', '.join(PARAMETERS)}.",
            kind="unknown_tool",
        )
    parameters = {p.name: p for p in PARAMETERS[tool]}
    given = _mapping_of(tool, arguments, {p.alias: p.name for p in PARAMETERS[tool] if p.alias})
    if "max_hops" in parameters and not given.get("along"):
        most = MAX_STEPS if given.get("path") else MAX_HOPS
        parameters["max_hops"] = replace(parameters["max_hops"], maximum=most)
    known = [name for name in parameters if name != "at"]  # which has no meaning in most graphs
    for name in given:
        if name not in parameters:
            raise ToolError(
                f"{tool} has no argument {excerpt(name)}.{argument_like(name, known)} Its "
                f"arguments are: {', '.join(known)}.",
                kind="unknown_argument",
                argument=name,
            )
    return {name: _value(tool, p, given.get(name), has_name) for name, p in parameters.items()}


_SYNONYMS = (
    "seeds ids id nodes entities entity names name node entity_id start from",
    "max_hops k depth max_depth hops",
    "node_types types type labels label",
    "predicates edge_types relations relationship_types",
    "query q name text search",
    "to target end",
    "where filter filters conditions",
    "offset after cursor page skip",
    "fields keys properties",
)
"""Arguments of tools and of the web API, each with names that others have for the same."""


def argument_like(name: str, known: Collection[str]) -> str:
    """` Did you mean ...?` with the argument that others call so, or the one most like it."""
    groups = (group.split() for group in _SYNONYMS)
    same = [one for group in groups if name.lower() in group for one in group if one in known]
    return f" Did you mean {same[0]}?" if same else did_you_mean(name.lower(), known)


def missing(tool: str, argument: str) -> ToolError:
    """Create the error of a call that lacks a required argument."""
    [description] = [p.description for p in PARAMETERS[tool] if p.name == argument]
    return ToolError(
        f"{tool} needs {argument}: {description}.", kind="missing_argument", argument=argument
    )


def _mapping_of(tool: str, arguments: Any, aliases: Mapping[str, str]) -> Mapping[str, Any]:
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise ToolError(
            f"{tool} takes its arguments as an object of names and values, not "
            f"{excerpt(arguments)}.",
            kind="bad_value",
        )
    given = {str(name): value for name, value in arguments.items()}
    for alias, name in aliases.items():
        if alias in given and name not in given:
            given[name] = given.pop(alias)
    return given


def _is_unset(p: Parameter, value: Any, has_name: Callable[[str], bool]) -> bool:
    """Whether clients send this value for an optional argument that the model left out."""
    items = _listed(value) if isinstance(value, str | list) else [value]
    if items is None or len(items) != 1:
        return not items
    if items[0] is None or (isinstance(items[0], str) and not items[0].strip()):
        return True
    is_entity = p.name in ("seeds", "to")  # any text may be the name of one
    return items[0] in ("null", "None") and not is_entity and not has_name(items[0])


def _value(tool: str, p: Parameter, value: Any, has_name: Callable[[str], bool]) -> Any:
    if value is None or (not p.required and _is_unset(p, value, has_name)):
        if p.required:
            raise missing(tool, p.name)
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
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < HUGE:
        value = str(value)
    if not isinstance(value, str):
        raise _wrong(p, value, right)
    if not value.strip():
        raise _wrong(p, value, "a string that is not blank")
    size = len(value.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT_BYTES:
        raise ToolError(
            f"{p.name} contains a text of {size} bytes: {excerpt(value)}. The limit is "
            f"{MAX_TEXT_BYTES} bytes: shorten it.",
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
            f"{p.name} has {len(items)} values; the limit is {p.maximum}. Make several calls.",
            kind="too_large",
            argument=p.name,
        )
    texts = [_text(p, item, "a list of strings") for item in items]
    return texts if p.repeats else list(dict.fromkeys(texts))


def _listed(value: Any) -> list[Any] | None:
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, str | int) and not isinstance(value, bool):
        return [value]
    return list(value) if isinstance(value, list | tuple) else None


def _whole(p: Parameter, value: Any) -> int:
    number = _number(value)
    if number is None or (isinstance(number, float) and not number.is_integer()):
        raise _wrong(p, value, f"a whole number {_range(p)}")
    number = min(int(number), sys.maxsize)  # more than any graph has
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
    if isinstance(value, str) and len(value) <= EXCERPT_LENGTH:
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
    return bad_value(
        f"{p.name} must be {right}, not {excerpt(value)}. Its use: {p.description}.{advice}", p.name
    )


# --- types and predicates ----------------------------------------------------------


class Doubt(str):
    """A note that a name is unknown to the graph; it is dropped if the answer has the name."""

    __slots__ = ("name",)
    name: str

    def __new__(cls, text: str, name: str) -> Self:
        """Create the sentence with the name that it is about."""
        doubt = super().__new__(cls, text)
        doubt.name = name
        return doubt


def without_doubts(notes: Sequence[T], names: Collection[str]) -> list[T]:
    """The notes, without doubts about names that an answer has."""
    return [note for note in notes if not (isinstance(note, Doubt) and note.name in names)]


def matched(
    argument: str, values: Sequence[str], known: Sequence[str], *, complete: bool
) -> tuple[list[str], list[str]]:
    """The values in the graph's spelling, and notes on unknown values.

    Args:
        argument: The argument that contains the values.
        values: The values as the call gave them.
        known: The names that `describe_schema` lists.
        complete: Whether this list is complete.
    """
    every = KnownNames(known)
    spelled: list[str] = []
    notes: list[str] = []
    unknown: list[str] = []
    for value in chain.from_iterable(_parts(joined, every) for joined in values):
        name = every.one(value)
        if name is None:
            unknown.append(value)
        elif name != value:
            notes.append(read_as(argument, value, name))
        spelled.append(name or value)
    notes += [
        Doubt(_unknown(argument, value, every, complete=complete), value)
        for value in unknown[:LISTED]
    ]
    if len(unknown) > LISTED:
        notes.append(f"{argument}: {len(unknown) - LISTED} more values have no match.")
    return list(dict.fromkeys(spelled)), notes


def _parts(value: str, known: KnownNames) -> list[str]:
    """Split `drug,gene` into two values if the graph knows both parts but not the whole."""
    parts = [part.strip() for part in value.split(",")]
    return parts if value not in known and all(part in known for part in parts) else [value]


def _unknown(argument: str, value: str, known: KnownNames, *, complete: bool) -> str:
    near = list(chain.from_iterable(known.nearest(value)))
    where = "this graph" if complete else "the sample of this graph's schema"
    hint = (
        f"The closest are: {listed(near)}."
        if near
        else "describe_schema and schema_summary list the names."
    )
    return f"{argument}: {where} has no {excerpt(value)}, so it matches nothing. {hint}"
