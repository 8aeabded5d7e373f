"""Worker processes at one port: equal answers, a worker that dies, signals, and what is summed."""

import asyncio
import json
import os
import re
import signal
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from click.testing import CliRunner
from mcp import Client
from prometheus_client.parser import text_string_to_metric_families

from bfsql.cli import bfsql
from bfsql.serving.processes import _sums
from bfsql_test_support.clients import PATIENCE, until
from bfsql_test_support.servers.serve_process import Served, serving

FILES = Path(__file__).parents[2] / "docs/how-to/snippets/for-200-people"
WORKERS = 4
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("describe_schema", {}),
    ("search_entities", {"query": "Top Gun"}),
    ("bfs_query", {"seeds": ["Person:*"], "facets": ["born:10"], "limit": 3}),
    ("describe_entity", {"id": "nobody"}),
]


@pytest.fixture
async def served(films_db: Path, tmp_path: Path) -> AsyncIterator[Served]:
    (tmp_path / "served.toml").write_text(f'[graphs.films]\npath = "{films_db}"\n')
    options = ("--config", str(tmp_path / "served.toml"), "--record", str(tmp_path / "calls"))
    options += ("--workers", str(WORKERS), "--stateless", "--rest", "--max-waiting", "400")
    with serving(*options, "--admin-port", "0", "--log-level", "info") as server:
        await until(lambda: measured(server)["bfsql_workers"] == WORKERS)
        yield server


def processes(server: Served) -> list[psutil.Process]:
    """The workers and the process of the admin port, in the order in which they began."""
    return sorted(psutil.Process(server.pid).children(), key=lambda one: one.pid)


def measured(server: Served) -> dict[str, float]:
    """The sums of the samples of each metric."""
    sums: dict[str, float] = defaultdict(float)
    for family in text_string_to_metric_families(httpx2.get(f"{server.admin}/metrics").text):
        for one in family.samples:
            sums[one.name] += one.value
    return sums


async def told(server: Served) -> list[str]:
    """The bytes of answers by MCP and by the web API, on one connection each."""
    async with Client(f"{server.url}/mcp", read_timeout_seconds=PATIENCE) as client:
        answers = [await client.list_tools(), *[await client.call_tool(*one) for one in CALLS]]
    async with httpx2.AsyncClient(base_url=server.url, timeout=PATIENCE) as http:
        schema = await http.get("/schema")
    found = [answer.model_dump_json(exclude={"meta"}) for answer in answers]
    return [*found, schema.text, schema.headers["etag"]]


@pytest.mark.slow
async def test_workers_answer_alike_are_summed_and_reload_and_stop_as_one(
    served: Served, tmp_path: Path
) -> None:
    answers = await asyncio.gather(*(told(served) for _ in range(8 * WORKERS)))
    assert answers == [answers[0]] * len(answers)
    # The lines of large answers, which several write at the same time, are whole.
    async with httpx2.AsyncClient(base_url=served.url, timeout=PATIENCE) as http:
        large = [http.post("/tools/bfs_query", json={"seeds": ["Person:*"]}) for _ in range(40)]
        assert {one.status_code for one in await asyncio.gather(*large)} == {200}
    lines = [json.loads(line) for line in (tmp_path / "calls").read_text("utf-8").splitlines()]
    assert len(lines) == len(answers) * len(CALLS) + 40
    assert len({one["session"] for one in lines}) == 1
    sums = measured(served)
    for name in ("bfsql_calls_total", "bfsql_call_seconds_count"):
        assert sums[name] == len(lines) + len(answers)
    assert (sums["bfsql_info"], sums["bfsql_connections_limit"]) == (1, 1000)
    asked = set(re.findall(r"\bbfsql_\w+", " ".join(map(Path.read_text, FILES.iterdir()))))
    known = httpx2.get(f"{served.admin}/metrics").text
    assert len(asked) > 10
    assert not {name for name in asked if f" {name.removesuffix('_bucket')} " not in known}
    assert httpx2.get(f"{served.admin}/readyz").json()["ready"]
    served.send(signal.SIGHUP)
    await until(lambda: sum("The graph was reopened" in line for line in served.log) == WORKERS)
    before = processes(served)
    assert served.stop() == 0
    assert not [one for one in before if one.is_running()]


@pytest.mark.slow
async def test_a_worker_that_dies_costs_each_client_one_error_and_is_replaced(
    served: Served,
) -> None:
    """Attack: a worker is killed beneath its clients; then the process that started it."""
    errors, answered, stop = [0] * 12, [0] * 12, asyncio.Event()

    async def ask(client: int) -> None:
        async with httpx2.AsyncClient(base_url=served.url, timeout=PATIENCE) as http:
            while not stop.is_set():
                try:
                    answer = await http.get("/entities", params={"q": f"Tom {client}"})
                    assert answer.status_code == 200
                    answered[client] += 1
                except httpx2.TransportError:
                    errors[client] += 1

    asking = asyncio.gather(*(ask(client) for client in range(12)))
    await until(lambda: min(answered) > 2)
    counted = measured(served)["bfsql_calls_total"]
    victim = processes(served)[1].pid
    os.kill(victim, signal.SIGKILL)
    await until(lambda: any(f"Process {victim} ended (Killed)" in line for line in served.log))
    least = max(answered) + 2
    await until(lambda: min(answered) > least)
    await until(lambda: measured(served)["bfsql_workers"] == WORKERS)
    stop.set()
    await asking
    assert max(errors) <= 1
    assert measured(served)["bfsql_calls_total"] > counted
    left = processes(served)
    served.send(signal.SIGKILL)
    await until(lambda: not [one for one in left if one.is_running()])


def test_several_workers_keep_no_sessions(films_db: Path) -> None:
    for options in ("--transport=stdio", "--transport=http", "--transport=http --rest"):
        done = CliRunner().invoke(bfsql, ["serve", str(films_db), "--workers=2", *options.split()])
        assert (done.exit_code, "Add --transport http --stateless, or --rest" in done.stderr) == (
            2,
            True,
        )


def test_a_counter_goes_on_where_a_worker_is_replaced() -> None:
    counted: dict[Any, float] = defaultdict(float)

    def sums(*values: int) -> float:
        [family] = _sums(
            [f"# TYPE a_total counter\na_total {value}\n" for value in values], counted
        )
        return float(family.samples[0].value)

    assert [sums(3, 4), sums(1, 6), sums(2, 6)] == [7, 10, 11]
