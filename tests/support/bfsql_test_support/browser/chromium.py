"""The machine's Chromium, driven by playwright, and pages that record what happens in them.

playwright brings no browser, and none is downloaded.
"""

import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.async_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    async_playwright,
    expect,
)

from bfsql_test_support.servers.port import HOST
from bfsql_test_support.servers.unavailable import Unavailable

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first without a window or the services of a desktop: two thirds of the processor time."""
OPTIONS = (
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card
    # Pages are drawn without OpenGL, which is slower where the processor computes it.
    *("--disable-gpu-compositing", "--disable-gpu-rasterization", "--disable-extensions"),
)
PATIENCE = 30
"""Longest wait for anything on a page, in seconds."""

OUTLINE_WITH_FOCUS = (
    "element => element === document.activeElement ? getComputedStyle(element).outlineStyle : ''"
)
MOST_TABS = 200
"""Most presses of Tab until an element must have had the focus."""

RECORDER = """
document.addEventListener("securitypolicyviolation", event =>
    recordIncident(`policy: ${event.effectiveDirective} blocked ${event.blockedURI} `
        + `${event.sourceFile}:${event.lineNumber} ${event.sample}`));
for (const name of ["alert", "confirm", "prompt", "print", "open"])
    window[name] = text => recordIncident(`script: ${name}(${text})`);
"""
"""Runs before any script of a page: reports violations of the policy, and scripts that ran."""


def program() -> str:
    """The path of the browser."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        raise Unavailable(f"there is no Chromium here; apt-get install {PROGRAMS[0]} brings one")
    return found


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser with a fresh profile and no access to any other machine."""
    path = program()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=OPTIONS)
        try:
            yield browser
        finally:
            await browser.close()


def address(url: str, **state: object) -> str:
    """The address of a view of the page, by the content of its fragment."""
    return f"{url}/#{urlencode(state, doseq=True)}"


@dataclass
class Visit:
    """A page, and a record of its events.

    Attributes:
        requests: Addresses that it requested, in order, except for `data:` and `blob:`.
        incidents: Console errors, uncaught exceptions, violations of its Content-Security-Policy,
            requests to other machines, dialogs, popups, and scripts from the graph that ran.
    """

    page: Page
    requests: list[str] = field(default_factory=list)
    incidents: list[str] = field(default_factory=list)
    _expected: list[str] = field(default_factory=list)

    def expect_incident(self, pattern: str) -> None:
        """Expect an incident that matches the regular expression."""
        self._expected.append(pattern)

    def unexpected(self) -> list[str]:
        """The incidents that no test expects."""
        return [
            incident
            for incident in self.incidents
            if not any(re.search(pattern, incident) for pattern in self._expected)
        ]

    async def open(self, url: str, **state: object) -> Page:
        """Open a view by its address, and wait until it shows its answer."""
        await self.page.goto(address(url, **state))
        await self.settled()
        return self.page

    async def has_state(self, **wanted: list[str]) -> None:
        """Wait until the page's address has these values: an answer may spell them anew."""

        def holds(url: str) -> bool:
            state = parse_qs(urlsplit(url).fragment)
            return all(state.get(name, []) == values for name, values in wanted.items())

        await self.page.wait_for_url(holds, wait_until="commit")

    async def settled(self) -> None:
        """Wait until no part of the page waits for an answer."""
        await expect(self.page.locator("[aria-busy=true]")).to_have_count(0)

    async def leave(self) -> None:
        """Leave the view, so that the next one to be opened is not the same one updated."""
        await self.page.mouse.move(0, 0)
        await self.page.get_by_role("combobox", name="Search the graph").fill("")
        await self.page.evaluate("location.hash = 'view=intersect'")
        # The view reads these, perhaps for the first time, and the server may end with the test.
        await self.page.evaluate("import('/assets/schema.js').then((m) => m.takesTime())")

    async def press(self, *keys: str) -> None:
        """Press some keys, one after the other."""
        for key in keys:
            await self.page.keyboard.press(key)

    async def tab_to(self, target: Locator, *keys: str) -> None:
        """Press Tab until an element has the focus, which must be visible, and then some keys."""
        await target.wait_for()
        for _ in range(MOST_TABS):
            await self.page.keyboard.press("Tab")
            if outline := await target.evaluate(OUTLINE_WITH_FOCUS):
                assert outline != "none", "the focus has to be visible"
                return await self.press(*keys)
        raise AssertionError(f"Tab never reaches {target}")

    async def record(self) -> None:
        """Begin to record, before the first address is opened."""
        await self.page.expose_function("recordIncident", self._note)
        await self.page.add_init_script(RECORDER)
        self.page.on("request", self._on_request)
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self._note(f"exception: {error.stack}"))
        self.page.on("popup", lambda popup: self._note(f"popup: {popup.url}"))

    async def check(self) -> None:
        """Check that nothing happened so far that was not expected."""
        # Earlier messages of the page arrive before the answer to this.
        await self.page.evaluate("1")
        # Only the text: pytest would also print the page's fields, with expected incidents.
        unexpected = "\n".join(self.unexpected())
        assert not unexpected, unexpected

    def _note(self, incident: str) -> None:
        self.incidents.append(incident)

    def _on_request(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme in {"data", "blob"}:
            return
        self.requests.append(request.url)
        if url.hostname != HOST:
            self._note(f"request to another machine: {request.url}")

    def _on_console(self, message: ConsoleMessage) -> None:
        url = message.location.get("url", "")
        # The icon, and what the view that a test leaves for asks, are read late: at times after the
        # test's server has ended.
        late = url.endswith(("/icon.svg", "/openapi.json")) and "ERR_CONNECTION_" in message.text
        if message.type == "error" and not late:
            self._note(f"console: {message.text} ({url})")


@asynccontextmanager
async def visiting(browser: Browser, **options: Any) -> AsyncIterator[Visit]:
    """A fresh page without cookies or cache of other pages.

    Args:
        options: Options of playwright's `new_context`, such as `color_scheme`.
    """
    size = {"width": 1280, "height": 900}
    async with await browser.new_context(**{"viewport": size, **options}) as context:
        context.set_default_timeout(PATIENCE * 1000)
        visit = Visit(await context.new_page())
        await visit.record()
        yield visit
        await visit.check()


@asynccontextmanager
async def turn(visit: Visit) -> AsyncIterator[Visit]:
    """A test's turn with a page that several tests use.

    A new page takes two seconds of processor time, another view of the same page a quarter. The
    view that a turn ends with is left, so that the next test gets a view of its own.
    """
    yield visit
    await visit.check()
    visit.incidents.clear()
    visit._expected.clear()
    await visit.leave()
