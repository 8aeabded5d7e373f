"""The page of `bfsql explore` in Chromium: key press to picture, frames of a drag, bytes loaded.

Debian's Chromium renders WebGL in software here; with a graphics card, frames are faster.
"""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

from graphs import heavy_tailed
from playwright.async_api import Browser, Page
from timing import median

from bfsql.explore import page as explorer
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.browser.chromium import chromium, visiting
from bfsql_test_support.servers.serve_process import exploring

GOALS = {300: "goal: under 1 s", 5_000: "goal: under 3 s"}
FIRST = 300
"""Nodes that the page requests at first."""
EDGES_PER_NODE = 3
SIZE_GOAL = "goal: under 200 kB"
DRAG_STEPS = 60

WATCH = """
async ([key, nodes]) => {
    const { shown } = await import("/assets/shown.js");
    const frame = () => new Promise(requestAnimationFrame);
    return new Promise(resolve => addEventListener("keydown", async event => {
        if (event.key !== key) return;
        const begun = performance.now();
        while (shown().graph?.size !== nodes) await frame();
        await shown().picture.settled;
        for (let frames = 0; frames < 2; frames += 1) await frame();
        resolve(performance.now() - begun);
    }, {capture: true}));
}
"""
"""Milliseconds from a key press to the second frame after that many nodes are laid out."""

FRAMES = """
new Promise(resolve => {
    const times = [];
    const frame = now => {
        times.push(now);
        if (times.length <= %d) return requestAnimationFrame(frame);
        resolve(times.slice(1).map((time, index) => time - times[index]));
    };
    requestAnimationFrame(frame);
})
"""


def report(turns: int) -> None:
    """Print the figures of both sizes, and the size of the files."""
    asyncio.run(_report(turns))


async def _report(turns: int) -> None:
    async with chromium() as browser:
        for nodes in GOALS:
            await _report_picture(browser, nodes, turns)
    _report_size()


async def _report_picture(browser: Browser, nodes: int, turns: int) -> None:
    with TemporaryDirectory(prefix="bfsql-bench-") as folder:
        path = Path(folder) / "graph.db"
        records = heavy_tailed(nodes - 1, nodes * EDGES_PER_NODE, nodes - 1)
        await load_graph(SqliteSettings(path=path), records)
        with exploring(str(path), "--max-tokens", "0") as served:
            took, frames = [], []
            for _ in range(turns):
                async with visiting(browser) as visit:
                    took.append(await _picture(visit.page, served.url, nodes))
                    frames.append(await _drag(visit.page))
    print(
        f"{nodes:>5,} nodes, {nodes * EDGES_PER_NODE:>6,} edges: {median(took) / 1000:5.2f} s from "
        f"key press to picture ({GOALS[nodes]}), {median(frames):4.0f} ms a frame while dragged"
    )


async def _picture(page: Page, url: str, nodes: int) -> float:
    """Milliseconds until nodes are shown, from Enter in the hits or the choice of more nodes."""
    await page.goto(url)
    await page.get_by_role("combobox", name="Search the graph").fill("the hub")
    await page.get_by_role("option").first.wait_for()
    await page.keyboard.press("ArrowDown")
    if nodes == FIRST:
        return await _pressed(page, "Enter", FIRST)
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="All, up to").focus()  # a hub requires a choice first
    await _pressed(page, "Enter", FIRST)
    await page.locator(".options > summary").click()
    await page.get_by_label("Nodes, at most").focus()
    return await _pressed(page, "End", nodes)


async def _pressed(page: Page, key: str, nodes: int) -> float:
    watching = asyncio.ensure_future(page.evaluate(WATCH, [key, nodes]))
    await asyncio.sleep(0.2)  # until the page listens
    await page.keyboard.press(key)
    return float(await watching)


async def _drag(page: Page) -> float:
    """The median time of a frame, in milliseconds, while the picture is dragged."""
    box = await page.locator(".picture").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    await page.mouse.move(x, y)
    await page.mouse.down()
    frames = asyncio.ensure_future(page.evaluate(FRAMES % DRAG_STEPS))
    for step in range(DRAG_STEPS):
        await page.mouse.move(x + step, y + step)
    times = await frames
    await page.mouse.up()
    return median([float(time) for time in times])


def _report_size() -> None:
    files = [
        path
        for path in explorer.FILES.rglob("*")
        if path.suffix in {".css", ".html", ".js", ".svg"}
    ]
    compressed = sum(len(gzip.compress(path.read_bytes())) for path in files)
    print(f"files of the page: {len(files)}, {compressed / 1000:.0f} kB compressed ({SIZE_GOAL})")
