"""The use of the page: search, walk, look at an entity, by mouse and by keyboard."""

import asyncio
import re

import pytest
from playwright.async_api import Browser, Locator, Page, Route, expect

from bfsql_test_support.browser.chromium import PATIENCE, Visit, visiting
from bfsql_test_support.servers.serve_process import Served

pytestmark = pytest.mark.asyncio(loop_scope="session")

HANKS = "Person:TomHanks"


def search_field(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Search the graph")


def row(page: Page, name: str) -> Locator:
    """The row of the walk's table that starts with a name."""
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


async def test_the_start_shows_the_schema_and_the_search_has_the_focus(
    tab: Visit, films: Served
) -> None:
    page = await tab.open(films.url, view="start")
    await expect(search_field(page)).to_be_focused()
    await expect(page.get_by_role("img", name="3 nodes")).to_be_visible()
    cards = page.get_by_role("region", name="Types").get_by_role("article")
    await expect(cards).to_have_count(3)
    for texts in (
        ("Person287", "acted in Movie508", "1913 to 1992"),
        ("Movie103", "Person acted in508", "directed by Person109", "1976 to 2019"),
    ):
        for text in texts:
            await expect(cards.filter(has_text=texts[0])).to_contain_text(text)
    await expect(cards.locator("rect").first).to_be_visible()


async def test_relations_of_a_sample_are_shown_without_numbers(visit: Visit, films: Served) -> None:
    async def sampled(route: Route) -> None:
        reply = await route.fetch()
        answer = await reply.json()
        answer["relations_from"] = "sample"
        answer["relations"] = [text.rpartition(" (")[0] for text in answer["relations"]]
        await route.fulfill(response=reply, json=answer)

    await visit.page.route("**/tools/describe_schema", sampled)
    page = await visit.open(films.url, view="start")
    relations = page.get_by_role("region", name="Types").get_by_role("listitem")
    await expect(relations.filter(has_text="acted in Movie")).to_have_text("acted in Movie")


async def test_typing_shows_hits_and_enter_walks_from_the_chosen_one(
    tab: Visit, films: Served
) -> None:
    page = await tab.open(films.url)
    await page.keyboard.type("tom han")
    hit = page.get_by_role("option", name="Tom Hanks")
    await expect(hit).to_contain_text("Person")
    await page.keyboard.press("ArrowDown")
    await expect(hit).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("Enter")
    await expect(page.locator(".status")).to_contain_text("31 nodes, 32 edges")
    await expect(row(page, "Big")).to_contain_text("Movie")
    await expect(page).to_have_url(re.compile(r"view=walk.*seeds=Person%3ATomHanks"))


@pytest.mark.parametrize(
    ("view", "field"), [("start", "Search the graph"), ("intersect", "Entities")]
)
async def test_keys_pressed_before_the_hits_arrive_are_meant_for_those_hits(
    tab: Visit, films: Served, view: str, field: str
) -> None:
    page = await tab.open(films.url, view=view)
    await page.get_by_role("combobox", name=field).focus()
    await page.keyboard.type("tom")
    await expect(page.get_by_role("option", name="Tom Cruise")).to_be_visible()
    asked, answered = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        asked.set()
        await answered.wait()
        await route.continue_()

    await page.route("**/tools/search_entities", late)
    await page.keyboard.type(" tykwer")
    await tab.press("ArrowDown", "Enter")
    await asyncio.wait_for(asked.wait(), PATIENCE)
    await expect(page.locator(".suggestions [aria-selected=true]")).to_have_count(0)
    answered.set()
    await expect(page).to_have_url(re.compile(r"seeds=Person%3ATomTykwer"))
    await page.unroute("**/tools/search_entities")


async def test_escape_gives_up_a_search_and_the_keys_that_wait_for_it(
    tab: Visit, films: Served
) -> None:
    page = await tab.open(films.url)
    await page.keyboard.type("tom hanks")
    await tab.press("ArrowDown", "Escape", "Enter")
    await expect(page).to_have_url(re.compile(r"view=search.*q=tom"))
    await expect(page.get_by_role("option")).to_have_count(0)


async def test_keys_pressed_before_a_search_finds_nothing_open_the_page_of_hits(
    tab: Visit, films: Served
) -> None:
    page = await tab.open(films.url)
    await page.keyboard.type("zzzqqq")
    await tab.press("ArrowDown", "Enter")
    await expect(page).to_have_url(re.compile(r"view=search.*q=zzzqqq"))
    await expect(page.get_by_text("No entity has this name.")).to_be_visible()


async def test_the_keyboard_alone_searches_expands_opens_and_goes_back(
    tab: Visit, films: Served
) -> None:
    page = await tab.open(films.url)
    await page.keyboard.type("Cloud Atlas")
    await expect(page.get_by_role("option", name="Cloud Atlas")).to_be_visible()
    await tab.press("ArrowDown", "Enter")
    await expect(page.locator(".status")).to_contain_text("1 call")
    await tab.tab_to(page.get_by_role("button", name="Expand Tom Hanks"), "Enter")
    await expect(page.locator(".status")).to_contain_text("2 calls")
    await tab.tab_to(page.get_by_role("link", name="Halle Berry"), "Enter")
    await expect(page.get_by_role("heading", name="Halle Berry")).to_be_visible()
    await page.go_back()
    await expect(page.locator(".status")).to_contain_text("2 calls")
    await page.keyboard.press("/")
    await expect(search_field(page)).to_be_focused()


async def test_a_click_in_the_picture_selects_a_node_and_a_double_click_opens_it(
    tab: Visit, films: Served
) -> None:
    page = await tab.open(films.url, view="walk", seeds="Movie:CloudAtlas2012")
    await page.mouse.click(*await place_of(page, HANKS))
    panel = page.get_by_role("complementary", name="What is selected")
    await expect(panel).to_contain_text("1956")
    await panel.get_by_role("button", name="Expand").click()
    await expect(page.locator(".status")).to_contain_text("2 calls")
    await page.mouse.dblclick(*await place_of(page, HANKS))
    await expect(page.get_by_role("heading", name="Tom Hanks")).to_be_visible()


async def place_of(page: Page, node: str) -> tuple[float, float]:
    """The centre of a node on the page, once the layout is done."""
    x, y = await page.evaluate(
        """async id => {
            const { picture } = (await import("/assets/shown.js")).shown();
            await picture.settled;
            const { x, y } = picture.positions().find(node => node.id === id);
            const { left, top } = document.querySelector(".stage").getBoundingClientRect();
            return [left + x, top + y];
        }""",
        node,
    )
    return x, y


async def test_the_legend_hides_a_type_and_the_address_brings_the_view_back(
    tab: Visit, films: Served, browser: Browser
) -> None:
    page = await tab.open(films.url, view="walk", seeds=["Movie:CloudAtlas2012"])
    genres = page.get_by_role("group", name="Types shown").get_by_role("button", name="Genre")
    await expect(genres).to_have_attribute("aria-pressed", "true")
    await genres.click()
    await page.get_by_role("button", name="Name").click()
    await expect(row(page, "Drama")).to_have_count(0)
    await tab.has_state(sort=["name"], hide=["Genre"])
    async with visiting(browser) as other:
        await other.page.goto(page.url)
        await expect(row(other.page, "Halle Berry")).to_be_visible()
        await expect(row(other.page, "Drama")).to_have_count(0)
        assert await names(other.page) == sorted(await names(other.page), key=str.lower)


async def names(page: Page) -> list[str]:
    return await page.get_by_role("table").locator("tbody tr a").all_inner_texts()
