"""Makes the README's animation, from the real page: a question, its call, its answer.

nox -s screenshots -- --animation
"""

import asyncio
import io
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.async_api import Browser, Page, expect

from bfsql_test_support.browser.chromium import address, chromium, visiting
from bfsql_test_support.browser.screenshots import IMAGES, READY, load_films
from bfsql_test_support.servers.serve_process import exploring

QUESTION = "Who directed films with Tom Hanks, and how many?"
STEPS = ["-ACTED_IN-> Movie", "<-DIRECTED- Person"]
WALK: dict[str, object] = {"view": "walk", "seeds": "Tom Hanks"}
CALL = (
    'bfs_query(seeds=["Tom Hanks"], path=["-ACTED_IN-> Movie", "<-DIRECTED- Person"],'
    ' show="ends", sort_by="-paths")'
)
SIZE = {"width": 1080, "height": 760}
LETTERS = 6
"""Letters that are typed from one frame to the next."""
ROWS = 5
"""Rows of the table that the caption of the answer repeats."""

CAPTION = """
([title, text]) => {
    let box = document.getElementById("caption");
    if (!box) {
        box = document.body.appendChild(document.createElement("div"));
        box.id = "caption";
        Object.assign(box.style, {
            position: "fixed", insetInline: "0", bottom: "0", zIndex: "99", padding: "14px 24px",
            height: "74px", boxSizing: "border-box", background: "#1b2a4a", color: "white",
            font: "17px/1.35 ui-monospace, monospace",
        });
    }
    box.replaceChildren();
    const head = box.appendChild(document.createElement("b"));
    head.textContent = title;
    Object.assign(head.style, { display: "block", font: "600 13px system-ui", color: "#9db8ee" });
    box.append(text);
}
"""

Frame = tuple[Image.Image, int]
"""A picture, and for how many milliseconds it is shown."""


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


async def frames(browser: Browser, url: str, scheme: str) -> AsyncIterator[Frame]:
    """The pictures: the question, a call that grows step by step, the answer."""
    options = {"viewport": SIZE, "color_scheme": scheme, "reduced_motion": "reduce"}
    async with visiting(browser, **options) as visit:
        page = visit.page
        await show(page, address(url, view="start"))
        for end in range(0, len(QUESTION) + LETTERS, LETTERS):
            yield await picture(page, "Question", QUESTION[:end] or "\u00a0"), 120
        yield await picture(page, "Question", QUESTION), 1_800
        await show(page, address(url, **WALK, path=STEPS[:1]))
        yield await picture(page, "Call", CALL.partition(', "<-DIRECTED')[0] + " ..."), 1_800
        await show(page, address(url, **WALK, path=STEPS))
        yield await picture(page, "Call", CALL.partition(", show")[0] + " ..."), 1_800
        await fold(page)
        yield await picture(page, "Call", CALL.partition(", show")[0] + " ..."), 2_200
        await show(page, address(url, **WALK, path=STEPS, show="ends", sort_by="-paths"))
        await fold(page)
        yield await picture(page, "Call", CALL), 2_200
        yield await picture(page, "Answer", await answer(page)), 4_500


async def fold(page: Page) -> None:
    """Close the form, so that the answer is in view."""
    await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = false")
    await page.evaluate(READY)


async def answer(page: Page) -> str:
    """The first rows of the table, in a line."""
    rows = page.get_by_role("row").filter(has=page.get_by_role("cell"))
    found = []
    for place in range(ROWS):
        row = rows.nth(place)
        [paths] = re.findall(r"\b\d+\b", await row.inner_text())
        found.append(f"{await row.get_by_role('link').inner_text()} {paths}")
    return ", ".join([*found, "..."])


async def show(page: Page, place: str) -> None:
    """Open a view, and wait until it is drawn."""
    await page.goto(place)
    await expect(page.locator("#main h1")).to_have_count(1)
    await expect(page.locator("[aria-busy=true]")).to_have_count(0)
    await page.evaluate(READY)


async def picture(page: Page, title: str, text: str) -> Image.Image:
    """The page with a caption."""
    await page.evaluate(CAPTION, [title, text])
    return Image.open(io.BytesIO(await page.screenshot())).convert("RGB")


def save(found: list[Frame], file: Path) -> None:
    """Write an animated WebP that repeats."""
    first, *others = (image for image, _ in found)
    first.save(
        file,
        save_all=True,
        append_images=others,
        duration=[milliseconds for _, milliseconds in found],
        loop=0,
        quality=60,
        method=6,
        minimize_size=True,
    )


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else IMAGES
    target.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(target))
