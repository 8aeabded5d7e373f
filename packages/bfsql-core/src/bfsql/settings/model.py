"""Settings models: the base class for backends, and each field as an option.

A field is read from the command line, an environment variable and a table of the
configuration file; `Option` has its name, kind, default and help for all three.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ByteSize, ConfigDict, Field, SecretBytes, SecretStr
from pydantic.fields import FieldInfo

from bfsql.masking import HIDDEN, hide_secrets, is_secret_name
from bfsql.models.valid_time import TimeKeys
from bfsql.settings.trust import FoundFile

Kind = Literal["text", "whole", "size", "number", "flag", "path", "list", "mapping"]

_NATURES: dict[Kind, str] = {
    "text": "text",
    "whole": "a whole number",
    "size": "a number of bytes or a size such as 500MB",
    "number": "a number",
    "flag": "true or false",
    "path": "a path",
    "list": "a list of texts, separated by commas or as a JSON array",
    "mapping": "KEY=VALUE, or a JSON object",
}

_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


@dataclass(frozen=True, slots=True)
class Env:
    """Names an environment variable that a setting is read from.

    dsn: Annotated[SecretStr, Env("DATABASE_URL")]
    """

    name: str


class BackendSettings(BaseModel):
    """Base of every backend's settings: frozen, unknown keys refused.

    The help of a setting is the `description` of its field, or the field's docstring.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    found_file: ClassVar[FoundFile] = FoundFile("valid_from valid_until until_included")
    """What a configuration file may set that nobody named, beside these."""
    of_caller: ClassVar[frozenset[str]] = frozenset()
    """Fields that, in a role's settings, may name claims of the caller's token in braces."""
    file_options: ClassVar[Mapping[str, str]] = {}
    """Fields that say how files are read, with the fields of `SourceOptions` that they are."""

    valid_from: list[str] = Field(default=[])
    """Properties with the date from which a fact holds: since, or PREDICATE.since for one kind."""
    valid_until: list[str] = Field(default=[])
    """Properties with the date until which it holds; without one it still does."""
    until_included: bool = False
    """Whether a fact still holds on that date."""

    @property
    def time_keys(self) -> TimeKeys:
        """The properties that say when facts hold."""
        return TimeKeys(tuple(self.valid_from), tuple(self.valid_until), self.until_included)

    def source_options(self) -> dict[str, Any]:
        """The fields that say how files are read, for `SourceOptions`."""
        given = {name: getattr(self, field) for field, name in self.file_options.items()}
        return {name: tuple(one) if isinstance(one, list) else one for name, one in given.items()}


@dataclass(frozen=True, slots=True)
class Option:
    """One setting, as an option, an environment variable and a key of a table."""

    name: str
    """The name with dashes, as in `--name`."""
    field: str
    """The field of the model."""
    kind: Kind
    secret: bool = False
    """Whether it is a secret: never shown, and given on the command line as a file that holds it.
    """
    help: str = ""
    default: str | None = None
    """The default as text; None if there is none, or if it is a secret."""
    required: bool = False
    environment: tuple[str, ...] = ()
    """Environment variables from which it is read; the first that is set counts."""
    choices: tuple[str, ...] = ()
    """The allowed values, if the model lists them."""
    optional: bool = False
    """Whether None is a value; its text is `none`."""
    bounds: str = ""
    """The limits of a number, in words."""

    @property
    def key(self) -> str:
        """The name in a table; `schema_`, which avoids a name of pydantic's, is `schema`."""
        return self.field.rstrip("_")

    @property
    def flag(self) -> str:
        """The spelling on the command line: a secret would be visible in the list of processes."""
        return f"--{self.name}-file" if self.secret else f"--{self.name}"

    @property
    def right(self) -> str:
        """The valid values, in words."""
        nature = f"one of {', '.join(self.choices)}" if self.choices else _NATURES[self.kind]
        return nature + self.bounds + (", or none" if self.optional and self.is_number else "")

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers."""
        return self.kind in ("whole", "size", "number")


def options(model: type[BaseModel], prefix: str | None = None) -> list[Option]:
    """A model's fields as options: its own in their order, then inherited ones.

    Args:
        model: The settings model.
        prefix: Gives every field an environment variable of its own, named by
            prefix and field in capitals; it takes precedence over those of `Env`.
    """
    return list(_options(model, prefix))


def options_of_one(model: type[BaseModel], prefix: str) -> list[Option]:
    """As `options`, for one graph of several: `DATABASE_URL` would be that of any of them."""
    return [replace(one, environment=one.environment[:1]) for one in options(model, prefix)]


@lru_cache(maxsize=64)  # a command needs those of each backend several times
def _options(model: type[BaseModel], prefix: str | None) -> tuple[Option, ...]:
    inherited = {name for base in model.__bases__ for name in getattr(base, "model_fields", ())}
    own = ((name, field) for name, field in model.model_fields.items() if not field.exclude)
    fields = sorted(own, key=lambda one: one[0] in inherited)
    homes = reversed(model.__mro__[: model.__mro__.index(BaseModel)])
    documented = {name: text for home in homes for name, text in _docstrings(home)}
    return tuple(_option(name, field, prefix, documented.get(name, "")) for name, field in fields)


def _docstrings(home: type) -> Iterator[tuple[str, str]]:
    """The fields of a class with their docstrings, which pydantic takes 20 ms to find."""
    module = sys.modules.get(home.__module__)
    source = "".join(linecache.getlines(getattr(module, "__file__", None) or ""))
    classes = (one for one in ast.parse(source).body if isinstance(one, ast.ClassDef))
    lines = [line for one in classes if one.name == home.__name__ for line in one.body]
    for pair in pairwise(lines):
        match pair:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield name, text


def spelled(value: Any) -> str:
    """A setting's value as text; secrets are hidden, including those inside URLs and mappings."""
    match value:
        case None | bool():
            return str(value).lower()
        case SecretStr() | SecretBytes():
            return HIDDEN
        case Enum():
            return str(value.value)
        case Mapping():
            return ", ".join(
                f"{key}={spelled(item)}" for key, item in without_secrets(value).items()
            )
        case list() | tuple() | set() | frozenset():
            items = sorted(value) if isinstance(value, (set, frozenset)) else value
            return ", ".join(spelled(item) for item in items)
        case _:
            return hide_secrets(str(value))


