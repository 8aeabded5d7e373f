"""RDF files, or the folder of an oxigraph store, as a dataset in this process."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import re
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from bfsql import call
from bfsql.errors import SourceError, StoreError, StoreUnavailable
from bfsql.sources.files import stamp
from bfsql.sources.formats import FORMATS
from bfsql.sources.rdf import prefixes_of
from bfsql_sparql.dataset import Dataset, Refused, Reply, TooSlow
from bfsql_sparql.settings import SparqlSettings

if TYPE_CHECKING:
    import rdflib

log = logging.getLogger("bfsql")

_RDF = ("turtle", "ntriples", "nquads", "trig", "rdfxml", "jsonld")
_STORE_MARK = "CURRENT"
"""A file in every folder of oxigraph (and of RocksDB below it)."""

_TOKEN = re.compile(
    r"""<[^<>"{}|^`\\\x00-\x20]*>"""  # an IRI
    r'''|"{3}(?:[^"\\]|\\.|"{1,2}(?!"))*"{3}|"(?:[^"\\\n\r]|\\.)*"'''
    r"""|'{3}(?:[^'\\]|\\.|'{1,2}(?!'))*'{3}|'(?:[^'\\\n\r]|\\.)*'"""
    r"""|\#[^\n\r]*|[?$@]\w+|\w*:[^\s<>"'{}()|^`;,]*"""  # comments, variables, short names
    r"""|(?P<escape>\\[uU])|(?P<word>\w+)""",
    re.DOTALL,
)
_FETCHING = {"service", "from", "load"}
_SUSPECT = re.compile(r"service|from|load|\\u", re.IGNORECASE)

T = TypeVar("T")


class Stopped(Exception):
    """The result is no longer wanted."""


class Stop:
    """A flag that the event loop sets and a thread checks often."""

    __slots__ = ("_set",)

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        """Request the thread to end."""
        self._set = True

    def check(self) -> None:
        """Return while the work is still wanted.

        Raises:
            Stopped: It is no longer wanted.
        """
        if self._set:
            raise Stopped


class Engine(Protocol):
    """A dataset in process. Its methods block, and run in threads."""

    @property
    def dataset(self) -> rdflib.Dataset:
        """The dataset as rdflib sees it."""

    def read(self, path: Path, format_: str, stop: Stop) -> None:
        """Add the statements of a file.

        Args:
            path: The file.
            format_: Name of its format, one of core's for RDF.
            stop: Checked while reading.

        Raises:
            SourceError: A syntax error, with its line where the format has lines.
            Stopped: The flag was set.
        """

    def finish(self) -> bool:
        """Prepare for queries after the last file; return whether there is any statement."""

    def answer(self, query: str, stop: Stop, most: int) -> bytes:
        """A SELECT or ASK query's answer, in the SPARQL JSON results format.

        Args:
            query: The whole text.
            stop: Checked between solutions, and more often where the engine allows.
            most: Most bytes of the answer.

        Raises:
            Refused: It is not such a query, or the answer is larger.
            Stopped: The flag was set.
        """


async def open_files(settings: SparqlSettings, *, oxigraph: bool | None = None) -> Files:
    """Read the files of the setting `data`, several as one dataset, or open the folder there.

    Cancelling ends the reading.

    Args:
        settings: `data`, `query_timeout`, `max_concurrent` and `max_response_bytes` are used.
            Paths are relative to the working directory.
        oxigraph: Whether to use oxigraph; None to use it if it is installed.

    Raises:
        StoreError: A path does not exist, is not RDF, has a syntax error (with its line),
            or is a folder that is not a store.
    """
    if oxigraph is None:
        oxigraph = importlib.util.find_spec("oxrdflib") is not None
    files = Files(settings)
    try:
        await files.load(oxigraph=oxigraph)
    except BaseException:
        await files.close()
        raise
    return files


