"""A backend class without a plugin: what its signature says becomes one.

    class MyGraph(GraphDbInterface):
        def __init__(self, path: Path, *, timeout: float = 5.0) -> None: ...

Its `create` (a class method, awaitable or not), or else its `__init__`, names
the settings: each parameter is a field, its annotation the field's type, its
default the field's default.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ConfigDict, SecretStr, create_model

from bfsql.abc import GraphDbInterface
from bfsql.errors import NotABackend
from bfsql.plugins.plugin import BackendPlugin
from bfsql.settings import BackendSettings

_SECRETS = re.compile(r"password|secret|token|api_?key|credentials|dsn|connection_string")

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class _Derived(BackendSettings):
    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())


@dataclass(frozen=True, slots=True)
class _Argument:
    """A parameter of the class, and the field that stands for it."""

    name: str
    field: str
    positional: bool
    hidden: bool
    """The field is a `SecretStr` where the class wants a text."""


def plugin_for(name: str, distribution: str, backend: type[GraphDbInterface]) -> BackendPlugin:
    """A `BackendPlugin` around a bare class.

    Args:
        name: The backend's name, for sentences.
        distribution: Where it comes from, for sentences.
        backend: The class; all of the eight methods have to be there.

    Raises:
        NotABackend: It lacks methods.
    """
    missing = sorted(getattr(backend, "__abstractmethods__", ()))
    if missing:
        raise NotABackend(name, distribution, backend, f"lacks {', '.join(missing)}")
    create = cast("Callable[..., Any]", getattr(backend, "create", backend))
    arguments, settings = _derived(backend.__name__, create)

    async def open_backend(chosen: BackendSettings) -> GraphDbInterface:
        positional, named = _call(arguments, chosen)
        made = create(*positional, **named)
        opened = await made if inspect.isawaitable(made) else made
        if not isinstance(opened, GraphDbInterface):
            raise NotABackend(name, distribution, opened)
        return opened

    summary = (inspect.getdoc(backend) if backend.__doc__ else None) or f"{backend.__name__}"
    return BackendPlugin(summary.partition("\n")[0], settings, open_backend)


def _derived(
    title: str, create: Callable[..., Any]
) -> tuple[list[_Argument], type[BackendSettings]]:
    arguments: list[_Argument] = []
    fields: dict[str, Any] = {}
    for name, parameter in _parameters(create).items():
        required = parameter.default is inspect.Parameter.empty
        if parameter.kind in _VARIADIC or (name.startswith("_") and not required):
            continue
        annotation = _annotation(parameter)
        hidden = annotation in (str, str | None) and bool(_SECRETS.search(name))
        if hidden:
            annotation = SecretStr if annotation is str else SecretStr | None
        # A field may not hide a name of pydantic's own; `Option.key` drops the underscore again.
        field = name.strip("_") + ("_" if hasattr(_Derived, name) else "")
        positional = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
        arguments.append(_Argument(name, field, positional, hidden))
        fields[field] = (annotation, _default(parameter, hidden=hidden))
    return arguments, create_model(f"{title}Settings", __base__=_Derived, **fields)


def _default(parameter: inspect.Parameter, *, hidden: bool) -> Any:
    if parameter.default is inspect.Parameter.empty:
        return ...
    return SecretStr(parameter.default) if hidden and parameter.default else parameter.default


def _parameters(create: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(create, eval_str=True).parameters)
    except NameError:  # an annotation that only a type checker can see
        return dict(inspect.signature(create).parameters)


def _annotation(parameter: inspect.Parameter) -> Any:
    annotation, default = parameter.annotation, parameter.default
    without = annotation is inspect.Parameter.empty or isinstance(annotation, str)
    if default is None:
        return Any if without else annotation | None
    if without:
        known = isinstance(default, (str, int, float, bool))
        return type(default) if known else Any
    return annotation


def _call(arguments: list[_Argument], chosen: BackendSettings) -> tuple[list[Any], dict[str, Any]]:
    """Arguments for the class; one that nobody set is left to its own default."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for argument in arguments:
        value = getattr(chosen, argument.field)
        if argument.hidden and isinstance(value, SecretStr):
            value = value.get_secret_value()
        if argument.positional:
            positional.append(value)
        elif argument.field in chosen.model_fields_set:
            named[argument.name] = value
    return positional, named
