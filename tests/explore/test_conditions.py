"""The page over other stores, and when something fails: each time a sentence, and it goes on."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.async_api import Page, expect

from bfsql.cli.demo import films_paths
from bfsql.serving.tokens import new_token, token_line
from bfsql_servers.chromium import Visit
from bfsql_servers.neo4j import Neo4jServer
from bfsql_servers.oxigraph import OxigraphServer
from bfsql_servers.pages import on_neo4j, on_oxigraph
from bfsql_servers.port import free_port
from bfsql_servers.served import Served, exploring

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
"""The browser's own line for a response that is no success, which pages cannot prevent."""


def load(*arguments: str, env: dict[str, str] | None = None) -> None:
    command = [sys.executable, "-m", "bfsql", "load", *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=120, env=env)


async def search_and_walk(page: Page, url: str) -> None:
    """From the start to a neighbourhood, one expansion further, and to a record."""
    await page.goto(url)
    await page.get_by_role("combobox", name="Search the graph").fill("tom hanks")
    await page.get_by_role("option", name="Tom Hanks").click()
    await expand(page, "Splash")
    await page.get_by_role("link", name="Daryl Hannah").click()
    await expect(page.get_by_role("heading", name="Daryl Hannah")).to_be_visible()


async def expand(page: Page, name: str) -> None:
    await page.get_by_role("button", name=f"Expand {name}", exact=True).click()
    await expect(page.locator(".status")).to_contain_text("2 calls")


def url_of(served: Served, **state: object) -> str:
    return f"{served.url}/#{urlencode(state, doseq=True)}"


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
            await page.get_by_role("combobox", name="Search the graph").fill("Big")
            await expect(page.locator(".search-note")).to_contain_text(AWAY)
            await page.get_by_role("combobox", name="Search the graph").fill("")
            await page.goto(url_of(served, view="entity", id="http://films.test/Big"))
            await expect(page.get_by_role("alert")).to_contain_text(AWAY)
            oxigraph.start()
            oxigraph.send(f"{oxigraph.store_url}?default", FILMS.encode(), "text/turtle")
            again = page.get_by_role("button", name="Try again")
            while await again.count():
                await again.click()
                await expect(page.locator("[aria-busy=true]")).to_have_count(0)
            await expect(page.get_by_role("heading", name="Big")).to_be_visible()


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
        await page.goto(url_of(served, view="entity", id=HANKS))
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
        await page.goto(url_of(served, view="entity", id=HANKS))
        await expect(page.get_by_role("heading", name="Tom Hanks")).to_be_visible()
        served.stop()
        await page.get_by_role("link", name="Walk from here").click()
        await expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
        stack.enter_context(exploring(str(films_db), "--port", port))
        await page.get_by_role("button", name="Try again").click()
        await expect(page.locator(".status")).to_contain_text("31 nodes")


EDGES_OF_HUB = 100_000


@pytest.fixture(scope="module")
def hub_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub, the half of whose edges have each of two predicates."""
    folder = tmp_path_factory.mktemp("hub")
    nodes, edges, path = (folder / name for name in ("nodes.csv", "edges.csv", "hub.db"))
    stops = range(EDGES_OF_HUB)
    named = [f"n{number},Stop,stop {number}" for number in stops]
    own = ["id,type,name", "hub,Station,the hub", "depot,Depot,the depot"]
    nodes.write_text("\n".join([*own, *named]))
    rows = [f"hub,{('EVEN', 'ODD')[number % 2]},n{number}" for number in stops]
    edges.write_text("\n".join(["subject,predicate,object", "depot,SERVES,hub", *rows]))
    load(str(nodes), str(edges), "--path", str(path))
    return path


async def test_a_hub_opens_as_counts_by_predicate(visit: Visit, hub_db: Path) -> None:
    page = visit.page
    with exploring(str(hub_db)) as served:
        await page.goto(url_of(served, view="walk", seeds="depot"))
        await page.get_by_role("button", name="Expand the hub").click()
        await expect(page.get_by_text("50,000").first).to_be_visible()
        await expect(page.get_by_text("EVEN").first).to_be_visible()
        await page.get_by_role("combobox", name="Search the graph").fill("stop 77")
        await expect(page.get_by_role("option", name="stop 77").first).to_be_visible()


async def test_a_call_that_ends_at_its_deadline_is_a_sentence(visit: Visit, hub_db: Path) -> None:
    visit.expect_incident(REFUSED)
    with exploring(str(hub_db), "--deadline", "0.001") as served:
        await visit.page.goto(url_of(served, view="walk", seeds="hub", hops=2))
        await expect(visit.page.get_by_role("alert")).to_contain_text("within 0.001 s")
