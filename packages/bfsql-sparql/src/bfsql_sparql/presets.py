"""Settings for known endpoints and servers, from a table of plain data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from bfsql.errors import ConfigurationError
from bfsql.settings import resolve
from bfsql_sparql.settings import SparqlSettings

HINT = "hint"
"""Key of a preset that is no setting: advice for the model, in sentences."""
_BARRED = ("preset", "preset_file", "password", "token", "key", "replace")


def with_preset(settings: SparqlSettings) -> SparqlSettings:
    """The settings, with those of their preset where they say nothing themselves.

    Mappings such as `prefix` are joined, the given entries winning.

    Args:
        settings: As they were given.

    Raises:
        ConfigurationError: No such preset, or one with a setting that cannot be used.
    """
    if settings.preset is None:
        return settings
    table = {key: value for key, value in _table(settings).items() if key != HINT}
    where = f"the preset {settings.preset}"
    barred = sorted(key for key in table if key.replace("-", "_") in _BARRED)
    if barred:
        raise ConfigurationError(f"{where} sets {', '.join(barred)}, which no preset may set")
    preset = resolve(
        SparqlSettings, table=table, place=where, base=_folder(settings.preset_file)
    ).settings
    told = {name: getattr(preset, name) for name in preset.model_fields_set}
    for name in settings.model_fields_set:
        given = getattr(settings, name)
        both = isinstance(given, dict) and isinstance(told.get(name), dict)
        told[name] = told[name] | given if both else given
    if settings.data and settings.endpoint is None:
        told.pop("endpoint", None)  # a part of what the preset's endpoint has, in files
    return SparqlSettings.model_validate(told)


def hint(settings: SparqlSettings) -> str | None:
    """What the preset of the settings tells the model of its store.

    Raises:
        ConfigurationError: No such preset.
    """
    if settings.preset is None:
        return None
    told = _table(settings).get(HINT)
    return told if isinstance(told, str) else None


def _table(settings: SparqlSettings) -> Mapping[str, Any]:
    known = {**_built_in(), **_own(settings.preset_file)}
    table = known.get(settings.preset or "")
    if not isinstance(table, dict):
        raise ConfigurationError(
            f"There is no preset named {settings.preset!r}; known are: {', '.join(sorted(known))}. "
            "Others can be told in a TOML file, one table each, that preset_file names."
        )
    return table


@cache
def _built_in() -> dict[str, Any]:
    text = files("bfsql_sparql").joinpath("presets.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _own(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"The file of presets {path} cannot be read: {error}. It has to be TOML with one "
            "table for each preset."
        ) from None


def _folder(path: Path | None) -> Path | None:
    return None if path is None else path.parent
