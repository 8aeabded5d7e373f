"""The version of this distribution, as its metadata has it."""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("bfsql-core")
