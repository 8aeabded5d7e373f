"""Four layers merged into one settings object; later ones take precedence.

The layers are the model's defaults, the table of the configuration file, the
environment, and the options of the command line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, SecretBytes, SecretStr, ValidationError

from bfsql.errors import ConfigurationError, did_you_mean
from bfsql.masking import hide_secrets, secrets_in, shorten
from bfsql.settings.file import VARIABLE as CONFIG_VARIABLE
from bfsql.settings.file import UnreadableFile, read_text
from bfsql.settings.model import Option, spelled
from bfsql.settings.model import options as fields
from bfsql.settings.trust import FoundFile, Level

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Resolved(Generic[M]):
    """Settings, with the origin of each value."""

    settings: M
    origins: dict[str, str]
    """The origin of each field, such as `default` or `environment variable BFSQL_PORT`.
    """
    levels: dict[str, Level]
    """How far the origin of each field is trusted."""


class _Setting(NamedTuple):
    """A setting, its raw value, and the origin of that with its level."""

    option: Option
    raw: Any
    origin: str = "default"
    level: Level = Level.DEFAULT


def resolve(
    model: type[M],
    *,
    options: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    table: Mapping[str, Any] | None = None,
    known: Sequence[Option] | None = None,
    place: str = "the configuration",
    base: Path | None = None,
    level: Level = Level.NAMED,
    graphs: Mapping[str, Any] | None = None,
) -> Resolved[M]:
    """One settings object from four layers.

    Text is converted to the type of the field: a list is a JSON array or separated by
    commas, a mapping is a JSON object or KEY=VALUE, and `none` means no number. An
    empty environment variable counts as unset, unless it is `BFSQL_...` and
    should hold a secret.

    Args:
        model: The settings model.
        options: Field to value, a text or a sequence of texts; None means not given.
        environment: The process's environment.
        table: The table of the configuration file; dashes in keys are underscores.
        known: `options(model)`, if names or variables differ from its own.
        place: The table as messages name it.
        base: Folder to which relative paths of the table refer; validators have it as `base` of
            their context, for paths inside of tables.
        level: How far the table is trusted.
        graphs: The tables of all graphs of the file, which validators have in their context.

    Raises:
        ConfigurationError: A key that the model does not have, a value that it does
            not accept, or a missing value, with one sentence for each.
    """
    settings = fields(model) if known is None else list(known)
    values: dict[str, Any] = {}
    given: dict[str, _Setting] = {}
    layers = (
        _from_table(settings, table or {}, place, level, base),
        _from_environment(settings, environment or {}),
        _from_options(settings, options or {}),
    )
    for one in chain.from_iterable(layers):
        option, value = one.option, _read(one.option, one.raw, one.origin)
        if option.kind == "path" and one.level is level and isinstance(value, str):  # of the table
            path = Path(value).expanduser()
            value = path if base is None else base / path
        values[option.field], given[option.field] = value, one
    try:
        made = model.model_validate(values, context={"base": base, "graphs": graphs or {}})
    except ValidationError as error:
        by_field = {option.field: option for option in settings}
        lines = [_sentence(fault, by_field, given, place) for fault in error.errors()]
        # The chain would contain pydantic's dump, including the values of secrets.
        raise ConfigurationError("\n".join(dict.fromkeys(lines))) from None
    read = {o.field: given.get(o.field, _Setting(o, None)) for o in settings}
    origins = {field: one.origin for field, one in read.items()}
    return Resolved(made, origins, {field: one.level for field, one in read.items()})


# --- the layers -------------------------------------------------------------


def _from_table(
    known: Sequence[Option], table: Mapping[str, Any], place: str, level: Level, base: Path | None
) -> Iterator[_Setting]:
    by_key = {option.key: option for option in known}
    of_files = {f"{option.key}_file": option for option in known if option.secret}
    for key, value in table.items():
        origin, name = f"{key} in {place}", key.replace("-", "_")
        option = by_key.get(name)
        if option is None and (option := of_files.get(name)):
            value = secret_in(Path(base or "", str(value)).expanduser(), origin)  # noqa: PLW2901
        if option is None:
            raise ConfigurationError(_unknown(origin, key, list(by_key)))
        yield _Setting(option, value, origin, level)


def secret_in(path: Path, origin: str) -> str:
    """The content of a file with a secret; one that cannot be read is a `ConfigurationError`."""
    try:
        return read_text(path).strip()
    except UnreadableFile as unreadable:
        raise ConfigurationError(
            _capital(f"{origin} is {str(path)!r}: the file cannot be read ({unreadable}).")
        ) from None


def _from_environment(
    known: Sequence[Option], environment: Mapping[str, str]
) -> Iterator[_Setting]:
    for option in known:
        names = (name for name in option.environment if _set(option, name, environment))
        if name := next(names, None):
            origin = f"environment variable {name}"
            yield _Setting(option, environment[name], origin, Level.ENVIRONMENT)


def unused_variables(
    environment: Mapping[str, str], known: Sequence[Option], others: Sequence[str]
) -> dict[str, str]:
    """Variables `BFSQL_...` that no setting has, with a sentence that names the nearest one.

    Args:
        environment: The process's environment.
        known: All settings.
        others: Beginnings of variables with another purpose.
    """
    names = sorted({name for option in known for name in option.environment})
    unused = environment.keys() - {*names, CONFIG_VARIABLE}
    return {
        name: f"no setting has this environment variable.{did_you_mean(name, names)}"
        for name in sorted(unused)
        if name.startswith("BFSQL_") and not name.startswith(tuple(others))
    }


def _set(option: Option, name: str, environment: Mapping[str, str]) -> bool:
    """Whether a variable counts as set: an empty one only if it is `BFSQL_...` for a secret.

    `BFSQL_BEARER_TOKEN=` is a mistake, and must not leave a server unguarded.
    """
    return bool(environment.get(name)) or (
        option.secret and name.startswith("BFSQL_") and name in environment
    )


def _from_options(known: Sequence[Option], options: Mapping[str, Any]) -> Iterator[_Setting]:
    by_key = {option.key: option for option in known}
    by_name = by_key | {option.field: option for option in known}
    for name, value in options.items():
        option = by_name.get(name)
        if option is None:
            raise ConfigurationError(_unknown(f"The setting {name!r}", name, list(by_key)))
        if value is not None:
            yield _Setting(option, value, f"option {option.flag}", Level.OPTION)


def _unknown(what: str, name: str, names: list[str]) -> str:
    hint, known = did_you_mean(name.replace("-", "_"), names), ", ".join(names) or "none"
    return _capital(f"{what} is unknown.{hint or f' There are: {known}.'}")


# --- text to value ----------------------------------------------------------


def _read(option: Option, value: Any, origin: str) -> Any:
    if option.is_number and isinstance(value, bool):  # pydantic accepts true as 1
        raise ConfigurationError(_wrong(option, value, origin, f"it has to be {option.right}"))
    if option.is_number and option.optional and isinstance(value, str) and value.lower() == "none":
        return None
    if not isinstance(value, (str, tuple)) or option.kind not in ("list", "mapping"):
        return value
    texts = [value] if isinstance(value, str) else value
    if option.kind == "list":
        return [item for text in texts for item in _items(text)]
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        texts = value.split(",")
    return {k: v for text in texts for k, v in _pairs(option, text, origin).items()}


def _items(text: Any) -> list[Any]:
    if not isinstance(text, str):
        return [text]
    if text.lstrip().startswith("["):
        try:
            return list(json.loads(text))
        except ValueError:
            pass  # a host such as [::1]
    return [item.strip() for item in text.split(",") if item.strip()]


def _pairs(option: Option, text: str, origin: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        try:
            return dict(json.loads(text))
        except ValueError as error:
            reason = f"it is not a JSON object ({error})"
            raise ConfigurationError(_wrong(option, text, origin, reason)) from None
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        reason = f"it has to be {option.right}"
        raise ConfigurationError(_wrong(option, text, origin, reason))
    return {key.strip(): value}


# --- what went wrong --------------------------------------------------------


def _sentence(
    fault: Any, known: Mapping[str, Option], given: Mapping[str, _Setting], place: str
) -> str:
    option = known.get(str(fault["loc"][0])) if fault["loc"] else None
    if option is None:
        return _capital(_without_secrets(_reason(fault, None), given.values()))
    if fault["type"] == "missing" and option.field not in given:
        variables = "".join(f"the environment variable {name}, " for name in option.environment)
        return (
            f"The setting {option.key} is missing: "
            f"give {option.flag}, {variables}or {option.key} in {place}."
        )
    by_default = _Setting(option, option.default, f"the default of {option.key}")
    one = given.get(option.field, by_default)
    reason = _without_secrets(_reason(fault, option), given.values())
    return _wrong(option, one.raw, one.origin, reason)


def _reason(fault: Any, option: Option | None) -> str:
    raised = fault.get("ctx", {}).get("error")
    if option is None or isinstance(raised, Exception):
        return str(raised if raised is not None else fault["msg"]).rstrip(".")
    if option.kind == "text" and not option.choices and fault["type"] != "string_type":
        return str(fault["msg"]).rstrip(".")
    return f"it has to be {option.right}"


def _without_secrets(text: str, given: Iterable[_Setting]) -> str:
    """A validator's message in which any secrets that it repeats are hidden."""
    for option, value, *_ in given:
        raw = value.get_secret_value() if isinstance(value, (SecretStr, SecretBytes)) else value
        if option.secret:
            text = hide_secrets(text, [str(raw)])
        elif isinstance(raw, str):
            text = hide_secrets(text, secrets_in(raw))
    return text


