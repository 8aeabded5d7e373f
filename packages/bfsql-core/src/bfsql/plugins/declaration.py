"""The objects that entry points of plugins name: a backend's functions, a hook's declarations.

A backend has the functions open, load, prepare and propose, which share one settings
model; only `open` is required. The functions import their driver when they are called, so
listing the installed backends imports no driver.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from bfsql.abc import GraphDbInterface
    from bfsql.models.load import LoadOptions, LoadReport
    from bfsql.models.records import GraphRecord
    from bfsql.settings import BackendSettings

log = logging.getLogger("bfsql")

Open: TypeAlias = "Callable[[Any], Awaitable[GraphDbInterface]]"
"""Takes settings and returns an open backend. Runs in the event loop that will use the backend."""

Load: TypeAlias = "Callable[[Any, Iterable[GraphRecord], LoadOptions], Awaitable[LoadReport]]"
"""Takes settings, a stream and load options, and fills a store completely or not at all. A function
of only the first two replaces existing content; `bfsql load` calls it only with `--replace`.
"""

Prepare = Callable[[Any, bool], Awaitable[list[str]]]
"""Takes settings and whether to apply; returns the statements that the store lacks (or lacked)."""

RDF_ENDINGS = (
    *(".ttl", ".turtle", ".nt", ".ntriples", ".nq", ".nquads", ".trig", ".rdf", ".owl", ".jsonld"),
)
"""Endings of RDF files: those of `bfsql.sources`, which imports every reader, except `.json`."""


@dataclass(frozen=True, slots=True)
class ProposedSetting:
    """A setting that was not given, and what the store suggests for it."""

    field: str
    """The field of the settings model."""
    value: Any
    """Its value, as in a configuration file: text, a number, a list of texts or a mapping."""
    reason: str
    """Why, in a few words that follow the value: `unique constraints`."""
    tables: Mapping[str, Mapping[str, str]] | None = None
    """The same as tables of a configuration file, by their names, if the value is many things."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """How a backend reads a store as it is, spelled out as settings.

    With these settings, `open` reads the store in the same way as without them.
    """

    settings: tuple[ProposedSetting, ...] = ()
    """The settings that were not given, at most one for each field."""
    left_out: tuple[str, ...] = ()
    """What they do not cover, and what to do about it, a sentence each."""
    nameless: tuple[str, ...] = ()
    """The types for which one of these sentences states that no property names their nodes."""
    withheld: str = ""
    """What the store's account may not read, which may be on purpose, in a few words."""
    remedy: str = ""
    """The statements with which it could be read."""

    def log(self) -> None:
        """Log each choice in one line; `open` calls it if it used the proposal."""
        from bfsql.settings import spelled

        for one in self.settings:
            log.info("Chosen: %s = %s (%s)", one.field.rstrip("_"), spelled(one.value), one.reason)
        if self.withheld:
            log.info("Left out: %s", self.withheld)
        for sentence in self.left_out:
            log.warning("%s", sentence)


_LIKE_A_NAME = re.compile("name|title|label", re.IGNORECASE)


def display_name(different: Mapping[str, int], number: int) -> str | None:
    """The property that a backend proposes as the name of nodes; None if none tells them apart.

    `name`, `title` or `label`, or else the text that differs most, if its values differ in at
    least half of the nodes; `name` is taken in any case.

    Args:
        different: The number of different values of each property that may be a name, of which the
            first is chosen if several are equally good.
        number: The number of nodes.
    """
    wide = [one for one in different if 2 * different[one] >= number or one == "name"]
    usual = (one for wanted in ("name", "title", "label") for one in wide if one.lower() == wanted)
    best = max(wide, key=lambda one: (different[one], bool(_LIKE_A_NAME.search(one))), default=None)
    return next(usual, best)


Propose = Callable[[Any], Awaitable[Proposal]]
"""Takes settings and returns those that `open` would choose for the ones not given; only reads."""


@dataclass(frozen=True, slots=True)
class GraphFiles:
    """The kinds of files that a backend serves by their names."""

    setting: str
    """The settings field that takes the path of such a file."""
    endings: tuple[str, ...]
    """The endings of their names, in lower case, as `.db`."""
    sources: tuple[str, ...] = ()
    """Endings of files of other kinds, which it reads but no load writes."""
    more: str = ""
    """The settings field that takes further files of such kinds; none if one file is a graph."""

    def has(self, name: str) -> bool:
        """Whether a file with this name is one of them."""
        return name.lower().endswith((*self.endings, *self.sources))


@dataclass(frozen=True, slots=True)
class BackendPlugin:
    """One backend, as the command line and `open_graph` see it."""

    summary: str
    """One line for `bfsql backends`."""
    settings: type[BackendSettings]
    """The settings model that defines all its options."""
    open: Open
    """Opens the store for reading; it never writes."""
    load: Load | None = None
    """Fills a store from graph files; None if the backend does not support loading."""
    prepare: Prepare | None = None
    """Prints or creates what the store lacks for speed or search."""
    keeps_iris: bool = False
    """Whether ids in the store are IRIs. RDF files are then loaded with whole IRIs, `<http://...>`,
    instead of ids shortened by the prefixes of the files.
    """
    files: GraphFiles | None = None
    """The files that `bfsql serve FILE` opens with this backend; None if a file is not enough. For
    a file of several backends, the embedded store is chosen, then the first by name."""
    contract: int | str = 1
    """Number of the backend contract (`bfsql.abc.CONTRACT`) that it was written for, as in 1 or
    "1.1"; a plugin that states no number was written for the first.
    """
    propose: Propose | None = None
    """Proposes the settings that were not given; None if the backend never derives any."""
    appends: bool = True
    """Whether `load` supports `LoadMode.APPEND`, with or without `LoadOptions.remove`. If not,
    `bfsql load` refuses `--append` and `--remove`.
    """


@dataclass(frozen=True, slots=True)
class CommandDeclaration:
    """The data needed to list a command without importing it."""

    name: str
    """The name that a person types after `bfsql`."""
    help: str
    """The command's line in `bfsql --help`."""
    place: str
    """`module:attribute` of a `click.Command`, imported when the command is called."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The size of a tool call's answer, or the error that took its place."""

    size: int = 0
    """Size of the answer's text in bytes, UTF-8; 0 if there was none."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Number of items of each kind in the answer: `nodes` and `edges` of a traversal, `items` of a
    list or a description, `entity_types` and `predicates` of a schema; empty without an answer.
    """
    error: str | None = None
    """The `kind` of the `ToolError`, `cancelled` if the client cancelled the call, or None."""
