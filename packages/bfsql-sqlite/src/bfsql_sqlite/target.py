"""The place of a graph file: its present content, and its replacement in one step."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from bfsql.errors import LoadRefused, StoreError, system_reason
from bfsql.loading.intake import graph_is_there
from bfsql.models.load import LoadMode, LoadOptions
from bfsql.sources.files import SPECIAL_FILES
from bfsql_sqlite.connection import (
    APPLICATION_ID,
    BROKEN,
    LAYOUT,
    Header,
    check,
    read_header,
    read_only,
)


class Target(NamedTuple):
    """The present content of the place of a new file."""

    path: Path
    header: Header | None = None
    """Header of the existing graph; None if there is none."""
    mode: int | None = None
    """Permissions of the existing file, which the new one receives; None if there is none."""

    @property
    def backup(self) -> Path:
        """The path of the backup of a replaced graph."""
        return self.path.with_name(f"{self.path.name}.bak")


def look(path: Path, options: LoadOptions) -> Target:
    """The content of a place, not a link, after checking that a load may put a file there.

    Raises:
        LoadRefused: A graph exists, and the mode is NEW.
        StoreError: The file there, or in the place of the backup, is not a graph; or nothing
            can be added to it.
        OSError: The file cannot be read.
    """
    target = _look(path)
    if target.header is None:
        return target
    if options.mode is LoadMode.NEW and target.header.layout == LAYOUT:
        raise graph_is_there(str(path), *_size_of(path))
    if options.mode is not LoadMode.REPLACE and target.header.layout < LAYOUT:
        raise LoadRefused(
            f"Nothing was loaded: {path} contains a graph in the older layout "
            f"{target.header.layout}, to which nothing can be added. Use --replace to replace it "
            "with a new graph."
        )
    if options.mode is not LoadMode.REPLACE:
        check(path)
    elif options.backup:
        _check_backup(target.backup)
    return target


def _look(path: Path) -> Target:
    try:
        status = path.stat()
        if kind := SPECIAL_FILES.get(stat.S_IFMT(status.st_mode)):  # opening one could block
            raise StoreError(
                f"{path} is a {kind}, so no graph is put there. Name a regular file with --path."
            )
        header = read_header(path)
    except FileNotFoundError:
        return Target(path)
    if status.st_size and (header is None or header.application_id != APPLICATION_ID):
        raise StoreError(
            f"{path} exists but does not contain a BFS-QL graph, so it is not replaced. Name "
            "another file with --path, or remove this one first."
        )
    return Target(path, header, status.st_mode & 0o777)


def _size_of(path: Path) -> tuple[int | None, int | None]:
    """The number of nodes and edges of a graph, as far as they can be read."""
    try:
        with closing(read_only(path)) as graph:
            query = "SELECT value FROM meta WHERE key IN ('edges', 'nodes') ORDER BY key"
            edges, nodes = (int(value) for (value,) in graph.execute(query))
            return nodes, edges
    except (*BROKEN, StoreError):
        return None, None


def _check_backup(path: Path) -> None:
    try:
        _look(path)
    except (OSError, StoreError) as error:
        raise StoreError(
            f"{path} exists but does not contain a BFS-QL graph, so it is not overwritten with "
            "the backup of the old graph. Move it away, or use --no-backup."
        ) from error


# --- putting a file in its place ----------------------------------------------


def put(file: Path, target: Target, options: LoadOptions) -> str:
    """Put a finished file in its place; a crash leaves either the old or the new one.

    Its folder has to be on the same disk, with room for another file.

    Returns:
        The path of the kept graph, or an empty string.

    Raises:
        StoreError: The present file must not be replaced, or is open and the system forbids
            replacing open files.
    """
    target = look(target.path, options if options.mode is LoadMode.NEW else _REPLACING)
    if target.mode is not None:
        file.chmod(target.mode)
    _sync(file)
    kept = target.header and options.mode is LoadMode.REPLACE and options.backup
    if kept:
        _keep(target, file.with_name("old.db"))
    try:
        file.replace(target.path)
    except PermissionError as error:
        if os.name == "posix":
            raise
        raise StoreError(
            f"{target.path} cannot be replaced because a program, probably a server, has it open, "
            "and Windows does not allow open files to be replaced. Stop the program, then load "
            "again. The existing graph is unchanged."
        ) from error
    if os.name == "posix":
        _sync(target.path.parent)
    return str(target.backup) if kept else ""


_REPLACING = LoadOptions(LoadMode.REPLACE, backup=False)


def _keep(target: Target, copy: Path) -> None:
    """Give the old file a second name, so that the place is never empty."""
    try:
        os.link(target.path, copy)
    except OSError:  # a file system without hard links
        shutil.copy2(target.path, copy)
        _sync(copy)
    copy.replace(target.backup)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() or os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Translate system errors into sentences about a file as the settings name it."""
    try:
        yield
    except BlockingIOError as error:
        raise LoadRefused(
            f"Nothing was loaded: another load is writing {path}. Wait until it has finished, "
            "then load again."
        ) from error
    except FileNotFoundError as error:
        raise StoreError(
            f"{path} cannot be written: the folder {path.parent} does not exist. Create it first, "
            "or name another file with --path."
        ) from error
    except IsADirectoryError as error:
        raise StoreError(
            f"{path} is a folder. Name a file inside it: --path {path / 'graph.db'}"
        ) from error
    except (OSError, ValueError) as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(
            f"{path} cannot be written: {system_reason(error)}. Give this user write access to its "
            "folder, or name another file with --path."
        ) from error
