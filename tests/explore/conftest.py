"""The page of `bfsql explore` in a real browser, over the films."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

import bfsql
from bfsql.call import AnswerFormat, Caller
from bfsql.explore.record import Recorder
from bfsql_test_support.browser.chromium import PATIENCE, Visit, chromium, visiting
from bfsql_test_support.missing import missing
from bfsql_test_support.servers.serve_process import Served, exploring
from bfsql_test_support.servers.unavailable import Unavailable

expect.set_options(timeout=PATIENCE * 1000)
SERIOUS = {"serious", "critical"}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One Chromium for all tests of the page."""
    try:
        async with chromium() as running:
            yield running
    except Unavailable as none:
        missing("chromium", str(none))


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Browser) -> AsyncIterator[Visit]:
    """A fresh page; an incident in it that the test does not expect fails the test."""
    async with visiting(browser) as opened:
        yield opened


@pytest.fixture(scope="session")
def films(films_db: Path) -> Iterator[Served]:
    """`bfsql explore` over the films."""
    with exploring(str(films_db)) as served:
        yield served
        assert not [line for line in served.log if "Traceback" in line]


@pytest.fixture(scope="session")
def axe(node_programs: Any) -> Callable[..., Awaitable[list[str]]]:
    """Runs axe-core on a page; returns each serious or critical finding as one line.

    Given names of rules, it checks only these. It is evaluated through the browser's debugger, so
    that the page's policy stays in force.
    """
    source = (node_programs.modules / "axe-core" / "axe.min.js").read_text("utf-8")

    async def findings(visit: Visit, *rules: str) -> list[str]:
        if not await visit.page.evaluate("'axe' in window"):
            await visit.page.evaluate(source)
        options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
        found = await visit.page.evaluate("options => axe.run(options)", options)
        return [
            f"{rule['impact']} {rule['id']}: {node['failureSummary']} in {node['html'][:300]}"
            for rule in found["violations"]
            if rule["impact"] in SERIOUS
            for node in rule["nodes"]
        ]

    return findings


@pytest.fixture(scope="session")
def recorded_lines(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Awaitable[list[str]]]:
    """Makes the lines in which a server records calls, without what differs between runs."""

    async def lines(
        path: Path,
        calls: Iterable[tuple[str, dict[str, Any]]],
        *,
        session: str,
        answer_format: AnswerFormat = "json",
    ) -> list[str]:
        file = tmp_path_factory.mktemp("recorded") / "calls.jsonl"
        limits, caller = bfsql.Limits(answer_format=answer_format), Caller("t", session=session)
        observers = [Recorder(file)]
        async with bfsql.open_graph("sqlite", path=path, limits=limits, observers=observers) as g:
            for tool, arguments in calls:
                with suppress(bfsql.ToolError):
                    await g.call(tool, arguments, caller=caller)
        found = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        return [json.dumps(call | {"time": None, "ms": 2, "tokens": 10}) for call in found]

    return lines
