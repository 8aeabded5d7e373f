"""The web API in front of an open graph: `application` for programs, `run` for the command line.

Loaded on first use: `bfsql.rest.run` opens the store while `starlette` is being
imported, which it could not if importing this room imported it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfsql.rest.app import application

__all__ = ["application"]

_HOMES = {"application": "bfsql.rest.app"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
