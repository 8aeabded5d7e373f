"""`bfsql load`: loads graph files into a store and prints a report."""

from __future__ import annotations

import asyncio
import csv
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import click

from bfsql.cli.account import account, guess, rehearsal
from bfsql.cli.command import ExitCode, escape, wrapped
from bfsql.cli.configuration import Choice, Configuration
from bfsql.cli.configured import ConfiguredCommand
from bfsql.errors import ConfigurationError
from bfsql.interpreter import rare_collections
from bfsql.loading import Reading, fill, rehearse
from bfsql.models.load import LoadMode, LoadOptions, Progress
from bfsql.settings import BackendSettings, Option
from bfsql.sources import FORMATS, SourceOptions
from bfsql.sources.keys import TableReading
from bfsql.sources.options import OWN_OPTIONS, option_of
from bfsql.sources.reading_file import is_reading, read_reading, write_reading

_FLAGS = (
    *("replace", "append", "no_backup", "no_create_nodes", "dry_run", "allow_refused", "strict"),
    *("guess", "write", "count_duplicates", "title", "description"),
)

_OF_FILE = "[FILE=]TEXT"
_several = partial(click.option, multiple=True)
_of_file = partial(_several, metavar=_OF_FILE)
"""An option that can have another value for a file."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")

_STORES = ("--path", "--backend", "--config", "--context", "--write")
"""Options with which a TOML file among the arguments names no store, or is no source."""


class _LoadCommand(ConfiguredCommand):
    writes = True

    def backend_options(self, choice: Choice) -> list[Option]:
        """As of other commands, but for those of reading that every load has itself."""
        own = choice.plugin.settings.file_options
        known = super().backend_options(choice)
        return [o for o in known if o.field not in own or o.name == o.field.replace("_", "-")]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an option that is given twice, since only the last value would count.

        A reading in a file names the graph file, unless an option does.
        """
        given = [one for one in args if is_reading(Path(one))]
        if len(given) == 1 and not any(one.partition("=")[0] in _STORES for one in args):
            target = read_reading(Path(given[0])).target
            args = args if target is None else ["--path", str(target), *args]
        rest = super().parse_args(ctx, list(args))
        once = {flag: param for param in self.get_params(ctx) for flag in param.opts}
        flags = takewhile(lambda argument: argument != "--", args)
        times = Counter(once.get(flag.partition("=")[0]) for flag in flags)
        for option, count in times.items():
            if not isinstance(option, click.Option) or option.multiple or option.is_flag:
                continue
            if count > 1:
                raise _given_twice(option.opts[0], count)
        return rest


def _given_twice(option: str, count: int, cure: str = "") -> click.UsageError:
    cure = cure or "give it once, or load the files that need another value with --append."
    return click.UsageError(
        f"Option {option} is given {count} times, but applies to all sources: {cure}",
        click.get_current_context(),
    )


