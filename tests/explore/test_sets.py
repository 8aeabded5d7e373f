"""Sets, groups, measures, rows of walks and relation conditions on the page."""

import re

import pytest
from playwright.async_api import Locator, Page, expect

from bfsql_test_support.browser.chromium import Visit
from bfsql_test_support.servers.serve_process import Served

pytestmark = pytest.mark.asyncio(loop_scope="session")

HANKS = "Person:TomHanks"
COSTARS = ["-ACTED_IN->", "<-ACTED_IN- Person"]
REFUSED = r"console: Failed to load resource: .*status of 400"


def status(page: Page) -> Locator:
    return page.locator(".status")


def field(page: Page, name: str) -> Locator:
    return page.get_by_role("combobox", name=name, exact=True)


async def open_options(page: Page) -> None:
    await page.locator("summary").filter(has_text="Options").click()


async def test_a_type_of_the_overview_leads_to_its_entities(tab: Visit, films: Served) -> None:
    page = await tab.open(films.url, view="start")
    cards = page.get_by_role("region", name="Types")
    await cards.get_by_role("link", name="Movie", exact=True).click()
    await expect(status(page)).to_contain_text("103 nodes, 0 edges")
    await expect(page.locator(".stage")).to_be_hidden()
    await expect(page.get_by_role("columnheader")).to_have_text(["Name", "released"])
    assert (
        await page.evaluate("import('/assets/shown.js').then((m) => m.shown().calls.length)") == 1
    )
    await open_options(page)
    await expect(page.get_by_label("Hops")).to_have_value("0")


async def test_a_pattern_is_completed_by_the_keyboard_and_shown_as_the_answer_spells_it(
    tab: Visit, films: Served
) -> None:
    page = await tab.open(films.url, view="walk", seeds="Movie:*", hops=0)
    await open_options(page)
    await page.get_by_role("button", name="Remove Movie:*").focus()
    await field(page, "Starts at").focus()
    await page.keyboard.type("perso")
    await expect(page.locator(".suggestions-note:visible")).to_contain_text('"Person:*"')
    option = page.get_by_role("option", name="Person[ those that meet a condition")
    await option.click()
    await page.keyboard.type("bor")
    await expect(page.get_by_role("option", name="Person[born")).to_be_visible()
    await tab.press("ArrowDown", "Enter")
    await expect(page.get_by_role("option", name="Person[born>=")).to_be_visible()
    await page.get_by_role("option", name="Person[born>=").click()
    await expect(field(page, "Starts at")).to_have_value("Person[born>=")
    await page.keyboard.type("1990 ]")
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Remove Movie:*").click()
    await expect(page.get_by_role("button", name="Remove born at least 1990")).to_be_visible()
    await tab.has_state(seeds=["Person[born>=1990]"])
    await expect(page.get_by_role("link", name="Person", exact=True)).to_be_visible()


async def test_an_error_of_a_pattern_is_shown_at_its_field(tab: Visit, films: Served) -> None:
    tab.expect_incident(REFUSED)
    page = await tab.open(films.url, view="walk", seeds=HANKS, to="Movie[released>1990")
    problem = page.locator(".problem:visible")
    await expect(problem).to_contain_text("is not closed")
    await expect(page.get_by_role("group", name="Ends at").locator(".invalid")).to_be_visible()
    await tab.open(films.url, view="walk", seeds="Movi[released>1990]", hops=0)
    await expect(problem).to_contain_text("The nearest: Movie")
    await expect(page.get_by_role("group", name="Starts at").locator(".invalid")).to_be_visible()


async def test_a_search_for_a_pattern_shows_its_entities(tab: Visit, films: Served) -> None:
    page = await tab.open(films.url, view="start")
    await page.keyboard.type("movie{released=1995}")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile("view=search"))
    await page.keyboard.press("/")
    await page.keyboard.type("movie[released=1995]")
    await page.keyboard.press("Enter")
    await expect(status(page)).to_contain_text("7 nodes, 0 edges")
    await tab.has_state(seeds=["Movie[released=1995]"])


async def test_bars_filter_the_set_and_no_longer_do_at_a_second_click(
    tab: Visit, films: Served
) -> None:
    page = await tab.open(films.url, view="walk", seeds="Movie:*", hops=0)
    group = page.get_by_role("region", name="Group released")
    await expect(group).to_contain_text("103 have it")
    await tab.tab_to(group.get_by_role("button", name="1990 to 1999"), "Enter")
    await expect(status(page)).to_contain_text("41 nodes, 0 edges")
    await tab.has_state(seeds=["Movie[released>=1990][released<=1999]"])
    bar = group.get_by_role("button", name="1995 7")
    await bar.click()
    await expect(status(page)).to_contain_text("7 nodes, 0 edges")
    await tab.has_state(seeds=["Movie[released=1995]"])
    await expect(bar).to_have_attribute("aria-pressed", "true")
    await bar.click()
    await expect(status(page)).to_contain_text("103 nodes, 0 edges")
    await tab.has_state(seeds=["Movie:*"])


@pytest.mark.parametrize("name", ["You've Got Mail", "Charlie Wilson's War"])
async def test_a_bar_of_any_text_filters_and_is_pressed(
    tab: Visit, films: Served, name: str
) -> None:
    seeds = f'Movie[name="{name}"]'
    groups = {"hops": 0, "facets": "name"}
    page = await tab.open(films.url, view="walk", seeds=seeds, **groups)
    bar = page.get_by_role("region", name="Group name").get_by_role("button", name=name)
    await expect(bar).to_have_attribute("aria-pressed", "true")
    await bar.click()
    await expect(status(page)).to_contain_text("103 nodes")


