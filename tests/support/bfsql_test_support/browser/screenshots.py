"""Makes the pictures of the page that the documentation shows: `nox -s screenshots`.

Each view is taken at the width of a desktop and of a phone, in light and in dark.
"""

import asyncio
import base64
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

from mcp import Client
from playwright.async_api import Browser, expect

from bfsql.cli.demo import DESCRIPTION, TITLE, films_paths
from bfsql_test_support.browser.chromium import chromium as browser_of_this_machine
from bfsql_test_support.browser.chromium import visiting
from bfsql_test_support.servers.serve_process import exploring, serving

IMAGES = Path(__file__).parents[4] / "docs" / "how-to" / "images"
HANKS, RYAN = "Person:TomHanks", "Person:MegRyan"
MEDLIT = os.environ.get("BFSQL_MEDLIT") or IMAGES.parents[3] / "shared" / "data" / "medlit"
"""The graph with evidence, found as tests find it."""
DESMOPRESSIN = "RxNorm:3251"
VIEWS: dict[str, dict[str, object]] = {
    "start": {"view": "start"},
    "walk": {"view": "walk", "seeds": HANKS},
    "entity": {"view": "entity", "id": DESMOPRESSIN},
    "replay": {"view": "replay", "step": 3},
}
SIZES = {"desktop": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 800}}
QUALITY = 70
SESSION: tuple[tuple[str, dict[str, object]], ...] = (
    ("search_entities", {"query": "Tom Hanks"}),
    ("bfs_query", {"seeds": [HANKS], "path": ["-ACTED_IN-> Movie"], "fields": ["name"]}),
    ("intersect_subgraphs", {"seeds": [HANKS, RYAN], "connect": True, "fields": ["name"]}),
    ("describe_entity", {"id": "Movie:SleeplessInSeattle1993"}),
)
"""The calls of the replayed session."""

READY = """
async () => {
    const { shown } = await import("/assets/shown.js");
    const frame = () => new Promise(done => requestAnimationFrame(done));
    while (!shown().calls.length) await frame();
    await shown().picture?.settled;
    for (let frames = 0; frames < 3; frames += 1) await frame();
}
"""


async def main(folder: Path) -> None:
    """Write all pictures to a folder."""
    with TemporaryDirectory(prefix="bfsql-films-") as place:
        graph, recorded = Path(place) / "films.db", Path(place) / "calls.jsonl"
        await asyncio.to_thread(load_films, graph)
        await record(graph, recorded)
        options = ("--replay", str(recorded))
        literature = Path(place) / "literature.db"
        await asyncio.to_thread(load, literature, str(MEDLIT))
        with exploring(str(graph), *options) as films, exploring(str(literature)) as other:
            async with browser_of_this_machine() as browser:
                for size in SIZES:
                    for scheme in ("light", "dark"):
                        await take(
                            browser, films.url, other.url, size=size, scheme=scheme, folder=folder
                        )


def load_films(graph: Path) -> None:
    """Load the demo's films into a file."""
    with films_paths() as tables:
        load(graph, *map(str, tables), "--title", TITLE, "--description", DESCRIPTION)


def load(graph: Path, *arguments: str) -> None:
    """Load files into a new graph."""
    command = [sys.executable, "-m", "bfsql", "load", *arguments, "--path", str(graph)]
    subprocess.run(command, check=True, capture_output=True)


async def record(graph: Path, recorded: Path) -> None:
    """Make the calls of `SESSION` as a client does."""
    with serving("--path", str(graph), "--record", str(recorded)) as server:
        async with Client(f"{server.url}/mcp") as client:
            for tool, arguments in SESSION:
                await client.call_tool(tool, arguments)


async def take(
    browser: Browser, films: str, literature: str, *, size: str, scheme: str, folder: Path
) -> None:
    """The views at one width, in one colour scheme; an entity is one with evidence."""
    async with visiting(
        browser, viewport=SIZES[size], color_scheme=scheme, reduced_motion="reduce"
    ) as visit:
        page = visit.page
        debugger = await page.context.new_cdp_session(page)
        for name, state in VIEWS.items():
            await page.goto(f"{literature if name == 'entity' else films}/#{urlencode(state)}")
            await expect(page.locator("#main h1")).to_have_count(1)
            await expect(page.locator("[aria-busy=true]")).to_have_count(0)
            if name == "entity":
                await page.locator(".relations summary").first.click()
                await expect(page.locator(".neighbours a").first).to_be_visible()
            if name != "start":
                await page.evaluate("document.activeElement.blur()")
            await page.evaluate(READY)
            shot = await debugger.send(
                "Page.captureScreenshot", {"format": "webp", "quality": QUALITY}
            )
            file = folder / f"explore-{name}-{size}-{scheme}.webp"
            file.write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else IMAGES
    target.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(target))