@click.command(
    "load",
    cls=_LoadCommand,
    sections={
        "What to do": "replace append remove guess write dry-run",
        "Tables of nodes": "id-column type-column name-column node-type",
        "Tables of edges": "subject-column predicate-column object-column default-predicate",
        "Files": "format encoding no-header separator",
        "RDF": "language",
    },
    examples=(
        "bfsql load nodes.csv edges.csv --path graph.db",
        "bfsql load ontology.ttl --path ontology.db",
        "bfsql load table.csv --id-column code --dry-run",
    ),
)
@click.argument("source", nargs=-1, metavar="SOURCE...")
@click.option("--replace", is_flag=True, help="Replace the existing graph.")
@click.option("--append", is_flag=True, help="Add to the existing graph; not for servers.")
@click.option("--no-backup", is_flag=True, help="With --replace: do not back up the old file.")
@_several(
    "--remove", metavar="FILE", help="First remove its nodes or edges from the existing graph."
)
@click.option(
    "--no-create-nodes", is_flag=True, help="Do not create nodes for ids that occur only in edges."
)
@click.option(
    "--dry-run", is_flag=True, help="Show how the files would be read, and write nothing."
)
@click.option(
    "--guess", is_flag=True, help="Show how tables are read by their keys, and load nothing."
)
@click.option(
    "--write",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep that in a file, such as lab.toml, to load from.",
)
@click.option(
    "--allow-refused",
    is_flag=True,
    help="Exit with 0 even if lines were refused or edges meet no nodes.",
)
@click.option(
    "--count-duplicates",
    is_flag=True,
    help="Give every edge its multiplicity, the number of records that were merged.",
)
@click.option("--title", default="", help="Name of the graph for people, kept in the graph file.")
@click.option(
    "--description",
    default="",
    metavar="TEXT",
    help="What the graph contains and where it comes from, kept likewise; models read it.",
)
@click.option("--strict", is_flag=True, help="Stop at the first line that cannot be used.")
@click.option("--format", metavar="NAME", help=f"Format of all sources: {', '.join(FORMATS)}.")
@click.option(
    "--encoding", metavar="NAME", help="Encoding of text that is not UTF-8, such as cp1252."
)
@_several(
    "--null-text",
    "null_texts",
    metavar="TEXT",
    help="Text to treat as empty in ids, types and names; '' for none.  "
    "[default: NaN, nan, null, NULL, None]",
)
@click.option(
    "--separator", metavar="CHARACTER", help="Tables: what separates cells; also: tab, blank."
)
@click.option(
    "--no-header", is_flag=True, help="Tables: the first row is data; columns have numbers."
)
@click.option(
    "--columns",
    metavar="NAME,NAME,...",
    help="Tables without a header: the names of their columns; implies --no-header.",
)
@_of_file("--id-column", help="Node tables: the node's id.")
@_of_file("--type-column", help="Node tables: the node's type.")
@_of_file("--name-column", help="Node tables: the display name.")
@_of_file("--alias-column", help="Node tables: other names, separated by | or ;.")
@_of_file("--subject-column", help="Edge tables: the id at which the edge starts.")
@_of_file("--predicate-column", help="Edge tables: the edge's predicate; '' for none.")
@_of_file("--object-column", help="Edge tables: the id at which the edge ends.")
@_several(
    "--edge-column",
    "edge_columns",
    metavar="NAME[=PREDICATE]",
    help="Node tables: ids of other nodes, which become edges.",
)
@_several(
    "--id-prefix",
    "id_prefixes",
    metavar="NAME=TEXT",
    help="Tables: text to put before the ids in a column, or in a file of this name.",
)
@_of_file("--subject-type", help="Edge tables: type of nodes at the start.")
@_of_file("--object-type", help="Edge tables: type of nodes at the end.")
@_of_file(
    "--node-type",
    "--default-type",
    "default_type",
    help="Type of nodes that have none.  [default: Node; owl:Thing if a source is RDF]",
)
@_of_file("--default-predicate", help="Predicate of edges that have none.")
@_several("--prefix", "prefixes", metavar="NAME=NAMESPACE", help="RDF: prefix that shortens ids.")
@click.option(
    "--base-iri",
    "base",
    metavar="IRI",
    help="RDF: what relative IRIs are resolved against.  [default: the name of the file]",
)
@click.option(
    "--context",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="JSON-LD: the context of files that refer to one elsewhere.",
)
@_several("--language", "languages", metavar="TAG", help="RDF: language of texts to keep.")
def load(configuration: Configuration, source: tuple[str, ...], **options: Any) -> None:
    """Fill a store from graph files: either all of them or none.

    SOURCE is a file or a folder, such as a kgraph bundle; several become one
    graph. If the store already holds a graph, use --replace or, for a
    graph file, --append. An interrupted load leaves the store unchanged, or
    reports what it left there.
    """
    flags = {name: options.pop(name) for name in _FLAGS}
    sources, removals = _paths(source), _paths(options.pop("remove"))
    _check(flags, sources, removals)
    target = _check_target(configuration, sources)
    if target is None and (flags["title"] or flags["description"]):
        raise ConfigurationError(
            "--title and --description are kept in a graph file, and this store is none. Set title "
            "and graph_description in bfsql.toml, with which the graph is served."
        )
    tables = [
        t for one in sources for t in (read_reading(one).sources if is_reading(one) else [one])
    ]
    settings = configuration.backend.settings
    plugin, reading = configuration.choice.plugin, _reading(options, tables, settings)
    how = _how(flags, reading.default_type, removing=bool(removals))
    write = partial(_write, flags["write"], sources, target, reading)
    try:
        with _orderly_end(), _progress() as progress:
            how = replace(how, progress=progress, time_keys=settings.time_keys)
            # Outside the event loop, where one Ctrl-C ends it.
            opened = Reading(plugin, sources, reading, remove=removals, how=how)
            if flags["guess"]:
                click.echo("\n".join(guess(opened.readings)))
                write(opened.readings)
                return
            if flags["dry_run"]:
                trial = asyncio.run(rehearse(opened))
                lines, report, error = rehearsal(trial), trial.report, trial.error
            else:
                with rare_collections(30):
                    report = asyncio.run(fill(plugin, settings, opened))
                lines, error = account(report, allowed=flags["allow_refused"]), None
            lines = [*guess(opened.readings), *lines] if opened.readings else lines
    except KeyboardInterrupt as interrupt:
        # The note that a loader that cannot roll back adds to the cancellation.
        notes = getattr(interrupt.__context__, "__notes__", ())
        left = " ".join(notes) or "the store is unchanged."
        click.echo(escape(f"Interrupted: {left}"), err=True)
        click.get_current_context().exit(ExitCode.INTERRUPTED)
    click.echo(wrapped("\n".join(lines), sys.stdout))
    if error is not None:
        raise error
    write(opened.readings)
    if (report.refused or report.wrong_columns) and not flags["allow_refused"]:
        click.get_current_context().exit(ExitCode.FAILED)