async def test_bars_of_a_path_add_conditions(tab: Visit, films: Served) -> None:
    facets = {"facets": ["born", "1.released"], "tab": "groups"}
    page = await tab.open(films.url, view="walk", seeds=HANKS, path=COSTARS, **facets)
    group = page.get_by_role("region", name="Group 1.released")
    await group.get_by_role("button", name="1995").click()
    await tab.has_state(where=["1.released=1995"])
    await expect(group.locator("li button[aria-pressed=true]")).to_contain_text(["1995"])
    assert await group.locator("li button").count() > 1  # others can be chosen too


async def test_relation_conditions_are_explained_completed_and_their_errors_at_their_field(
    tab: Visit, films: Served
) -> None:
    tab.expect_incident(REFUSED)
    page = await tab.open(films.url, view="walk", seeds="Person:*", hops=0, where="no -DIRECTED->")
    everyone = 287
    directors = await count_of(page)
    assert 0 < directors < everyone
    await field(page, "Condition 2").focus()
    await page.keyboard.press("ArrowDown")
    await expect(page.locator(".suggestions-note:visible")).to_contain_text('By relations: "no <-')
    await page.keyboard.type("no -WRO")
    await page.get_by_role("option", name="no -WROTE-> Movie").click()
    conditions = page.get_by_role("group", name="Conditions").locator(".chip")
    await expect(conditions).to_contain_text(["no directed", "no wrote Movie"])
    await tab.settled()
    assert 0 < await count_of(page) <= directors
    await conditions.nth(1).get_by_role("button", name="no wrote Movie", exact=True).click()
    await expect(field(page, "Condition 2")).to_have_value("no -WROTE-> Movie")
    await field(page, "Condition 2").fill("no -WRITES-> Movie")
    await page.keyboard.press("Enter")
    await expect(page.locator(".problem:visible")).to_contain_text('"WRITES"')
    await expect(page.locator(".chip.invalid")).to_contain_text("no writes Movie")


async def count_of(page: Page) -> int:
    """The number of nodes that the status names."""
    await expect(status(page)).to_contain_text("nodes")
    return int(re.findall(r"\d+", await status(page).inner_text())[0])


async def test_walks_are_rows_with_pages(tab: Visit, films: Served) -> None:
    path = ["<-ACTED_IN- Person", "-ACTED_IN|DIRECTED-> Movie"]
    page = await tab.open(films.url, view="walk", seeds="Movie[released>2000]", path=path)
    await open_options(page)
    await page.get_by_role("combobox", name="Show", exact=True).select_option("walks")
    await page.get_by_label("Rows, at most").select_option("50")
    pages = page.get_by_role("group", name="Pages")
    await expect(pages).to_contain_text("1 to 50 of 749")
    await page.keyboard.press("Escape")
    for name in ("Start", "Person acted in this", "acted in or directed Movie"):
        await expect(page.get_by_role("columnheader", name=name)).to_be_visible()
    rows = page.get_by_role("row")
    await expect(rows.nth(1)).to_contain_text("A Beautiful Mind")
    await expect(rows.nth(1)).to_contain_text("acted in")
    await tab.tab_to(pages.get_by_role("button", name="Next"), "Enter")
    await expect(pages).to_contain_text("51 to 100 of 749")
    await expect(rows.nth(1)).to_contain_text("51")
    await field(page, "Condition 1").fill("0.released=2001")
    await page.keyboard.press("Enter")
    await expect(pages).not_to_contain_text("51 to")
    await tab.has_state(offset=[])


async def test_measures_are_columns(tab: Visit, films: Served) -> None:
    page = await tab.open(films.url, view="walk", seeds=HANKS, path=COSTARS, show="ends")
    await open_options(page)
    await field(page, "Measure 1").fill("count")
    await page.get_by_role("option", name="count 1").click()
    await field(page, "Measure 2").fill("max 1.")
    await page.get_by_role("option", name=re.compile("^max 1.released")).click()
    await field(page, "Sort by").fill("-measure")
    await page.keyboard.press("Enter")
    for name in ("count 1", "max 1.released"):
        await expect(page.get_by_role("columnheader", name=name)).to_be_visible()
    await expect(page.get_by_role("row").nth(1)).to_contain_text("Meg Ryan")
    await expect(page.get_by_role("columnheader").nth(1)).to_contain_text("count 1")


async def test_along_follows_its_relations_to_a_pattern(tab: Visit, films: Served) -> None:
    page = await tab.open(films.url, view="walk", seeds=HANKS, to="Person[born<1931]")
    await open_options(page)
    await field(page, "Relation 1").fill("ACTED")
    await page.get_by_role("option", name="-ACTED_IN-> Movie").click()
    relations = page.get_by_role("group", name="Only these relations, in any order")
    await relations.get_by_role("button", name="-ACTED_IN-> Movie", exact=True).click()
    await field(page, "Relation 1").fill("-ACTED_IN-")
    await page.keyboard.press("Enter")
    await expect(status(page)).to_contain_text("21 nodes, 22 edges")
    await expect(page.get_by_label("Hops")).to_contain_text("as needed")
    tab.expect_incident(REFUSED)
    await tab.open(films.url, view="walk", seeds=HANKS, along="-ACTED_IN-", path="-ACTED_IN->")
    await expect(page.locator(".problem:visible")).to_contain_text(
        "along cannot be combined with path"
    )
    await expect(relations.locator(".invalid")).to_be_visible()
