"""The reading of tables as a file that a person may change: `lab.toml`.

    sources = ["tables"]
    path = "lab.db"
    left_out = ["notes"]

    [nodes.samples]
    type = "sample"
    key = "id"

    [edges."samples.collected_by"]
    to = "people"
    predicate = "collected_by"

    [edges.sample_tags]
    subject = "sample_id"
    from = "samples"
    object = "tag_id"
    to = "tags"

Paths are relative to the file. Columns that it does not name are metadata.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bfsql.errors import ConfigurationError, SourceError, did_you_mean
from bfsql.sources.headers import listed
from bfsql.sources.keys import Reference, TableReading, names_of, predicate_of, type_of
from bfsql.sources.options import NO_OPTIONS, SourceOptions
from bfsql.sources.profiles import keys_of
from bfsql.sources.relational import RelationalTable

_OPTIONS = ("encoding", "separator", "null_texts")
_TOP = ("sources", "path", "left_out", "nodes", "edges", *_OPTIONS)
_NODES = ("type", "key", "name")
_EDGES = ("to", "predicate", "several", "subject", "object", "from")


def is_reading(path: Path) -> bool:
    """Whether a path is that of a reading, by its ending."""
    return path.suffix.lower() == ".toml" and path.is_file()


@dataclass(frozen=True)
class ReadingFile:
    """A reading of tables, as a file has it."""

    file: Path
    content: Mapping[str, Any]

    @property
    def sources(self) -> list[Path]:
        """The files and folders of the tables."""
        return [self.file.parent / one for one in self.content["sources"]]

    @property
    def target(self) -> Path | None:
        """The graph file to make."""
        path = self.content.get("path")
        return None if path is None else self.file.parent / path

    def options(self, given: SourceOptions) -> SourceOptions:
        """The options with those of the file that were not given."""
        own = {key: self.content[key] for key in _OPTIONS if key in self.content}
        own = {key: tuple(one) if isinstance(one, list) else one for key, one in own.items()}
        return replace(
            given, **{k: v for k, v in own.items() if getattr(given, k) == getattr(NO_OPTIONS, k)}
        )

    def readings(
        self, tables: Sequence[RelationalTable], options: SourceOptions
    ) -> list[TableReading]:
        """The readings of tables; one that the file does not name is left out, and says so.

        Args:
            tables: The tables of `sources`.
            options: Columns and types that are named beside the file count more.

        Raises:
            SourceError: The file names a table or a column that there is not.
        """
        found = {
            name: TableReading(table, name, "left out")
            for name, table in zip(names_of(tables), tables, strict=True)
        }
        known = [*found, *self.content.get("left_out", ())]
        for name, own in self.content.get("nodes", {}).items():
            if name not in found:
                raise self._error(f"there is no table {name!r}", name, known)
            self._read_nodes(found[name], own, options.of_file(found[name].table.path.name))
        for name, own in self.content.get("edges", {}).items():
            self._read_edges(name, own, found, options)
        named = {*self.content.get("left_out", ())}
        for one in found.values():
            if one.kind == "left out" and one.name not in named:
                one.table.notes.append(f"{self.file.name} does not name it")
        for one in (one for one in found.values() if one.key):
            one.keys, one.rows = keys_of(one.table, one.places(one.key))
        return [*found.values()]

    def _read_nodes(self, one: TableReading, own: Mapping[str, Any], given: SourceOptions) -> None:
        one.kind = "nodes"
        one.type = given.default_type or own.get("type", type_of(one.name))
        key = own.get("key", ())
        one.key = (key,) if isinstance(key, str) else tuple(key)
        one.name_column, one.key_reason = own.get("name"), self.file.name
        if given.id_column:
            one.key, one.key_reason = (given.id_column,), "given"
        one.name_column = given.name_column or one.name_column
        named = (*one.key, *([one.name_column] if one.name_column else []))
        self._check(one, named, f"[nodes.{one.name}]")

    def _read_edges(
        self,
        name: str,
        own: Mapping[str, Any],
        found: Mapping[str, TableReading],
        options: SourceOptions,
    ) -> None:
        """Add a reference to a table of nodes; or make a table one of edges."""
        place = f"[edges.{_key(name)}]"
        given = [own.get("from"), own.get("to")] if "subject" in own else [own.get("to")]
        targets = [(to,) if isinstance(to, str) else tuple(to or ()) for to in given]
        for to in {to for each in targets for to in each or ("",)}:
            if to not in found or not found[to].key:
                raise self._error(
                    f"{place} refers to {to!r}, which is no table with a key", to, found
                )
        if "subject" in own:
            if name not in found:
                raise self._error(f"{place} names no table", name, found)
            one, ends = found[name], [own["subject"], own.get("object", "")]
            self._check(one, ends, place)
            one.kind, one.type = "edges", own.get("predicate", name)
            pairs = zip(ends, targets, strict=True)
            why = self.file.name
            one.references = [Reference((c,), to, one.type, reason=why) for c, to in pairs]
            return
        starts = (one for one in found if name.startswith(f"{one}."))
        table = max(starts, key=len, default=None)
        if table is None or found[table].kind != "nodes":
            raise self._error(f"{place} names no table of [nodes] and a column", name, found)
        one, column = found[table], name[len(table) + 1 :]
        names = [each.name for each in one.table.columns]
        columns = (column,) if column in names else tuple(column.split(", "))
        self._check(one, columns, place)
        predicate = own.get("predicate", predicate_of(column))
        predicate = options.edge_columns.get(column) or predicate
        several = bool(own.get("several", False))
        one.references.append(Reference(columns, targets[0], predicate, several, self.file.name))

    def _check(self, one: TableReading, columns: Sequence[str], place: str) -> None:
        have = [column.name for column in one.table.columns]
        for column in columns:
            if column not in have:
                why = f"{place} names the column {column!r}, which {one.name} does not have"
                near = did_you_mean(column, have)
                raise SourceError(self.file, f"{why}.{near} Its columns are: {listed(have)}")

    def _error(self, why: str, name: str, known: Sequence[str] | Mapping[str, Any]) -> SourceError:
        tables = f"The tables are: {listed([*known])}"
        return SourceError(self.file, f"{why}.{did_you_mean(name, known)} {tables}")


def read_reading(file: Path) -> ReadingFile:
    """The content of a file, checked.

    Raises:
        SourceError: It is no TOML, or has keys that are unknown.
    """
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SourceError(file, f"cannot be read as TOML: {error}") from error
    parts: list[tuple[str, Any, Sequence[str]]] = [("", content, _TOP)]
    for kind, known in (("nodes", _NODES), ("edges", _EDGES)):
        own = content.get(kind, {})
        entries = own.items() if isinstance(own, dict) else [("", None)]
        parts += [(f" in [{kind}.{name}]", one, known) for name, one in entries]
    for place, one, keys in parts:
        if not isinstance(one, dict):
            raise SourceError(file, f"the entry{place} is no table of keys")
        for key in one:
            if key not in keys:
                near = did_you_mean(key, keys) or f" The keys are: {', '.join(keys)}."
                raise SourceError(file, f"{key}{place} is unknown.{near}")
    if not content.get("sources"):
        raise SourceError(file, 'sources is missing: name files or folders, sources = ["tables"]')
    return ReadingFile(file, content)


def write_reading(
    file: Path,
    readings: Sequence[TableReading],
    sources: Sequence[Path],
    target: Path | None,
    options: SourceOptions,
) -> None:
    """Write a reading to a new file.

    Raises:
        ConfigurationError: The file exists, or cannot be written.
    """
    base = file.absolute().parent

    def relative(path: Path) -> str:
        return Path(os.path.relpath(path.absolute(), base)).as_posix()

    lines = [
        "# How bfsql reads these tables. Change what is wrong, and load again:",
        f"#   bfsql load {file.name} --replace",
        "",
        f"sources = {_toml([*map(relative, sources)])}",
        *([f"path = {_toml(relative(target))}"] if target is not None else []),
    ]
    own = {key: getattr(options, key) for key in _OPTIONS}
    kept = (key for key, value in own.items() if value != getattr(NO_OPTIONS, key))
    lines += [f"{key} = {_toml(own[key])}" for key in kept]
    out = [one.name for one in readings if one.kind == "left out"]
    lines.append(f"left_out = {_toml(out)}  # tables that are not read")
    for one in readings:
        lines += _lines(one)
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in lines)
    except FileExistsError:
        raise ConfigurationError(
            f"{file} exists and was not changed. Move it, or give --write another name."
        ) from None
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be written: {error.strerror}.") from None


def _lines(one: TableReading) -> Iterator[str]:
    name = _key(one.name)
    if one.kind == "nodes":
        yield from ("", f"[nodes.{name}]", f"type = {_toml(one.type)}")
        key = one.key[0] if len(one.key) == 1 else [*one.key]
        reason = one.key_reason if one.key else "none is unique: a node for each different row"
        yield f"key = {_toml(key)}  # {reason}"
        if one.name_column is not None:
            yield f"name = {_toml(one.name_column)}"
        for ref in one.references:
            to = ref.to[0] if len(ref.to) == 1 else [*ref.to]
            yield from ("", f"[edges.{_key(f'{one.name}.' + ', '.join(ref.columns))}]")
            yield f"to = {_toml(to)}  # {ref.sureness}"
            yield f"predicate = {_toml(ref.predicate)}"
            if ref.several:
                yield "several = true  # cells hold several ids, or numbers with a decimal point"
        for column, to in one.candidates:
            edges = f"[edges.{_key(f'{one.name}.{column}')}]"
            yield from ("", f"# It may refer to {to}.", f"# {edges}", '# to = ""')
    elif one.kind == "edges":
        yield from ("", f"[edges.{name}]  # two references and little else")
        for (end, to), ref in zip(
            (("subject", "from"), ("object", "to")), one.references, strict=True
        ):
            yield f"{end} = {_toml(ref.columns[0])}"
            yield f"{to} = {_toml(ref.to[0])}  # {ref.sureness}"
        yield f"predicate = {_toml(one.type)}"
    elif one.key_reason:
        yield from ("", f"# {one.key_reason}; an entry takes it in:", f"# [nodes.{name}]")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
