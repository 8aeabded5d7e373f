"""Settings of backends and of the server, and how they are resolved.

The settings model of a plugin is the only place where its options are defined. It determines the
keyword arguments of `XBackend.create(...)`, the environment variables, the table in the
configuration file, and the options and help of every command with `--backend NAME`. Core knows no
backend's options by name.

The server's settings are imported on first use: a load does not need them.
"""

from typing import TYPE_CHECKING

from bfsql.lazy import lazy_names
from bfsql.masking import HIDDEN
from bfsql.settings.file import (
    FILE_NAME,
    ConfigFile,
    UnreadableFile,
    open_regular,
    read_config,
    read_text,
)
from bfsql.settings.model import (
    BackendSettings,
    Env,
    Kind,
    Option,
    options,
    spelled,
    without_secrets,
)
from bfsql.settings.resolve import Resolved, resolve
from bfsql.settings.trust import FoundFile, Level

if TYPE_CHECKING:
    from bfsql.settings.server import ServeSettings

__all__ = [
    "FILE_NAME",
    "HIDDEN",
    "BackendSettings",
    "ConfigFile",
    "Env",
    "FoundFile",
    "Kind",
    "Level",
    "Option",
    "Resolved",
    "ServeSettings",
    "UnreadableFile",
    "open_regular",
    "options",
    "read_config",
    "read_text",
    "resolve",
    "spelled",
    "without_secrets",
]

__getattr__, _ = lazy_names(__name__, {"bfsql.settings.server": ("ServeSettings",)})