# --- what is asked for ----------------------------------------------------------


def _paths(texts: Sequence[str]) -> list[Path]:
    """The files named on the command line, none of which may be an address."""
    for text in texts:
        if address := _ADDRESS.match(text):  # the rest may hold a password
            raise ConfigurationError(
                f"A SOURCE has to be a file or a folder, but {address[0]}... is an address. If it "
                "is the store, name it with the options of its backend; --replace takes no "
                "value. If it is a graph on the web, download it first."
            )
    return [Path(text) for text in texts]


def _check(flags: Mapping[str, Any], sources: Sequence[Path], removals: Sequence[Path]) -> None:
    """Make sure that there is something to do and that no two options contradict each other."""
    if not sources and not removals:
        raise click.UsageError("Missing argument 'SOURCE...'.", click.get_current_context())
    if flags["replace"] and flags["append"]:
        raise ConfigurationError(
            "--replace and --append exclude each other: the new graph either replaces the "
            "existing one or is added to it. Use one of them."
        )
    if flags["replace"] and removals:
        raise ConfigurationError(
            "--remove and --replace exclude each other: --remove takes something out of the "
            "existing graph, and --replace keeps nothing of it. Use one of them."
        )
    if flags["no_backup"] and not flags["replace"]:
        raise ConfigurationError(
            "--no-backup applies only to --replace, which keeps the old file under another name. "
            "Leave it out, or add --replace."
        )


def _check_target(configuration: Configuration, sources: Sequence[Path]) -> Path | None:
    """The graph file to be filled, if the store is one.

    It must be neither a file that its backend can only read, as RDF, nor one of the sources. The
    backend may have been chosen by the ending of `--path`.
    """
    files, backend = configuration.choice.plugin.files, configuration.backend
    if files is None:
        return None
    file = Path(getattr(backend.settings, files.setting))
    if file.exists() and any(one.exists() and file.samefile(one) for one in sources):
        raise ConfigurationError(
            f"{file} is both a SOURCE and the graph file to be made. Name another one with --path."
        )
    if not backend.origins[files.setting].startswith("option"):
        return file
    if file.name.lower().endswith(files.sources):
        graph = file.name.partition(".")[0] + ".db"
        serve = f" To use {file} as it is: bfsql serve {file}" if file.exists() else ""
        raise ConfigurationError(
            f"Nothing can be loaded into {file}: the backend {configuration.choice.backend} only "
            f"reads such files. Load into a graph file: bfsql load SOURCE --path {graph}.{serve}"
        )
    return file


