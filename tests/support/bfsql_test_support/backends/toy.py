"""A small but complete backend for tests, which keeps its graph in a JSON file."""

import json
import os
import signal
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr

from bfsql.errors import StoreError, StoreUnavailable
from bfsql.loading import graph_is_there
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord
from bfsql.models.load import LoadMode, LoadOptions, LoadReport
from bfsql.plugins import BackendPlugin, GraphFiles
from bfsql.settings import BackendSettings, Env, FoundFile


class ToySettings(BackendSettings):
    """One setting of each kind."""

    found_file = FoundFile("path password retries port", credentials={"password": "path"})

    path: Path = Field(default=Path("toy.json"), description="Where the graph is.")
    password: Annotated[SecretStr | None, Env("TOY_PASSWORD")] = None
    retries: int = Field(default=3, ge=1, le=9, description="Times to try again.")
    port: int = Field(default=5432, description="A name that the server has too.")
    headers: dict[str, str] = Field(default={}, description="What to send along.")


async def _open(settings: ToySettings) -> MemoryBackend:
    try:
        return MemoryBackend(_records(settings.path))
    except FileNotFoundError:
        raise StoreError(f"There is no toy graph {settings.path}. Load one first.") from None


def _records(path: Path) -> list[NodeRecord | EdgeRecord]:
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [NodeRecord(**r) if "id" in r else EdgeRecord(**r) for r in rows]


async def _load(
    settings: ToySettings, records: Iterable[GraphRecord], options: LoadOptions
) -> LoadReport:
    if options.mode is LoadMode.NEW and settings.path.exists():
        raise graph_is_there(str(settings.path), None, None)
    if options.mode is LoadMode.APPEND:
        removed = {record.id for record in options.remove if isinstance(record, NodeRecord)}
        old = _records(settings.path)
        records = [
            *(r for r in old if not isinstance(r, NodeRecord) or r.id not in removed),
            *records,
        ]
    return await _load_anew(settings, records)


async def _load_anew(settings: ToySettings, records: Iterable[GraphRecord]) -> LoadReport:
    rows = [asdict(record) for record in records]
    settings.path.write_text(json.dumps(rows), encoding="utf-8")
    nodes = sum("id" in row for row in rows)
    return LoadReport(nodes=nodes, edges=len(rows) - nodes, place=str(settings.path))


async def _load_and_be_ended(
    settings: ToySettings, records: Iterable[GraphRecord], _: LoadOptions
) -> LoadReport:
    """Sends its process the signal in `TOY_ENDED_BY` twice for each record that it reads."""
    ends = signal.Signals[os.environ["TOY_ENDED_BY"]]
    for _record in records:
        os.kill(os.getpid(), ends)
        os.kill(os.getpid(), ends)
    return await _load_anew(settings, ())


async def _prepare(settings: ToySettings, apply: bool) -> list[str]:
    return [f"CREATE INDEX {'made' if apply else 'wanted'}"]


plugin = BackendPlugin(
    "a toy", ToySettings, _open, _load, _prepare, files=GraphFiles("path", (".json",))
)

of_old = BackendPlugin("a toy whose loader takes no options", ToySettings, _open, _load_anew)  # type: ignore[arg-type]

replacing = BackendPlugin("a toy that makes or replaces", ToySettings, _open, _load, appends=False)

ended = BackendPlugin("a toy that is told to end", ToySettings, _open, _load_and_be_ended)

read_only = BackendPlugin("a toy to read", ToySettings, _open)

newer = BackendPlugin("from the future", ToySettings, _open, contract=99)

_FAULTS = {
    "damaged": StoreError("The toy graph is damaged."),
    "away": StoreUnavailable("The toy graph does not answer."),
    "interrupted": KeyboardInterrupt(),
    "faulty": RuntimeError("odd"),
}


def _fail() -> None:
    raise _FAULTS[os.environ["TOY_FAULT"]]


async def _open_and_fail(_: ToySettings) -> MemoryBackend:
    _fail()
    return MemoryBackend([])


async def _load_and_fail(
    _: ToySettings, records: Iterable[GraphRecord], __: LoadOptions
) -> LoadReport:
    for _record in records:
        _fail()
    return LoadReport(0, 0, "")


async def _prepare_and_fail(_: ToySettings, apply: bool) -> list[str]:
    _fail()
    return []


failing = BackendPlugin(
    "a toy that fails", ToySettings, _open_and_fail, _load_and_fail, _prepare_and_fail
)

older = BackendPlugin("from the past", ToySettings, _open, contract=0)

worded = BackendPlugin("in words", ToySettings, _open, contract="one")

nonsense = 42
