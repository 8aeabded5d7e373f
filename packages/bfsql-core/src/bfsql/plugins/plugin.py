"""What an entry point in the group `bfsql.backends` names.

A backend is three verbs over one settings model: open, load, prepare. Only the
first is a duty. The functions import their driver when they are called, never
before, so that listing the installed backends imports none of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql.models.stream import GraphRecord, LoadReport
from bfsql.settings import BackendSettings

Open = Callable[[Any], Awaitable[GraphDbInterface]]
"""Settings to an open backend. Runs in the event loop that will use it."""

Load = Callable[[Any, Iterable[GraphRecord]], Awaitable[LoadReport]]
"""Settings and a stream to a filled store: all of it or nothing."""

Prepare = Callable[[Any, bool], Awaitable[list[str]]]
"""Settings and whether to apply, to the statements that the store lacks (or lacked)."""


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
    contract: int = 1
    """Number of the backend contract (`bfsql.abc.CONTRACT`) that it was written for. One that
    states none was written for the first: whoever needs a later one says so."""