def _write(
    file: Path | None,
    sources: Sequence[Path],
    target: Path | None,
    options: SourceOptions,
    readings: Sequence[TableReading],
) -> None:
    """Write the reading of tables to a file, if one is named."""
    if file is None:
        return
    if not readings:
        raise ConfigurationError(
            f"{file} was not written: these sources were not read by keys. --dry-run shows how "
            "they are read."
        )
    write_reading(file, readings, sources, target, options)
    click.echo(f"The reading is kept in {file}: bfsql load {file} --replace")


def _how(flags: Mapping[str, Any], default_type: str, *, removing: bool) -> LoadOptions:
    """The options for the loader."""
    mode = LoadMode.NEW
    if flags["replace"]:
        mode = LoadMode.REPLACE
    elif flags["append"] or removing:
        mode = LoadMode.APPEND
    return LoadOptions(
        mode,
        create_nodes=not flags["no_create_nodes"],
        default_type=default_type,
        require_nodes=True,
        count_duplicates=flags["count_duplicates"],
        strict=flags["strict"],
        title=flags["title"],
        description=flags["description"],
        backup=not flags["no_backup"],
    )


def _reading(
    options: Mapping[str, Any], sources: Sequence[Path], settings: BackendSettings
) -> SourceOptions:
    """The options for reading the files; those of the load count more than those of the backend."""
    of_files: dict[str, dict[str, str]] = {}
    options = dict(options)
    for field in OWN_OPTIONS:
        options[field] = _for_all(field, options[field], sources, of_files)
    named = {field: value for field, value in options.items() if value not in (None, ())}
    if "prefixes" in named:
        right = "NAME=NAMESPACE, for instance ex=http://example.org/."
        named["prefixes"] = _pairs("--prefix", named["prefixes"], right, namespace=True)
    if "columns" in named:
        named["columns"] = tuple(next(csv.reader([named["columns"]]), ()))
    if "edge_columns" in named:
        edges = (text.partition("=") for text in named["edge_columns"])
        named["edge_columns"] = {column: predicate for column, _, predicate in edges}
    if "id_prefixes" in named:
        right = (
            "NAME=TEXT with the name of a column or file, for instance categoryID=category: or "
            "products.csv=product:."
        )
        named["id_prefixes"] = _pairs("--id-prefix", named["id_prefixes"], right)
    return SourceOptions(**{**settings.source_options(), **named, "of_files": of_files})


def _for_all(
    field: str, values: Sequence[str], sources: Sequence[Path], of_files: dict[str, dict[str, str]]
) -> str | None:
    """The value for all files; enters those of `FILE=NAME` into `of_files`."""
    common = []
    for value in values:
        file, equals, column = value.partition("=")
        name = Path(file).name
        if equals and any(name == one.name or (one / name).is_file() for one in sources):
            of_files.setdefault(name, {})[field] = column
        else:
            common.append(value)
    if len(common) > 1:
        option = option_of(field).replace("default-type", "node-type")
        raise _given_twice(option, len(common), f"name the file of each, {option} {_OF_FILE}.")
    return common[0] if common else None


def _pairs(
    option: str, texts: Sequence[str], right: str, *, namespace: bool = False
) -> dict[str, str]:
    """The texts of an option by their names; only a namespace may have an empty name."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not (value if namespace else name):
            raise ConfigurationError(f"Option {option} is {text!r}: it has to be {right}")
        pairs[name] = value
    return pairs


# --- while it runs --------------------------------------------------------------


@contextmanager
def _orderly_end() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that no incomplete files are left behind."""
    ends = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    taken = [number for number in ends if signal.getsignal(number) is signal.SIG_DFL]

    def end(*_: object) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    for number in taken:  # asyncio cancels the load at Ctrl-C, and the loader says what it left
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A progress bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[share]}"),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("reading", total=None, share="")

        def show(phase: str, share: float | None) -> None:
            text = "" if share is None else f"{share:.0%}"
            total = None if share is None else 1.0
            bars.update(task, description=phase, total=total, completed=share or 0, share=text)

        yield show
