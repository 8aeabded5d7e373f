"""What the entry points of plugins name: a backend's three verbs, and a hook's declarations.

A backend is open, load and prepare over one settings model; only the first is
required. The functions import their driver when they are called, so that
listing the installed backends imports none of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql.models.load import LoadOptions, LoadReport
from bfsql.models.records import GraphRecord
from bfsql.settings import BackendSettings

Open = Callable[[Any], Awaitable[GraphDbInterface]]
"""Settings to an open backend. Runs in the event loop that will use it."""

Load = Callable[[Any, Iterable[GraphRecord], LoadOptions], Awaitable[LoadReport]]
"""Settings, a stream and how to load it, to a filled store: all of it or nothing. A function of
the first two alone replaces whatever is there; `bfsql load` calls it only with `--replace`."""

Prepare = Callable[[Any, bool], Awaitable[list[str]]]
"""Settings and whether to apply, to the statements that the store lacks (or lacked)."""


@dataclass(frozen=True, slots=True)
class GraphFiles:
    """The files that a backend serves as they are."""

    setting: str
    """The field of its settings that takes the path of one."""
    endings: tuple[str, ...]
    """Of their names, in lower case, as `.db`."""

    def has(self, name: str) -> bool:
        """Whether a file of this name is one of them."""
        return name.lower().endswith(self.endings)


@dataclass(frozen=True, slots=True)
class BackendPlugin:
    """One backend, as the command line and `open_graph` see it."""

    summary: str
    """One line for `bfsql backends`."""
    settings: type[BackendSettings]
    """The model that all its options come from."""
    open: Open
    """Opens the store for reading, and never writes."""
    load: Load | None = None
    """Fills a store from graph files; None where that makes no sense."""
    prepare: Prepare | None = None
    """Prints or creates what the store lacks for speed or search."""
    keeps_iris: bool = False
    """Whether ids in the store are IRIs: then RDF files are loaded with whole ones, `<http://...>`,
    which the prefixes of files would make into others."""
    files: GraphFiles | None = None
    """What `bfsql serve FILE` opens with this backend; None where a file is not enough."""
    contract: int | str = 1
    """Number of the backend contract (`bfsql.abc.CONTRACT`) that it was written for, as in 1 or
    "1.1"; a plugin that states none was written for the first."""


@dataclass(frozen=True, slots=True)
class CommandDeclaration:
    """Enough to list a command without importing it."""

    name: str
    """What a person types after `bfsql`."""
    help: str
    """Its line in `bfsql --help`."""
    place: str
    """`module:attribute` of a `click.Command`, imported when the command is called."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The size of a tool call's answer, or the error that took its place."""

    size: int = 0
    """Bytes of the answer's text, UTF-8; 0 where there was none."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """How much of what is in the answer: `nodes` and `edges` of a traversal, `items` of a list
    or a description, `entity_types` and `predicates` of a schema; empty where there was none."""
    error: str | None = None
    """The `kind` of the `ToolError`, `cancelled` where the client took the call back, or None."""


Outcome = CallOutcome
"""The name that hook plugins import it by."""