class Files(Dataset):
    """Files in process, queried by a few threads.

    Args:
        settings: As for `open_files`.
    """

    def __init__(self, settings: SparqlSettings) -> None:
        self.name = ", ".join(settings.data)
        self.prefixes: Mapping[str, str] = {}
        self._paths = [Path(name).expanduser() for name in settings.data]
        self._state = self._now()  # before they are read, so that no change is missed
        self._engine: Engine | None = None
        self._seconds = settings.query_timeout
        self._most = settings.max_response_bytes
        self._stops: set[Stop] = set()
        self._threads = ThreadPoolExecutor(
            settings.max_concurrent, thread_name_prefix="bfsql-sparql"
        )

    async def load(self, *, oxigraph: bool) -> None:
        """Read everything; see `open_files`."""
        self._engine, self.prefixes, any_ = await self._run(
            lambda stop: _loaded(self._paths, stop, oxigraph=oxigraph)
        )
        if not any_:
            log.warning("%s contains no statements: every answer will be empty", self.name)

    def changed(self) -> Hashable | None:
        """See `Dataset`."""
        now = self._now()
        return None if now == self._state else now

    def _now(self) -> tuple[Hashable, ...]:
        return tuple(map(_state, self._paths))

    async def reply(self, query: str, seconds: float | None = None) -> Reply:
        """See `Dataset`. oxigraph checks the time between rows, rdflib also at each statement."""
        engine = self._opened
        word = fetching(query)
        if word is not None:
            raise Refused(
                f"Queries with {word} are refused, because they would fetch data from elsewhere."
            )
        limit = self._seconds if seconds is None else seconds
        left = call.remaining()
        try:
            async with asyncio.timeout(limit if left is None else min(limit, left)):
                return Reply(await self._run(lambda stop: engine.answer(query, stop, self._most)))
        except TimeoutError:
            if left is not None and left <= limit:
                raise
            raise TooSlow(f"{self.name}: a query took more than {limit:g} s.") from None

    @property
    def dataset(self) -> rdflib.Dataset:
        """The same statements for programs that use rdflib, whatever the engine.

        Raises:
            StoreUnavailable: The files are closed.
        """
        return self._opened.dataset

    @property
    def _opened(self) -> Engine:
        if self._engine is None:
            raise StoreUnavailable(f"{self.name}: it is closed.")
        return self._engine

    async def _run(self, work: Callable[[Stop], T]) -> T:
        """Run work in a thread; cancelling stops it."""
        stop = Stop()
        self._stops.add(stop)
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, work, stop)
        except Stopped:
            raise StoreUnavailable(f"{self.name}: it was closed.") from None
        finally:
            stop.set()
            self._stops.discard(stop)

    async def close(self) -> None:
        """See `Dataset`. A running query of oxigraph ends with its next row."""
        self._engine = None
        for stop in self._stops:
            stop.set()
        self._threads.shutdown(wait=False, cancel_futures=True)


def _state(path: Path) -> Hashable:
    """A value that differs if a file was replaced, written to, or no longer exists.

    The times of a folder change with oxigraph's own work in it.
    """
    try:
        inode, *content = stamp(path)
        return inode, *(() if path.is_dir() else content)
    except OSError as error:
        return error.errno


def _loaded(
    paths: list[Path], stop: Stop, *, oxigraph: bool
) -> tuple[Engine, dict[str, str], bool]:
    """The engine with all content, the declared prefixes, and whether there is any content."""
    try:
        if any(path.is_dir() for path in paths):
            return _folder(paths, oxigraph=oxigraph)
        formats = [_format(path) for path in paths]
        engine = _engine(oxigraph=oxigraph)
        prefixes: dict[str, str] = {}
        for path, format_ in zip(paths, formats, strict=True):
            prefixes |= {p: ns for p, ns in prefixes_of(path, format_).items() if p not in prefixes}
            engine.read(path, format_, stop)
        return engine, prefixes, engine.finish()
    except SourceError as error:
        raise StoreError(str(error)) from error


def _engine(*, oxigraph: bool) -> Engine:
    if oxigraph:
        from bfsql_sparql.oxigraph_engine import OxigraphEngine

        return OxigraphEngine()
    from bfsql_sparql.rdflib_engine import RdflibEngine

    return RdflibEngine()


def _folder(paths: list[Path], *, oxigraph: bool) -> tuple[Engine, dict[str, str], bool]:
    folder = next(path for path in paths if path.is_dir())
    if not (folder / _STORE_MARK).is_file():
        raise SourceError(
            folder,
            "this folder is not an Oxigraph store; name a folder that is one, or the RDF files "
            "themselves",
        )
    if len(paths) > 1:
        raise SourceError(
            folder, "an Oxigraph store is served on its own; name it without other files or folders"
        )
    if not oxigraph:
        raise SourceError(
            folder,
            "opening an Oxigraph store needs a library that is not installed; install it with: "
            'pip install "bfsql-sparql[oxigraph]"',
        )
    from bfsql_sparql.oxigraph_engine import OxigraphEngine

    engine = OxigraphEngine(folder)
    return engine, {}, engine.finish()


def _format(path: Path) -> str:
    """Name of the RDF format, by the ending of a path."""
    if not path.exists():
        raise SourceError(path, "there is no such file or folder; check the path")
    name = path.name.lower().removesuffix(".gz")
    for format_ in _RDF:
        if name.endswith(FORMATS[format_].suffixes):
            return format_
    known = ", ".join(" ".join(FORMATS[format_].suffixes) for format_ in _RDF)
    raise SourceError(
        path,
        "the file name has no known RDF extension; rename the file, or convert it. Known "
        f"extensions: {known}, each also with .gz",
    )


def fetching(query: str) -> str | None:
    """The word that would make a query fetch a document, or None if there is none.

    Both engines fetch documents for a query that contains such a word: `SERVICE` asks another
    endpoint, `FROM` makes rdflib load what it names. No query of this package contains one.

    Args:
        query: The whole text. Escapes outside strings and IRIs count, because they
            could spell such a word.
    """
    if _SUSPECT.search(query) is None:
        return None
    for token in _TOKEN.finditer(query):
        if token["escape"]:
            return token["escape"]
        word = token["word"]
        if word and word.casefold() in _FETCHING:
            return word
        # A processor that resolves \u0022 first ends the string there.
        if re.search(r"(?<!\\)(?:\\\\)*\\[uU]", token[0]):
            return "\\u"
    return None
