"""RDF files as they are given to Oxigraph: known formats, checked, and in UTF-8."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from pydantic_core import from_json, to_json

from bfsql.errors import SourceError, StoreError
from bfsql.sources.files import guarded
from bfsql.sources.json_ld_guard import check_json_ld, with_local_contexts
from bfsql.sources.rdf import prefixes_of
from bfsql.sources.rdf_guard import open_guarded
from bfsql.sources.rdf_parsers import PLACE, TOO_LONG, base_of, quads
from bfsql.sources.registry import FORMATS, format_by_content
from bfsql.sources.text import encoding_of, open_utf8
from bfsql.sources.xml_reader import PlainXml
from bfsql_sparql.processes import CHUNK, EMPTY, FILE, FOLDER, LOADED, REFUSED, Channel, LoadedGraph

_OXIGRAPH = {
    "turtle": "TURTLE",
    "ntriples": "N_TRIPLES",
    "nquads": "N_QUADS",
    "trig": "TRIG",
    "rdfxml": "RDF_XML",
    "jsonld": "JSON_LD",
}
"""Formats by their names in core and in pyoxigraph."""
_ENDINGS = {
    format_: tuple(ending for ending in FORMATS[format_].suffixes if ending != ".json")
    for format_ in _OXIGRAPH
}
"""The endings of each format. A file `.json` need not be RDF."""


class GraphSource:
    """Files that are one graph, or the folder of an Oxigraph store.

    Args:
        paths: As given; relative to the working directory.
        max_bytes: Most bytes of an answer to a query on the graph.

    Attributes:
        folder: The folder, if it is one.

    Raises:
        SourceError: A path does not exist, is not RDF, or is a folder that is not a store.
    """

    def __init__(self, paths: Sequence[Path], max_bytes: int) -> None:
        self.folder = next((path for path in paths if path.is_dir()), None)
        self._max_bytes = max_bytes
        if self.folder is None:
            if special := next((p for p in paths if p.exists() and not p.is_file()), None):
                raise SourceError(special, "is not a regular file; save its content as one")
            self._files = [(path, _format(path)) for path in paths]
            return
        # A file in every folder of Oxigraph, and of RocksDB below it.
        if not (self.folder / "CURRENT").is_file():
            raise SourceError(
                self.folder,
                "this folder is not an Oxigraph store; name a folder that is one, or the RDF files "
                "themselves",
            )
        if len(paths) > 1:
            raise SourceError(
                self.folder,
                "an Oxigraph store is served on its own; name it without other files or folders",
            )
        self._files = []

    def load(self, channel: Channel) -> LoadedGraph:
        """Send the graph to a process, and wait until it has loaded it.

        Raises:
            StoreError: A file cannot be read or has a syntax error, with its line if the format
                has lines; or the folder cannot be opened.
            EOFError: The process has ended.
        """
        prefixes: dict[str, str] = {}
        try:
            for path, format_ in self._files:
                for prefix, namespace in prefixes_of(path, format_).items():
                    prefixes.setdefault(prefix, namespace)
                _send(channel, path, format_)
            if self.folder is not None:
                channel.send(FOLDER, os.fsencode(self.folder))
                kind, reason = channel.receive()
                if kind == REFUSED:
                    raise StoreError(
                        f"{self.folder} cannot be opened as an Oxigraph store: {reason.decode()}"
                    )
            channel.send(LOADED, str(self._max_bytes).encode())
            return LoadedGraph(prefixes, is_empty=channel.receive()[1] == EMPTY)
        except SourceError as error:
            raise StoreError(str(error)) from error
        except OSError as error:
            raise EOFError from error


def _format(path: Path) -> str:
    """Name of the RDF format, by the ending of a path."""
    if not path.exists():
        raise SourceError(path, "there is no such file or folder; check the path")
    name = path.name.lower().removesuffix(".gz")
    for format_ in _OXIGRAPH:
        if name.endswith(_ENDINGS[format_]):
            found = format_by_content(path, format_)
            return format_ if found not in _OXIGRAPH else str(found)
    known = ", ".join(" ".join(endings) for endings in _ENDINGS.values())
    raise SourceError(
        path,
        "the file name has no known RDF extension; rename the file, or convert it. Known "
        f"extensions: {known}, each also with .gz",
    )


def _send(channel: Channel, path: Path, format_: str) -> None:
    """Send a file, and wait until it is loaded.

    Raises:
        SourceError: It cannot be read, or has a syntax error.
        EOFError: The process has ended.
    """
    head = {"format": _OXIGRAPH[format_], "base_iri": base_of(path)}
    with suppress(OSError):  # if the process refuses the file before its end
        channel.send(FILE, json.dumps(head).encode())
        for chunk in guarded(path, _chunks(path, format_)):
            channel.send(CHUNK, chunk)
    kind, body = channel.receive()
    if kind == REFUSED:
        fault = json.loads(body)
        if fault["line"] is None:
            _read_by_core(path, format_)
        syntax = fault["reason"] and f"bad syntax: {PLACE.sub('', fault['reason'])}"
        raise SourceError(path, syntax or TOO_LONG, fault["line"])


def _chunks(path: Path, format_: str) -> Iterator[bytes]:
    """The bytes of a file for Oxigraph, in UTF-8; an empty piece is the end.

    Raises:
        SourceError: It exceeds a limit on untrusted files, or is not text.
    """
    encoding = "utf-8" if format_ == "rdfxml" else encoding_of(path, None)
    if format_ == "jsonld":
        with open_utf8(path, encoding) as stream:
            content = stream.read()
        try:
            document = from_json(content)
        except ValueError:
            _read_by_core(path, format_)
            raise
        check_json_ld(path, document)
        yield to_json(with_local_contexts(path, document))
    else:
        is_xml = format_ == "rdfxml"
        with closing(PlainXml(path) if is_xml else open_guarded(path, encoding)) as source:
            while chunk := source.read(1 << 16):
                yield chunk
    yield b""


def _read_by_core(path: Path, format_: str) -> None:
    """Read a file that has an error by core's reader, which knows the line of more of them.

    Raises:
        SourceError: The error.
    """
    for _ in quads(path, format_):
        pass
