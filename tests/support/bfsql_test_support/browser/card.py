"""The card in the chat: how its document is built, and a host that shows it beside an answer."""

import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from playwright.async_api import FrameLocator, Page

from bfsql_test_support.browser.chromium import Visit
from bfsql_test_support.commands import run

HOST = Path(__file__).with_name("card_host.mjs")
FOLDER = Path(str(files("bfsql") / "explore"))
BUILT = FOLDER / "card" / "graph.html"
D3 = ("dispatch", "quadtree", "timer", "force")
"""The parts of d3 that the layout needs, in the order in which they need each other."""


def bundle(programs: Any, script: Path) -> str:
    """A script and what it imports, as one script for browsers."""
    flags = ("--bundle", "--minify", "--format=iife", "--target=es2022", "--legal-comments=none")
    esbuild = programs.modules / "esbuild" / "bin" / "esbuild"
    ended = run(
        *(programs.node, esbuild, script, *flags, "--charset=utf8", "--log-level=error"),
        env={**os.environ, "NODE_PATH": str(programs.modules)},
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def built_card(programs: Any) -> str:
    """The document of the card, made from its modules, its stylesheet and d3."""
    vendor = FOLDER / "page" / "vendor"
    parts = {
        "CSS": (FOLDER / "card" / "card.css").read_text("utf-8"),
        "D3": "\n".join(
            (vendor / f"d3-{name}" / f"d3-{name}.min.js").read_text("utf-8") for name in D3
        ),
        "CARD": bundle(programs, FOLDER / "card" / "main.js"),
    }
    document = (FOLDER / "card" / "template.html").read_text("utf-8")
    for name, text in parts.items():
        assert "</script" not in text
        document = document.replace(f"/*{name}*/", text)
    return document


@dataclass
class Host:
    """A page in which a host shows the card of one call."""

    page: Page

    @property
    def card(self) -> FrameLocator:
        """The card."""
        return self.page.frame_locator("iframe")

    async def show(self, tool: str, arguments: dict[str, Any], **context: Any) -> Any:
        """Call a tool as a model does, and show its card; return the result without its card."""
        options = {"tool": tool, "arguments": arguments, "context": context}
        result = await self.page.evaluate("options => window.showCard(options)", options)
        await self.card.locator("footer").wait_for()
        return result

    async def received(self, what: str, least: int) -> list[Any]:
        """The `messages`, `links` or `sizes` that the card sent, as soon as so many are there."""
        await self.page.wait_for_function(f"{what}.length >= {least}")
        return list(await self.page.evaluate(what))


async def hosting(visit: Visit, url: str, script: str) -> Host:
    """Open a host at the address of a server over HTTP, where its client is of the same origin."""
    page = "<!doctype html><html lang=en><title>Host</title><style>*{margin:0}</style><body>"
    await visit.page.route(
        "**/host.html",
        lambda route: route.fulfill(
            body=f"{page}<main></main><script>{script}</script>", content_type="text/html"
        ),
    )
    await visit.page.goto(f"{url}/host.html")
    return Host(visit.page)
