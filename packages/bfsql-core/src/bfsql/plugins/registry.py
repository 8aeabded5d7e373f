"""The installed backends: found by their entry points, loaded one at a time.

Finding backends reads metadata and imports nothing; `load` imports only the requested
backend, so a broken one affects only its own users. An entry point may also name a
`GraphDbInterface` subclass without a plugin. A plugin is then derived from the signature of
its `create` (a class method, awaitable or not) or else of its `__init__`; each parameter becomes
a setting with its annotation and its default. The `**kwargs` of a `create` stand for those
parameters of `__init__` that an option can set.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, cast, get_args

from pydantic import ConfigDict, SecretStr, create_model

from bfsql.abc import CONTRACT, GraphDbInterface
from bfsql.errors import (
    AmbiguousBackend,
    BackendImportFailed,
    BackendOpenFailed,
    BfsqlError,
    ContractMismatch,
    NotABackend,
    PluginError,
    UnknownBackend,
)
from bfsql.plugins.declaration import BackendPlugin
from bfsql.plugins.distributions import BACKENDS, Installed, PluginState, plugins_of
from bfsql.settings import BackendSettings

OFFICIAL = ("sqlite", "postgres", "sparql", "neo4j", "gremlin", "jsonld")
"""Backends with a distribution `bfsql-<name>` of this project."""


@dataclass(frozen=True, slots=True)
class BackendState(PluginState):
    """A backend's line of `bfsql backends`."""

    summary: str
    """The plugin's own summary; empty if it cannot be loaded."""


def installed() -> list[Installed]:
    """Every declared backend, sorted by name; nothing is imported."""
    return plugins_of(BACKENDS)


def load(name: str, origin: str = "") -> BackendPlugin:
    """The plugin of one backend; no other is imported.

    Args:
        name: The name of the entry point, such as `sqlite`.
        origin: Where the name was given, for the error if there is no such backend.

    Raises:
        UnknownBackend: No installed distribution declares it.
        AmbiguousBackend: Two or more distributions declare it.
        BackendImportFailed: Its module cannot be imported; the cause is chained.
        NotABackend: It is neither a plugin nor a complete backend class.
        ContractMismatch: It was written for a contract that this core does not support.
    """
    claims = [one for one in installed() if one.name == name]
    if not claims:
        raise UnknownBackend(name, names_like(name), origin, official=name in OFFICIAL)
    if len(claims) > 1:
        raise AmbiguousBackend(name, [one.distribution for one in claims])
    return _loaded(claims[0])


def names_like(name: str) -> list[str]:
    """The names of the installed backends, the most similar one first."""
    from difflib import SequenceMatcher  # needed by errors alone

    names = sorted({one.name for one in installed()})
    return sorted(names, key=lambda one: -SequenceMatcher(None, one, name).ratio())


async def open_backend(
    name: str, plugin: BackendPlugin, settings: BackendSettings
) -> GraphDbInterface:
    """The open backend of a plugin.

    Raises:
        NotABackend: The plugin opened something else.
        BackendOpenFailed: It raised an error that is neither one of core nor of the system.
    """
    distribution = next((one.distribution for one in installed() if one.name == name), "bfsql-core")
    try:
        opened = await created(name, distribution, plugin.open, settings)
    except Exception as cause:
        if isinstance(cause, BfsqlError | ExceptionGroup) or getattr(cause, "strerror", None):
            raise
        raise BackendOpenFailed(name, distribution, cause) from cause
    opened.time_keys = settings.time_keys or opened.time_keys
    return opened


def backend_of(path: Path, first: str) -> str | None:
    """The installed backend that serves a file with this ending, or None.

    Args:
        path: The file; it need not exist.
        first: The backend to try first. Others are imported only if it does not serve
            the file.
    """
    for name in sorted((one.name for one in installed()), key=lambda name: name != first):
        try:
            files = load(name).files
        except PluginError:
            continue  # `bfsql backends` reports the fault
        if files is not None and files.has(path.name):
            return name
    return None


def states() -> list[BackendState]:
    """Every declared backend and whether it can be used; a broken one does not affect others."""
    return [_state(one) for one in installed()]


def _state(one: Installed) -> BackendState:
    try:
        summary, state = load(one.name).summary, "ok"
    except PluginError as error:
        summary, state = "", str(error)
    return BackendState(one.name, one.distribution, one.version, state, summary)


def _loaded(one: Installed) -> BackendPlugin:
    try:
        found: Any = one.entry_point.load()
        if isinstance(found, type) and issubclass(found, GraphDbInterface):
            return plugin_for(one.name, one.distribution, found)
    except PluginError:
        raise
    except (Exception, SystemExit) as cause:  # third-party code may raise anything
        wrong = one.entry_point.value if _is_of_entry_point(cause, one.entry_point) else ""
        raise BackendImportFailed(one.name, one.distribution, cause, wrong) from cause
    if not isinstance(found, BackendPlugin):
        raise NotABackend(one.name, one.distribution, found)
    _check_contract(one, found.contract)
    return found


