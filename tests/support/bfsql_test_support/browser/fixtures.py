"""Fixtures of tests in a real browser; a conftest.py imports those that its tests use.

They are no plugin of all tests, since few of them need playwright.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from bfsql_test_support.browser.chromium import PATIENCE, Visit, chromium, turn, visiting
from bfsql_test_support.missing import missing
from bfsql_test_support.servers.unavailable import Unavailable

expect.set_options(timeout=PATIENCE * 1000)
SERIOUS = {"serious", "critical"}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One Chromium for all tests of a folder."""
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


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def common_page(browser: Browser) -> AsyncIterator[Visit]:
    """A page for the tests of a folder."""
    async with visiting(browser) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def tab(common_page: Visit) -> AsyncIterator[Visit]:
    """A page that tests use in turn, for those that change nothing but its view."""
    async with turn(common_page) as opened:
        yield opened


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
