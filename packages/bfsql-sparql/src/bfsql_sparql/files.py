"""RDF files, or the folder of an Oxigraph store, queried in processes that this one starts."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

from bfsql import call
from bfsql.errors import SourceError, StoreError, StoreUnavailable
from bfsql.places import Places
from bfsql.sources.files import stamp
from bfsql_sparql.dataset import Dataset, Refused, Reply, TooSlow
from bfsql_sparql.processes import REFUSED, TOO_LARGE, GraphProcesses, QueryProcess
from bfsql_sparql.rdf_files import GraphSource
from bfsql_sparql.settings import SparqlSettings

log = logging.getLogger("bfsql")

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


class Files(Dataset):
    """Files that are queried by at most `max_concurrent` processes at once.

    Args:
        settings: `data`, `query_timeout`, `max_concurrent` and `max_response_bytes` are used.
            Paths are relative to the working directory.

    Raises:
        StoreError: A path does not exist, is not RDF, or is a folder that is not a store.
    """

    def __init__(self, settings: SparqlSettings) -> None:
        self.name = ", ".join(settings.data)
        self.prefixes: Mapping[str, str] = {}
        self._paths = [Path(name).expanduser() for name in settings.data]
        self._state = self._now()  # before they are read, so that no change is missed
        self._seconds = settings.query_timeout
        self._places = Places(lambda: (settings.max_concurrent, settings.max_concurrent))
        self._idle: list[QueryProcess] = []
        self._busy: set[QueryProcess] = set()
        self._is_closed = False
        try:
            source = GraphSource(self._paths, settings.max_response_bytes)
        except SourceError as error:
            raise StoreError(str(error)) from error
        self._threads = ThreadPoolExecutor(
            settings.max_concurrent + 1, thread_name_prefix="bfsql-sparql"
        )
        share = source.folder is None and hasattr(os, "fork")
        self._processes = GraphProcesses(source.load, share=share)

    @classmethod
    async def open(cls, settings: SparqlSettings) -> Files:
        """Read the files, several as one dataset, or open the folder. Cancelling ends the reading.

        Args:
            settings: As for `Files`.

        Raises:
            StoreError: As for `Files`; or a file has a syntax error (with its line).
        """
        files = cls(settings)
        try:
            graph = await files._in_thread(files._processes.load)
            assert graph is not None
        except EOFError:
            await files.close()
            raise StoreError(
                f"{files.name}: the process that read it ended before it had finished, probably "
                "because there was not enough memory."
            ) from None
        except BaseException:
            await files.close()
            raise
        files.prefixes = graph.prefixes
        if graph.is_empty:
            log.warning("%s contains no statements: every answer will be empty", files.name)
        return files

    def changed(self) -> Hashable | None:
        """See `Dataset`; the graph also changes if the process that holds it has ended."""
        now = self._now()
        if not self._processes.hold_graph:
            return *now, "lost"
        return None if now == self._state else now

    def _now(self) -> tuple[Hashable, ...]:
        return tuple(map(_state, self._paths))

    async def reply(self, query: str, seconds: float | None = None) -> Reply:
        """See `Dataset`. A query that is no longer wanted ends with its process."""
        word = fetching(query)
        if word is not None:
            raise Refused(
                f"Queries with {word} are refused, because they would fetch data from elsewhere."
            )
        limit = self._seconds if seconds is None else seconds
        left = call.remaining()
        most = limit if left is None else min(limit, left)
        try:
            async with asyncio.timeout(most), self._places.turn():
                return Reply(await self._answer(query))
        except TimeoutError:
            if left is not None and left <= limit:
                raise
            raise TooSlow(f"{self.name}: a query took more than {limit:g} s.") from None

    async def _answer(self, query: str) -> bytes:
        if self._is_closed:
            raise StoreUnavailable(f"{self.name}: it is closed.")
        process = self._idle.pop() if self._idle else self._started()
        self._busy.add(process)
        try:
            kind, body = await self._in_thread(lambda: process.ask(query))
        except BaseException as error:
            process.end()
            if not self._is_closed:
                self._threads.submit(process.close)
            if isinstance(error, EOFError):
                raise self._ended() from None
            raise
        finally:
            self._busy.discard(process)
        self._idle.append(process)
        if kind == REFUSED:
            raise Refused(body.decode())
        if kind == TOO_LARGE:
            raise Refused(body.decode(), HTTPStatus.INSUFFICIENT_STORAGE)
        return body

    def _started(self) -> QueryProcess:
        try:
            return self._processes.start()
        except OSError as error:
            raise StoreUnavailable(
                f"{self.name}: no process could be started for a query ({error}). Try again."
            ) from error

    def _ended(self) -> StoreError:
        """The error if a process ended that was not to end."""
        if self._is_closed:
            return StoreUnavailable(f"{self.name}: it was closed.")
        return Refused(
            f"{self.name}: a query ended the process that evaluated it, probably because it needed "
            "too much memory.",
            HTTPStatus.INSUFFICIENT_STORAGE,
        )

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def close(self) -> None:
        """See `Dataset`."""
        if self._is_closed:
            return
        self._is_closed = True
        self._processes.end()
        remaining = [*self._busy, *self._idle]
        for process in remaining:
            process.end()
        closing = [self._processes.close, *(process.close for process in remaining)]
        await asyncio.gather(*map(self._in_thread, closing))
        self._threads.shutdown(wait=False)


def _state(path: Path) -> Hashable:
    """A value that differs if a file was replaced, written to, or no longer exists.

    The times of a folder change with Oxigraph's own work in it.
    """
    try:
        inode, *content = stamp(path)
        return inode, *(() if path.is_dir() else content)
    except OSError as error:
        return error.errno


def fetching(query: str) -> str | None:
    """The word that would make a query fetch a document, or None if there is none.

    `SERVICE` queries another endpoint, and processors other than Oxigraph load what `FROM` names.
    No query of this package contains either.

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