def _is_of_entry_point(cause: BaseException, point: EntryPoint) -> bool:
    """Whether the module or the attribute that an entry point names does not exist."""
    if isinstance(cause, ModuleNotFoundError):
        return f"{point.module}.".startswith(f"{cause.name}.")
    module = getattr(cause.obj, "__name__", None) if isinstance(cause, AttributeError) else None
    return module == point.module and getattr(cause, "name", None) in point.attr.split(".")


_CONTRACT = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?")


def _check_contract(one: Installed, stated: object) -> None:
    """Reject another MAJOR of the contract, or a MINOR whose additions this core lacks."""
    spoken, own = _contract_number(stated), _contract_number(CONTRACT)
    assert own is not None
    if spoken is None or spoken[0] < own[0] or spoken > own:
        newer = None if spoken is None else spoken > own
        raise ContractMismatch(one.name, one.distribution, stated, CONTRACT, newer=newer)


def _contract_number(stated: object) -> tuple[int, int] | None:
    """MAJOR and MINOR of a number as plugins state it; None if it is not such a number."""
    found = _CONTRACT.fullmatch(str(stated)) if isinstance(stated, (int, str)) else None
    return (int(found[1]), int(found[2] or 0)) if found else None


# --- a backend class without a plugin ------------------------------------------

_SECRETS = re.compile(r"password|secret|token|api_?key|credentials|dsn|connection_string")

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class _DerivedSettings(BackendSettings):
    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())


@dataclass(frozen=True, slots=True)
class _Argument:
    """A parameter of the class, and the field that represents it."""

    name: str
    field: str
    positional: bool
    hidden: bool
    """Whether the field is a `SecretStr` and the class takes a string."""


def plugin_for(name: str, distribution: str, backend: type[GraphDbInterface]) -> BackendPlugin:
    """A `BackendPlugin` around a bare class; NotABackend if it lacks any of the eight methods."""
    missing = sorted(getattr(backend, "__abstractmethods__", ()))
    if missing:
        raise NotABackend(name, distribution, backend, f"lacks {', '.join(missing)}")
    create = cast("Callable[..., Any]", getattr(backend, "create", backend))
    arguments, settings = _derived(backend.__name__, create)

    async def open_backend(chosen: BackendSettings) -> GraphDbInterface:
        positional, named = _call(arguments, chosen)
        return await created(name, distribution, create, *positional, **named)

    summary = (inspect.getdoc(backend) if backend.__doc__ else None) or f"{backend.__name__}"
    return BackendPlugin(summary.partition("\n")[0], settings, open_backend)


async def created(
    name: str, distribution: str, create: Callable[..., Any], /, *positional: Any, **named: Any
) -> GraphDbInterface:
    """The backend that a class, a class method or a factory returns, perhaps as an awaitable."""
    made = create(*positional, **named)
    opened = await made if inspect.isawaitable(made) else made
    if not isinstance(opened, GraphDbInterface):
        raise NotABackend(name, distribution, opened)
    return opened


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
        default = ... if required else parameter.default
        if hidden:
            annotation = SecretStr if annotation is str else SecretStr | None
            default = SecretStr(default) if isinstance(default, str) and default else default
        # A field may not hide one of pydantic's own names; `Option.key` drops the underscore again.
        field = name.strip("_") + ("_" if hasattr(_DerivedSettings, name) else "")
        positional = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
        arguments.append(_Argument(name, field, positional, hidden))
        fields[field] = (annotation, default)
    return arguments, create_model(f"{title}Settings", __base__=_DerivedSettings, **fields)


def _parameters(create: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a signature, including those behind its `**kwargs` if they can be known."""
    own = _signature(create)
    if all(parameter.kind is not inspect.Parameter.VAR_KEYWORD for parameter in own.values()):
        return own
    backend = getattr(create, "__self__", None)
    behind = _signature(backend) if isinstance(backend, type) else {}
    named = {
        name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in behind.items()
        if parameter.kind not in _VARIADIC and name not in own
    }
    if not all(_is_plain(parameter) for parameter in named.values()):
        return own  # the class takes an object that `create` opens
    # `create` may supply the parameters of the class itself, so they are never required.
    optional = {
        name: parameter.replace(default=None) if parameter.default is parameter.empty else parameter
        for name, parameter in named.items()
    }
    return own | optional


def _signature(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function, eval_str=True).parameters)
    except NameError:  # an annotation that only a type checker can resolve
        return dict(inspect.signature(function).parameters)


def _is_plain(parameter: inspect.Parameter) -> bool:
    """Whether a command-line option can set the parameter, as far as the signature tells."""
    annotation, default = parameter.annotation, parameter.default
    if default is None and annotation is parameter.empty:
        return True
    kinds = get_args(annotation) or (annotation,)
    plain = all(kind in (str, int, float, bool, Path, None, type(None)) for kind in kinds)
    return plain or isinstance(default, (str, int, float, bool))


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
    """The arguments for the class; one that is not set takes the default of the signature."""
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
