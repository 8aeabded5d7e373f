"""The hook plugin: writes a line a call, and brings the command that reads them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from typing import Any, NoReturn

from bfsql.call import Caller
from bfsql.plugins import CallOutcome, CommandDeclaration, hookimpl
from bfsql_audit.line import line
from bfsql_audit.settings import Settings


class Audit:
    """Watches every call.

    Args:
        settings: Where lines go; None for what the environment says.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings.read()
        file = self._settings.file
        self._file = file and _File(
            file,
            maxBytes=self._settings.size,
            backupCount=self._settings.keep,
            encoding="ascii",
            delay=True,
        )

    @hookimpl
    def watch_call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        caller: Caller | None,
        outcome: CallOutcome,
        seconds: float,
    ) -> None:
        """Write a line."""
        if self._file:
            values = self._settings.values
            written = line(tool, arguments, caller, outcome, seconds, values=values)
            self._file.handle(logging.makeLogRecord({"msg": written}))
            self._file.close()  # the next line opens it again: a file may be moved meanwhile

    @hookimpl
    def cli_commands(self) -> list[CommandDeclaration]:
        """`bfsql audit`."""
        return [CommandDeclaration("audit", "Sum up the tool calls.", "bfsql_audit.command:audit")]


class _File(RotatingFileHandler):
    """A file that says when it cannot be written, so that core can report it."""

    def handleError(self, record: logging.LogRecord) -> NoReturn:  # noqa: N802
        raise  # noqa: PLE0704 - logging calls this where it has caught the error
