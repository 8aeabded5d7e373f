"""The page over other stores, and after failures: it shows an error and remains usable."""

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from bfsql.cli.demo import films_paths
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.serving.tokens import new_token, token_line
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.browser.chromium import PATIENCE, Visit, address
from bfsql_test_support.commands import output
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.servers.documentation import on_neo4j, on_oxigraph
from bfsql_test_support.servers.neo4j import Neo4jServer
from bfsql_test_support.servers.oxigraph import OxigraphServer
from bfsql_test_support.servers.port import free_port
from bfsql_test_support.servers.serve_process import exploring

pytestmark = pytest.mark.asyncio(loop_scope="session")

HANKS = "Person:TomHanks"
FILMS = """
@prefix : <http://films.test/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:TomHanks a :Person ; rdfs:label "Tom Hanks" ; :ACTED_IN :Big, :Splash .
:DarylHannah a :Person ; rdfs:label "Daryl Hannah" ; :ACTED_IN :Splash .
:Big a :Movie ; rdfs:label "Big" .
:Splash a :Movie ; rdfs:label "Splash" .
"""
AWAY = re.compile("store|endpoint|connect", re.IGNORECASE)
REFUSED = r"console: Failed to load resource: .*(status of 4|status of 5|ERR_CONNECTION)"
"""The browser's own console line for a failed request, which pages cannot prevent."""


def load(*arguments: str, env: dict[str, str] | None = None) -> None:
    output(sys.executable, "-m", "bfsql", "load", *arguments, timeout=300, env=env)


async def search_and_walk(page: Page, url: str) -> None:
    """Search from the start, open a neighbourhood, expand one node, and open a record."""
    await page.goto(url)
    await search_field(page).fill("tom hanks")
    await page.get_by_role("option", name="Tom Hanks").click()
    await expand(page, "Splash")
    await page.get_by_role("link", name="Daryl Hannah").click()
    await expect(page.get_by_role("heading", name="Daryl Hannah")).to_be_visible()


async def expand(page: Page, name: str) -> None:
    await page.get_by_role("button", name=f"Expand {name}", exact=True).click()
    await expect(page.locator(".status")).to_contain_text("2 calls")


async def try_until(page: Page, wanted: Locator) -> None:
    """Press "Try again" until something is shown: a failed store is not retried at once."""
    async with asyncio.timeout(4 * PATIENCE):
        while not await wanted.is_visible():
            await page.get_by_role("button", name="Try again").click()
            await expect(page.locator("[aria-busy=true]")).to_have_count(0)


def search_field(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Search the graph")


@pytest.mark.skipif(not THOROUGH, reason="A thorough run has the page over Neo4j.")
async def test_the_page_walks_in_neo4j(visit: Visit, neo4j_server: Neo4jServer) -> None:
    async with on_neo4j(neo4j_server) as place:
        env = {**os.environ, **place.variables}
        with films_paths() as tables:
            await asyncio.to_thread(load, *map(str, tables), "--backend", "neo4j", env=env)
        with exploring("--backend", "neo4j", env=env) as served:
            await search_and_walk(visit.page, served.url)


async def test_the_page_outlives_a_sparql_store_that_is_killed(
    visit: Visit, oxigraph: OxigraphServer
) -> None:
    page = visit.page
    visit.expect_incident(REFUSED)
    async with on_oxigraph(oxigraph) as place:
        oxigraph.send(f"{oxigraph.store_url}?default", FILMS.encode(), "text/turtle")
        env = {**os.environ, **place.variables, "BFSQL_MAX_PAUSE": "1"}
        with exploring("--backend", "sparql", env=env) as served:
            await search_and_walk(page, served.url)
            assert not visit.incidents
            oxigraph.kill()
            await search_field(page).fill("Big")
            await expect(page.locator(".suggestions-note:visible")).to_contain_text(AWAY)
            await search_field(page).fill("")
            await page.goto(address(served.url, view="entity", id="http://films.test/Big"))
            await expect(page.get_by_role("alert")).to_contain_text(AWAY)
            oxigraph.start()
            oxigraph.send(f"{oxigraph.store_url}?default", FILMS.encode(), "text/turtle")
            await try_until(page, page.get_by_role("heading", name="Big", exact=True))


async def test_a_token_is_asked_for_and_asked_for_again_when_it_has_expired(
    visit: Visit, films_db: Path, tmp_path: Path
) -> None:
    page = visit.page
    visit.expect_incident(r"console: Failed to load resource: .*status of 401")
    first, second = new_token(), new_token()
    tokens = tmp_path / "tokens.txt"
    tokens.write_text(token_line("reader", first) + "\n")
    dialog = page.get_by_role("dialog")
    with exploring(str(films_db), "--bearer-tokens", str(tokens)) as served:
        await page.goto(address(served.url, view="entity", id=HANKS))
        await expect(dialog).to_contain_text("This server wants a token")
        await give_token(page, "wrong")
        await expect(dialog).to_contain_text("The token was not accepted")
        await give_token(page, first)
        await expect(page.get_by_role("heading", name="Tom Hanks")).to_be_visible()
        tokens.write_text(token_line("reader", second) + "\n")
        await page.get_by_role("link", name="Walk from here").click()
        await expect(dialog).to_contain_text("It may have expired")
        await give_token(page, second)
        await expect(page.locator(".status")).to_contain_text("31 nodes")
        kept = await page.evaluate(
            "JSON.stringify([localStorage, sessionStorage, document.cookie])"
        )
        assert first not in kept
        assert second not in kept
        assert not any(first in request or second in request for request in visit.requests)
        await page.reload()
        await expect(dialog).to_contain_text("This server wants a token")
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("alert")).to_contain_text("token")