def _wrong(option: Option, raw: Any, origin: str, reason: str) -> str:
    if option.secret:
        return _capital(f"{origin} cannot be used: {reason}.")
    text = hide_secrets(raw) if isinstance(raw, str) else spelled(raw)
    stop = "" if reason.endswith("?") else "."
    return _capital(f"{origin} is {shorten(text, 80)!r}: {reason}{stop}")


def _capital(text: str) -> str:
    """The sentence with a capital letter, unless it begins with the name of a setting."""
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first in ("option", "environment", "the") else text


def excess(allowed: FoundFile, known: Sequence[Option], table: Mapping[str, Any]) -> Iterator[str]:
    """The settings in the table of a found file that it may not have."""
    by_key, names = {option.key: option.field for option in known}, allowed.settings.split()
    # What any file has could be sent anywhere.
    by_key = {f"{key}_file": f"{key}_file" for key in by_key} | by_key
    for key, value in table.items():
        name = by_key.get(key.replace("-", "_"), "")  # an unknown key has an error of its own
        if name and name not in names:
            yield key
        elif name in allowed.checks and not allowed.checks[name](value):
            yield f"{key} (with this value)"


def leaks(
    known: Sequence[Option], resolved: Resolved[Any], environment: Mapping[str, str]
) -> Iterator[str]:
    """The settings of a found file to which a credential from elsewhere would be sent."""
    levels, ways = resolved.levels, resolved.settings.found_file.credentials
    keys = {option.field: option.key for option in known if levels[option.field] is Level.FOUND}
    unset = (None, Level.DEFAULT)
    for name in dict.fromkeys((*(option.field for option in known if option.secret), *ways)):
        variable = Level.ENVIRONMENT if environment.get(name) else Level.DEFAULT
        if levels.get(name, variable) in (Level.DEFAULT, Level.FOUND):
            continue
        origin = resolved.origins.get(name, f"environment variable {name}")
        for way in ways.get(name, " ".join(keys)).split():
            first = next((one for one in way.split("|") if levels.get(one) not in unset), "")
            if first in keys:
                yield f"{keys[first]} (where the credential of {origin} is sent)"
