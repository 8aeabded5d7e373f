"""The work of a call ends with the call, whatever an author put into one record."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bfsql import Limits, MemoryBackend, call, open_graph, workers
from bfsql.errors import ToolError
from bfsql.models import Metadata
from bfsql.models.merge import combined, fold
from bfsql.models.records import EdgeRecord, GraphRecord, NodeRecord
from bfsql_jsonld import documents
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.servers.serve_process import serving

DEADLINE = 0.3
MARGIN = 1.0
"""Seconds of processor time after the deadline: reading the record, and ending."""
N = 1_000_000
HARD: dict[str, Metadata] = {
    "numbers": {"v": list(range(N))},
    "texts": {"v": [f"\u00e9{k}" for k in range(N)]},
    "a long text": {"v": "\u00e9\u0301 " * 8 * N},
    "keys": {f"k{k}": "\u202e" for k in range(N // 4)},
}


class OneRecord(MemoryBackend):
    """A hub and a node with a hard record, which is not copied."""

    def __init__(self, record: Metadata) -> None:
        super().__init__(
            [NodeRecord("hub", "A"), NodeRecord("n", "A"), EdgeRecord("hub", "a", "n")]
        )
        self._record = record

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        return {"n": self._record} if "n" in ids else {}


async def processor_time_left() -> float:
    """Processor time that passes until the threads of calls have nothing to do."""
    before, pool = time.process_time(), workers._workers._threads
    together = threading.Barrier(pool._max_workers)
    waiting = (pool.submit(together.wait) for _ in range(pool._max_workers))
    await asyncio.gather(*map(asyncio.wrap_future, waiting), asyncio.to_thread(int))
    return time.process_time() - before


@pytest.mark.parametrize(
    "arguments",
    [
        {"facets": ["v"], "topology_only": True},
        {"sort_by": "v", "topology_only": True},
        {"where": ["v = none"], "topology_only": True},
        {"where": ["v ~ none"], "topology_only": True},
        {"path": ["-a->"], "measure": ["max 1.v"], "topology_only": True},
        {"path": ["-a->"], "measure": ["sum 1.v"], "topology_only": True},
        {"fields": ["v"]},
        {"max_tokens": 0},
    ],
    ids=str,
)
@pytest.mark.parametrize("record", HARD)
async def test_a_call_on_a_hard_record_ends_at_its_deadline_and_so_does_its_thread(
    record: str, arguments: Mapping[str, Any]
) -> None:
    limits = Limits(deadline=DEADLINE, max_call_memory=2_000_000_000)
    async with open_graph(OneRecord(HARD[record]), limits=limits, hooks=()) as graph:
        before = time.process_time()
        with contextlib.suppress(ToolError):  # where not even a part was read in time
            await graph.call("bfs_query", {"seeds": ["hub"], **arguments})
        assert time.process_time() - before < DEADLINE + MARGIN
        assert await processor_time_left() < MARGIN


DOCUMENTS: dict[str, Any] = {
    "values": {"@id": "http://e/s", "http://e/p": [f"v{k}" for k in range(N // 4)]},
    "keys": {"@id": "http://e/s", **{f"http://e/{k}": k for k in range(N // 4)}},
    "terms": {"@context": {f"t{k}": f"http://e/{k}" for k in range(N // 4)}, "t1": 1},
}


@pytest.mark.parametrize("document", DOCUMENTS)
async def test_the_reading_of_a_json_ld_document_ends_at_the_deadline(document: str) -> None:
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(1))
    before = time.process_time()
    with call.scope(seconds=DEADLINE):
        reading = asyncio.to_thread(
            documents._flattened, DOCUMENTS[document], "http://e/d", None, {}
        )
        with pytest.raises(TimeoutError):
            await call.within(reading)
    assert time.process_time() - before < DEADLINE + MARGIN
    assert await processor_time_left() < MARGIN


@pytest.mark.parametrize(
    "work",
    [
        lambda: combined([{"text_span": "t", "section": k} for k in range(N // 4)]),
        lambda: fold("\u00e9 " * 8 * N),
        lambda: [one for one in call.checked(count(), late=True) if one < 0],
    ],
    ids=["evidence", "a long text", "a loop"],
)
async def test_work_in_a_thread_ends_with_its_call(work: Any) -> None:
    with call.scope() as scope:
        working = asyncio.ensure_future(workers.run(work, 0))
        await asyncio.sleep(0)
    assert scope.ended
    with pytest.raises(TimeoutError):
        await working


# --- loads ------------------------------------------------------------------------------


def _forms(n: int) -> dict[str, int]:
    return {f"k{k}{form}": k for k in range(n // 2) for form in ("\u00e9", "e\u0301")}


def _items(k: int, *, many: int) -> str:
    items = [{"text_span": "t", "section": n} for n in range(k, k + many)]
    return json.dumps({"subject": "a", "predicate": "p", "object": "b", "provenance": items})


_LIST = " ".join(map(str, range(10_000)))
LOADS = {
    "marks.jsonl": lambda: json.dumps({"id": "n", "name": "\u0301\u0323" * 200_000}),
    "keys.jsonl": lambda: json.dumps({"id": "n", **_forms(100_000)}),
    "lists.ttl": lambda: "".join(f"<http://e/{j}> <http://e/p> ({_LIST}).\n" for j in range(30)),
    "evidence.jsonl": lambda: _items(0, many=100_000),
    "records.jsonl": lambda: "\n".join(_items(k, many=1) for k in range(100_000)),
}


def worked(pid: int, wait: Callable[[float], int | None], until: float) -> float:
    """Seconds of processor time that a process has used, when they are so many or it has ended.

    Args:
        wait: Waits so many seconds for its end, and returns its exit code.
    """
    used = 0.0
    while used < until and wait(0.02) is None:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return used


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("file", LOADS)
@pytest.mark.parametrize("seconds", [1.0, 2.0, 4.0] if THOROUGH else [1.0, 4.0])
def test_a_signal_ends_the_load_of_a_hard_record_and_leaves_the_store(
    tmp_path: Path, file: str, seconds: float
) -> None:
    (tmp_path / file).write_text(LOADS[file](), "utf-8")
    (tmp_path / "a.db").write_bytes(b"")
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, "-m", "bfsql", "load", file, "--path", "a.db", "--replace"]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as load:

        def wait(seconds: float) -> int | None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return load.wait(seconds)
            return None

        used = worked(load.pid, wait, seconds)
        load.send_signal(signal.SIGTERM)
        assert worked(load.pid, wait, 60) - used < 3
        out, _ = load.communicate()
    if not any(done in out for done in ("now holds", "The new graph is in place")):
        assert load.returncode in (130, -signal.SIGTERM)
        assert (tmp_path / "a.db").read_bytes() == b""
    assert [*(tmp_path / "temporary").iterdir()] == []
    assert {one.name for one in tmp_path.iterdir()} <= {file, "a.db", "a.db.bak", "temporary"}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_a_signal_ends_a_server_during_a_call_on_a_hard_record(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    texts = [f"\u00e9{k}" for k in range(N // 2)]
    records: list[GraphRecord] = [
        NodeRecord("hub", "A"),
        EdgeRecord("hub", "a", "n"),
        NodeRecord("n", "A", {"v": texts}),
    ]
    await load_graph(SqliteSettings(path=path), records)
    options = ["--backend", "sqlite", "--path", str(path), "--deadline", "600", "--grace", "0.1"]
    with serving("--rest", *options, "--max-call-memory", "2GB") as served:
        body = {
            "seeds": ["hub"],
            "where": ["v ~ none", "v = none"],
            "facets": ["v"],
            "sort_by": "v",
        }
        posting = partial(httpx2.post, f"{served.url}/tools/bfs_query", json=body, timeout=60)
        calling = asyncio.ensure_future(asyncio.to_thread(posting))
        working = lambda until: asyncio.to_thread(worked, served.pid, served.wait, until)
        used = await working(await working(0.01) + 0.5)
        served.send(signal.SIGTERM)
        assert await working(60) - used < 3
        await asyncio.wait([calling])
        assert served.wait(0) == 0
