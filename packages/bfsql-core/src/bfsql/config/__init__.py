"""The configuration file, and what it makes together with environment and options."""

from bfsql.config.effective import DEFAULT_BACKEND, Choice, Configuration, choose, configure
from bfsql.config.file import FILE_NAME, ConfigFile, read_config
from bfsql.config.serve import ServeSettings

__all__ = [
    "DEFAULT_BACKEND",
    "FILE_NAME",
    "Choice",
    "ConfigFile",
    "Configuration",
    "ServeSettings",
    "choose",
    "configure",
    "read_config",
]
