"""The page of `bfsql explore` in a real browser, over the films."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from bfsql_servers.chromium import PATIENCE, Visit, chromium, visiting
from bfsql_servers.missing import missing
from bfsql_servers.served import Served, exploring
from bfsql_servers.unavailable import Unavailable

expect.set_options(timeout=PATIENCE * 1000)


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
    """A fresh page; the test fails on any incident in it that it does not expect."""
    async with visiting(browser) as opened:
        yield opened


@pytest.fixture(scope="session")
def films(films_db: Path) -> Iterator[Served]:
    """`bfsql explore` over the films."""
    with exploring(str(films_db)) as served:
        yield served
        assert not [line for line in served.log if "Traceback" in line]