def without_secrets(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping in which the values with names of secrets are hidden."""
    return {key: HIDDEN if is_secret_name(str(key)) else mapping[key] for key in mapping}


def _option(name: str, field: FieldInfo, prefix: str | None, docstring: str) -> Option:
    core, optional, marks = _core(field.annotation)
    marks = [*marks, *field.metadata]
    variables = [f"{prefix}{name.rstrip('_').upper()}"] if prefix else []
    variables += [mark.name for mark in marks if isinstance(mark, Env)]
    secret = _holds_secret(field.annotation)
    bounds = [
        f", {words} {getattr(mark, bound)}"
        for bound, words in _BOUNDS.items()
        for mark in marks
        if getattr(mark, bound, None) is not None
    ]
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    return Option(
        name=name.rstrip("_").replace("_", "-"),
        field=name,
        kind=_kind(core),
        secret=secret,
        help=" ".join((field.description or docstring).split()),  # a docstring has line breaks
        default=None if default is None or secret else spelled(default),
        required=field.is_required(),
        environment=tuple(dict.fromkeys(variables)),
        choices=_choices(core),
        optional=optional,
        bounds="".join(bounds),
    )


def _core(annotation: Any) -> tuple[Any, bool, list[Any]]:
    """An annotation without None and markers; whether it allowed None; the markers."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        core, optional, marks = _core(arguments[0])
        return core, optional, [*marks, *arguments[1:]]
    if origin in (Union, UnionType):
        parts = [_core(argument) for argument in arguments]
        cores = [core for core, _, _ in parts if core is not NoneType]
        optional = len(cores) < len(parts) or any(one for _, one, _ in parts)
        # Of several alternatives the path is the one on which a relative value depends.
        core = cores[0] if len(cores) == 1 else Path if Path in cores else str
        return core, optional, [mark for _, _, marks in parts for mark in marks]
    return annotation, False, []


def _kind(core: Any) -> Kind:
    plain = get_origin(core) or core
    if not isinstance(plain, type):
        return "text"
    kinds: list[tuple[tuple[type, ...], Kind]] = [
        ((bool,), "flag"),
        ((ByteSize,), "size"),
        ((int,), "whole"),
        ((float,), "number"),
        ((Path,), "path"),
        ((Mapping, BaseModel), "mapping"),
        ((str, bytes, Enum), "text"),
        ((Iterable,), "list"),
    ]
    return next((kind for types, kind in kinds if issubclass(plain, types)), "text")


def _choices(core: Any) -> tuple[str, ...]:
    if get_origin(core) is Literal:
        return tuple(str(choice) for choice in get_args(core))
    if isinstance(core, type) and issubclass(core, Enum):
        return tuple(str(choice.value) for choice in core)
    return ()


def _holds_secret(annotation: Any) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, (SecretStr, SecretBytes)):
        return True
    return any(_holds_secret(argument) for argument in get_args(annotation))
