"""Makes the README's animation, from the real page: a question, its call, its answer.

`nox -s screenshots` makes it together with the other pictures. `question.sha256` beside it is the
digest of what the page said then, by which a test knows when it is stale.
"""

import asyncio
import hashlib
import io
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from playwright.async_api import Browser, Page, expect

from bfsql_test_support.browser.chromium import address, chromium, visiting
from bfsql_test_support.browser.screenshots import IMAGES, READY, load_films
from bfsql_test_support.servers.serve_process import exploring

QUESTION = "Who directed films with Tom Hanks, and how many?"
STEPS = ["-ACTED_IN-> Movie", "<-DIRECTED- Person"]
WALK: dict[str, object] = {"view": "walk", "seeds": "Tom Hanks"}
CALL = (
    'bfs_query(seeds=["Tom Hanks"], path=["-ACTED_IN-> Movie", "<-DIRECTED- Person"],'
    ' show="ends", sort_by="-paths", limit=5)'
)
SIZE = {"width": 1080, "height": 760}

LIGHT_UP = """
async () => {
    const { graph, picture } = (await import("/assets/shown.js")).shown();
    const directors = graph.edges.filter(edge => edge.predicate === "DIRECTED");
    picture.highlight(directors.map(edge => edge.subject));
}
"""

CAPTION = """
([title, text]) => {
    let box = document.getElementById("caption");
    if (!box) {
        box = document.body.appendChild(document.createElement("div"));
        box.id = "caption";
        Object.assign(box.style, {
            position: "fixed", insetInline: "0", bottom: "0", zIndex: "99", padding: "14px 24px",
            height: "64px", boxSizing: "border-box", background: "#1b2a4a", color: "white",
            font: "13px/1.5 ui-monospace, monospace", whiteSpace: "nowrap",
        });
    }
    box.replaceChildren();
    const head = box.appendChild(document.createElement("b"));
    head.textContent = title;
    Object.assign(head.style, { display: "block", font: "600 13px system-ui", color: "#9db8ee" });
    box.append(text);
}
"""


class Frame(NamedTuple):
    """A picture, for how many milliseconds it is shown, and what it says."""

    image: bytes
    milliseconds: int
    text: str


async def main(folder: Path) -> None:
    """Write the animation to a folder, in light and in dark."""
    with TemporaryDirectory(prefix="bfsql-films-") as place:
        graph = Path(place) / "films.db"
        await asyncio.to_thread(load_films, graph)
        with exploring(str(graph)) as served:
            async with chromium() as browser:
                for scheme in ("light", "dark"):
                    found = [frame async for frame in frames(browser, served.url, scheme)]
                    save(found, folder / f"question-{scheme}.webp")
                    (folder / "question.sha256").write_text(digest(found) + "\n", "utf-8")


def digest(found: list[Frame]) -> str:
    """The digest of what the frames say."""
    return hashlib.sha256("\n".join(frame.text for frame in found).encode()).hexdigest()


async def frames(browser: Browser, url: str, scheme: str) -> AsyncIterator[Frame]:
    """The pictures: the question, its call, films, their directors, and the answer; 5 seconds."""
    options = {"viewport": SIZE, "color_scheme": scheme, "reduced_motion": "reduce"}
    async with visiting(browser, **options) as visit:
        page = visit.page
        await show(page, address(url, view="start"))
        for end in range(12, len(QUESTION), 12):
            yield await frame(page, "Question", QUESTION[:end], 90)
        yield await frame(page, "Question", QUESTION, 800)
        await show(page, address(url, **WALK, path=STEPS[:1]))
        yield await frame(page, "Call", CALL, 700)
        await show(page, address(url, **WALK, path=STEPS))
        yield await frame(page, "Call", CALL, 500)
        await page.evaluate(LIGHT_UP)
        await page.evaluate(READY)
        yield await frame(page, "Call", CALL, 900)
        await show(page, address(url, **WALK, path=STEPS, show="ends", sort_by="-paths", limit=5))
        yield await frame(page, "Answer", await answer(page), 1_800)


async def answer(page: Page) -> str:
    """The rows of the table in a line, and what they cost a model."""
    found = []
    for row in await page.get_by_role("row").filter(has=page.get_by_role("cell")).all():
        [paths] = re.findall(r"\b\d+\b", await row.inner_text())
        found.append(f"{await row.get_by_role('link').inner_text()} {paths}")
    cost = await page.locator(".cost").inner_text()
    [tokens] = re.findall(r"about (\S+ tokens)", cost)
    assert cost.startswith("1 call ")
    return f"{', '.join(found)} \u00b7 {tokens}, one call"


async def show(page: Page, place: str) -> None:
    """Open a view, and wait until it is drawn."""
    await page.goto(place)
    await expect(page.locator("#main h1")).to_have_count(1)
    await expect(page.locator("[aria-busy=true]")).to_have_count(0)
    await page.evaluate(READY)


async def frame(page: Page, title: str, text: str, milliseconds: int) -> Frame:
    """The page with a caption."""
    await page.evaluate(CAPTION, [title, text])
    said = re.sub(r"\d+ ms", "", await page.locator("body").aria_snapshot())
    return Frame(await page.screenshot(), milliseconds, said)


def save(found: list[Frame], file: Path) -> None:
    """Write an animated WebP that repeats."""
    from PIL import Image

    first, *others = (Image.open(io.BytesIO(one.image)).convert("RGB") for one in found)
    first.save(
        file,
        save_all=True,
        append_images=others,
        duration=[one.milliseconds for one in found],
        loop=0,
        quality=60,
        method=6,
        minimize_size=True,
    )


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else IMAGES
    target.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(target))