async def give_token(page: Page, token: str) -> None:
    await page.get_by_label("Token", exact=True).fill(token)
    await page.keyboard.press("Enter")


async def test_the_page_outlives_a_server_that_restarts(visit: Visit, films_db: Path) -> None:
    page = visit.page
    visit.expect_incident(r"console: Failed to load resource: net::ERR_CONNECTION_REFUSED")
    port = str(free_port())
    with ExitStack() as stack:
        served = stack.enter_context(exploring(str(films_db), "--port", port))
        await page.goto(address(served.url, view="entity", id=HANKS))
        await expect(page.get_by_role("heading", name="Tom Hanks")).to_be_visible()
        served.stop()
        await page.get_by_role("link", name="Walk from here").click()
        await expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
        stack.enter_context(exploring(str(films_db), "--port", port))
        await page.get_by_role("button", name="Try again").click()
        await expect(page.locator(".status")).to_contain_text("31 nodes")


STOPS = 5_000


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hub_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub with two relations to each of many nodes, and a depot connected to it."""
    path = tmp_path_factory.mktemp("hub") / "hub.db"
    await load_graph(SqliteSettings(path=path), records_of_hub())
    return path


def records_of_hub() -> Iterator[NodeRecord | EdgeRecord]:
    yield NodeRecord("hub", "Station", {"name": "the hub"})
    yield NodeRecord("depot", "Depot", {"name": "the depot"})
    yield EdgeRecord("depot", "SERVES", "hub", {})
    for number in range(STOPS):
        stop = f"n{number}"
        yield NodeRecord(stop, "Stop", {"name": f"stop {number}"})
        yield EdgeRecord("hub", "LEAVES_FOR", stop, {})
        yield EdgeRecord(stop, "ARRIVES_AT", "hub", {})


async def test_a_hub_opens_as_counts_by_predicate(visit: Visit, hub_db: Path) -> None:
    page = visit.page
    with exploring(str(hub_db)) as served:
        await page.goto(address(served.url, view="walk", seeds="depot"))
        await page.get_by_role("button", name="Expand the hub").click()
        choice = page.get_by_role("region", name="What to open")
        await expect(choice).to_contain_text("the hub has 10,001 relations")
        await choice.get_by_role("button", name="leaves for").click()
        await expect(page.locator(".status")).to_contain_text("2 calls")
        await expect(page.locator(".notes-place")).to_contain_text("1 to 300 of 5,000 are shown")
        await page.goto(address(served.url, view="walk", seeds="hub"))
        await expect(choice).to_contain_text("5,000")
        await search_field(page).fill("stop 77")
        await expect(page.get_by_role("option", name="stop 77").first).to_be_visible()


async def test_a_call_that_ends_at_its_deadline_is_a_sentence(visit: Visit, hub_db: Path) -> None:
    page = visit.page
    visit.expect_incident(REFUSED)
    with exploring(str(hub_db), "--deadline", "0.001") as served:
        await page.goto(address(served.url, view="walk", seeds="hub", hops=2, hub="all"))
        await expect(page.get_by_role("alert")).to_contain_text("within 0.001 s")
        await page.get_by_role("link", name="Overview").click()
        await expect(page.locator("#main h1")).to_have_count(1)
        await page.go_back()
        await expect(page.get_by_role("alert")).to_contain_text("within 0.001 s")
