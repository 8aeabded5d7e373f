"""The page of `bfsql explore` in a real browser, over the films."""

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import bfsql
from bfsql.call import AnswerFormat, Caller
from bfsql.explore.record import Recorder
from bfsql_test_support.browser.card import HOST, bundle
from bfsql_test_support.browser.fixtures import axe, browser, common_page, tab, visit
from bfsql_test_support.servers.serve_process import Served, exploring

__all__ = ["axe", "browser", "common_page", "tab", "visit"]


@pytest.fixture(scope="session")
def host_script(node_programs: Any) -> str:
    """The script of a host of MCP Apps."""
    return bundle(node_programs, HOST)


@pytest.fixture(scope="session")
def films(films_db: Path) -> Iterator[Served]:
    """`bfsql explore` over the films."""
    with exploring(str(films_db)) as served:
        yield served
        assert not [line for line in served.log if "Traceback" in line]


@pytest.fixture(scope="session")
def recorded_lines(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Awaitable[list[str]]]:
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
