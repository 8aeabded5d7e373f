"""A backend's settings, and how an option, a variable or a table becomes one.

The settings model of a plugin is the one place where its options are written
down: from it come the keyword arguments of `XBackend.create(...)`, the
environment variables, the table in the configuration file, and the options of
every command with `--backend NAME` and their help. Core knows no backend's
options by name.
"""

from bfsql.settings.model import BackendSettings, Env
from bfsql.settings.option import HIDDEN, Kind, Option, options, spelled
from bfsql.settings.resolve import Resolved, resolve

__all__ = [
    "HIDDEN",
    "BackendSettings",
    "Env",
    "Kind",
    "Option",
    "Resolved",
    "options",
    "resolve",
    "spelled",
]
