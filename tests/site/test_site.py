"""The documentation as a site: its links, its search, phones, light and dark."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from bfsql_test_support.browser.chromium import Visit, visiting
from bfsql_test_support.depth import THOROUGH

pytestmark = pytest.mark.asyncio(loop_scope="session")
AMONG_OTHERS = ("index.html", "docs/reference/tools.html", "docs/code/python.html")
"""Pages of different kinds: with pictures and tables, long, generated."""
OF_COLORS = ("color-contrast", "link-in-text-block")
"""The rules of axe-core that depend on colors."""

PHONE = {"width": 390, "height": 844}


def pages(site: Path) -> list[str]:
    return sorted(str(page.relative_to(site)) for page in site.rglob("*.html"))


async def test_the_search_finds_hub(visit: Visit, url: str) -> None:
    page = visit.page
    await page.goto(f"{url}/index.html")
    await page.get_by_role("button", name="Search").click()
    await page.keyboard.type("hub")
    result = page.get_by_role("option").filter(has_text="hub").first
    await expect(result).to_be_visible()
    await result.click()
    await expect(page.locator("mark", has_text="hub").first).to_be_visible()


async def test_no_page_scrolls_sideways_on_a_phone(browser: Browser, site: Path, url: str) -> None:
    async with visiting(browser, viewport=PHONE, java_script_enabled=THOROUGH) as visit:
        wide = {}
        for name in pages(site)[:: 1 if THOROUGH else 3]:  # most are text of the same kind
            await visit.page.goto(f"{url}/{name}", wait_until="load")
            width = await visit.page.evaluate("document.documentElement.scrollWidth")
            if width > PHONE["width"]:
                wide[name] = width
    assert wide == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pages_are_accessible(
    browser: Browser, axe: Callable[..., Awaitable[list[str]]], site: Path, url: str, scheme: str
) -> None:
    examined = AMONG_OTHERS[:: 2 if scheme == "dark" else 1]  # the long page has no other colors
    async with visiting(browser, color_scheme=scheme, reduced_motion="reduce") as visit:
        for name in pages(site) if THOROUGH else examined:
            await visit.page.goto(f"{url}/{name}")
            dark = await visit.page.evaluate("document.body.dataset.mdColorScheme") == "slate"
            assert dark == (scheme == "dark")
            rules = OF_COLORS if dark and not THOROUGH else ()  # the others found nothing in light
            assert "\n".join(await axe(visit, *rules)) == "", name
