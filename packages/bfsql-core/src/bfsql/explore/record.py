"""The recording of tool calls: one JSON object per line, with the arguments and the answer.

{"time": "2026-01-31T12:00:00.123+00:00", "request_id": "5f3a...", "session": "...",
 "client": "claude-code", "graph": null, "tool": "search_entities",
 "arguments": {"query": "Ripley"}, "answer": "[...]", "content": null, "error": null, "ms": 3.1,
 "tokens": 25}

The structured content is recorded if the answer is not JSON, so that readers need no other format.
"""

from __future__ import annotations

import logging
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from bfsql.answers import encode
from bfsql.call import CLIENT, GRAPH, Caller, new_request_id, third_of_bytes
from bfsql.errors import ConfigurationError, system_reason
from bfsql.observer import ObservedCall, Observer
from bfsql.serving.logs import OnceAMinute
from bfsql.tools.parameters import PARAMETERS

log = logging.getLogger("bfsql")

_RUN: Final = new_request_id()
"""The run of the server, of which worker processes have that of their parent."""

_FLAGS: Final = (
    os.O_RDWR
    | os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_NONBLOCK", 0)  # a pipe that nobody reads must hold up no call
    | getattr(os, "O_BINARY", 0)
)


class Recorder(Observer):
    """Appends each tool call to a file, with its answer.

    A file that it creates is readable by its owner alone. Calls go on while it cannot be written.

    Args:
        file: The file; it may have recorded calls already.

    Raises:
        ConfigurationError: The file cannot be written, or holds something else.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._may_log = OnceAMinute()
        self._missing = 0
        self._descriptor, self._inside_line = self._opened()

    def reopen(self) -> None:
        """Open the file anew, as after its rotation; where that fails, the old one is kept.

        Raises:
            ConfigurationError: As at the start.
        """
        descriptor, self._inside_line = self._opened()
        os.dup2(descriptor, self._descriptor, inheritable=False)
        os.close(descriptor)

    def _opened(self) -> tuple[int, bool]:
        """A descriptor of the file, and whether its last line was cut off."""
        try:
            descriptor = os.open(self._file, _FLAGS, 0o600)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"Calls cannot be recorded in {self._file}: {system_reason(error)}. Name a file "
                "that can be written."
            ) from None
        try:
            return descriptor, self._ends_inside_line(descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    def call_ended(self, seen: ObservedCall) -> None:
        """Record it, if it is a call of a tool."""
        if seen.tool not in PARAMETERS and seen.error != "unknown_tool":
            return
        caller = seen.caller or Caller()
        began = datetime.now(UTC) - timedelta(seconds=seen.seconds)
        self._append(
            encode(
                {
                    "time": began.isoformat(timespec="milliseconds"),
                    "request_id": seen.request_id,
                    "session": caller.session or f"{_RUN} {caller.key}".rstrip(),
                    "client": caller.client or CLIENT.get(),
                    "graph": GRAPH.get() or None,
                    "tool": seen.tool,
                    "arguments": dict(seen.sent),
                    "answer": seen.answer,
                    "content": seen.content,
                    "error": seen.error,
                    "ms": round(seen.seconds * 1_000, 1),
                    "tokens": seen.tokens or third_of_bytes(seen.answer.encode("utf-8", "replace")),
                }
            )
        )

    def _append(self, line: bytes) -> None:
        """Append a line; after one that was cut off, a new one begins."""
        text = b"\n%s\n" % line if self._inside_line else b"%s\n" % line
        try:
            written = os.write(self._descriptor, text)
        except OSError as error:
            self._report(error.strerror)
            return
        self._inside_line = written < len(text)
        if self._inside_line:
            self._report("only a part of a line could be written")

    def _report(self, why: str | None) -> None:
        """Count a call that is not recorded, and log it once a minute."""
        self._missing += 1
        if self._may_log():
            log.error(
                "Calls are answered but cannot be recorded in %s, %d so far: %s",
                self._file,
                self._missing,
                why,
            )

    def _ends_inside_line(self, descriptor: int) -> bool:
        """Whether the last line of the file was cut off.

        Raises:
            ConfigurationError: The file holds something else than recorded calls.
        """
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or not about.st_size:
            return False
        with self._file.open("rb") as content:
            first = content.read(1)
            content.seek(-1, os.SEEK_END)
            last = content.read(1)
        if first != b"{":
            raise ConfigurationError(
                f"{self._file} holds something other than recorded calls, and nothing is appended "
                "to it. Name a new file."
            )
        return last != b"\n"
