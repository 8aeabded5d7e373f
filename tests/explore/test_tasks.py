"""What people come for: questions in few steps, and the review of a session."""

import csv
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from bfsql.cli.demo import films_paths
from bfsql_test_support.browser import animation
from bfsql_test_support.browser.chromium import Visit
from bfsql_test_support.browser.screenshots import IMAGES, load_films
from bfsql_test_support.servers.serve_process import Served, exploring

pytestmark = pytest.mark.asyncio(loop_scope="session")

HANKS = "Person:TomHanks"
ENDS = ["-ACTED_IN-> Movie", "<-DIRECTED- Person"]
BAD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_entities", {"query": "Tom Hanks"}),
    ("bfs_query", {"seeds": [HANKS], "max_hops": 1}),
    ("bfs_query", {"seeds": ["Tom Hanks"], "path": ["<-ACTED_IN- Movie"]}),
    ("bfs_query", {"seeds": ["Tom Hanks"], "path": ["-PLAYED_IN-> Movie"]}),
    ("bfs_query", {"seeds": ["Tom Hanks"], "path": ["-PLAYED_ON-> Movie"]}),
    ("bfs_query", {"seeds": ["Tom Hanks"], "path": ENDS, "show": "ends", "fields": ["name"]}),
)
"""A session whose last call needs none of those before it."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def recording(
    films_db: Path,
    tmp_path_factory: pytest.TempPathFactory,
    recorded_lines: Callable[..., Awaitable[list[str]]],
) -> Path:
    """The calls of this session, and a second session of one call."""
    lines = [
        *await recorded_lines(films_db, BAD, session="bad"),
        *await recorded_lines(films_db, BAD[-1:], session="good"),
    ]
    file = tmp_path_factory.mktemp("recorded") / "calls.jsonl"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def films(films_db: Path, recording: Path) -> AsyncIterator[Served]:
    """`bfsql explore` over the films, with that recording."""
    with exploring(str(films_db), "--replay", str(recording)) as served:
        yield served


def roles() -> list[dict[str, str]]:
    """The edges of the films, as they are in their file."""
    with films_paths() as tables:
        [path] = (path for path in tables if path.name == "roles.csv")
        return list(csv.DictReader(path.read_text("utf-8").splitlines()))


async def test_questions_of_the_schema_are_answered_by_their_views(
    tab: Visit, films: Served
) -> None:
    acted = Counter(row["subject"] for row in roles() if row["predicate"] == "ACTED_IN")
    genres = Counter(row["object"] for row in roles() if row["predicate"] == "HAS_GENRE")
    for question, counts in (
        ("Which Persons acted in the most Movies?", acted),
        ("Which Genres have the most Movies?", genres),
    ):
        page = await tab.open(films.url, view="start")
        await page.get_by_role("link", name=question).click()
        first = page.get_by_role("row").nth(1)
        ((best, most),) = counts.most_common(1)
        await expect(first).to_contain_text(str(most))
        await expect(first.get_by_role("link")).to_have_attribute(
            "href", re.compile(best.replace(":", "%3A"))
        )
    await tab.open(films.url, view="start")
    await page.get_by_role("link", name="Persons that directed and acted in the same").click()
    edges = {(row["subject"], row["object"], row["predicate"]) for row in roles()}
    both = {s for s, o, p in edges if p == "DIRECTED" and (s, o, "ACTED_IN") in edges}
    await expect(page.get_by_role("button", name=f"Nodes ({len(both)})")).to_be_visible()


async def test_a_line_between_two_entities_shows_its_record(tab: Visit, films: Served) -> None:
    page = await tab.open(films.url, view="start")
    for field, text in (("From", "tom hanks"), ("and", "apollo 13")):
        await page.get_by_role("combobox", name=field, exact=True).fill(text)
        await page.get_by_role("option", name=re.compile(text, re.IGNORECASE)).click()
    await expect(page.locator(".status")).to_contain_text("2 nodes, 1 edge")
    await tab.settled()
    middle = await page.evaluate(
        """async () => {
            const {picture} = (await import("/assets/shown.js")).shown();
            await picture.settled;
            const [a, b] = picture.positions();
            const {left, top} = document.querySelector(".stage").getBoundingClientRect();
            return [left + (a.x + b.x) / 2, top + (a.y + b.y) / 2 + 4];
        }"""
    )
    await page.mouse.click(*middle)
    panel = page.get_by_role("complementary", name="What is selected")
    [role] = (row["role"] for row in roles() if (row["subject"], row["object"]) == (
        HANKS, "Movie:Apollo131995"
    ))  # fmt: skip
    await expect(panel).to_contain_text(role)
    await panel.get_by_role("button", name="Close the panel").click()
    await expect(panel).to_be_hidden()


async def test_films_of_a_decade_with_their_directors_by_keyboard(
    tab: Visit, films: Served
) -> None:
    page = await tab.open(films.url, view="start")
    await tab.tab_to(page.get_by_role("link", name="Movie", exact=True), "Enter")
    await tab.tab_to(page.get_by_role("button", name="1990 to 1999"), "Enter")
    await expect(page.locator(".status")).to_contain_text("41 nodes")
    await tab.tab_to(page.get_by_role("button", name="→ directed by Person"), "Enter")
    await expect(page.locator(".status")).to_contain_text("43 edges")
    await tab.tab_to(page.get_by_role("button", name="Edges (43)"), "Enter")
    await tab.tab_to(page.get_by_role("button", name="directed", exact=True).first, "Enter")
    panel = page.get_by_role("complementary", name="What is selected")
    await expect(panel.get_by_text("directed", exact=True)).to_be_visible()
    await tab.tab_to(page.locator("summary").filter(has_text="Options"), "Enter")
    await tab.tab_to(page.get_by_label("Details"))
    await page.keyboard.press("Escape")
    await expect(page.get_by_label("Details")).to_be_hidden()
    await page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; }")
    await tab.tab_to(page.get_by_role("button", name="Copy for a model"), "Enter")
    copied = await page.evaluate("copied")
    assert copied.startswith("Movie where released at least 1990 and released at most 1999 → ")
    assert '"path":["<-DIRECTED- Person"]' in copied


async def test_a_review_names_what_a_session_wasted(tab: Visit, films: Served) -> None:
    page = await tab.open(films.url, view="replay")
    review = page.get_by_role("region", name="Review")
    await expect(review.get_by_role("heading")).to_have_text(
        "The last call alone would have answered: 10 tokens instead of 60."
    )
    await expect(review.locator(".said li")).to_have_text(
        [
            re.compile("^Call 3 found nothing: The opposite direction has matches"),
            "Calls 45 were refused; their errors say what would be right.",
            "Call 2 found nothing that a later call used.",
        ]
    )
    await tab.tab_to(review.get_by_role("button", name=re.compile("^Call 6")), "Enter")
    await tab.tab_to(page.get_by_role("link", name="Open this call and change it"), "Enter")
    await expect(page.get_by_role("button", name="Remove → directed by Person")).to_be_visible()
    await tab.has_state(show=["ends"])
    await tab.open(films.url, view="replay", id="2")
    await expect(review.get_by_role("heading")).to_have_text("1 call, 10 tokens.")
    await expect(review.locator(".said li")).to_have_count(0)


def append_call(recording: Path) -> None:
    """Record one more call of the last session."""
    further = json.loads(recording.read_text("utf-8").splitlines()[-1])
    with recording.open("a", encoding="utf-8") as file:
        file.write(json.dumps(further | {"tool": "describe_schema", "arguments": {}}) + "\n")


async def test_a_session_is_followed_while_it_is_recorded(
    tab: Visit, films: Served, recording: Path
) -> None:
    page = await tab.open(films.url, view="replay", id="2")
    counter = page.locator(".player .number")
    await expect(counter).to_have_text("1 of 1")
    append_call(recording)
    await expect(counter).to_have_text("2 of 2")


async def test_the_animation_of_the_readme_shows_the_page_of_today(
    browser: Browser, tmp_path: Path
) -> None:
    load_films(tmp_path / "films.db")
    with exploring(str(tmp_path / "films.db")) as served:
        found = [frame async for frame in animation.frames(browser, served.url, "light")]
    known = (IMAGES / "question.sha256").read_text("utf-8").strip()
    assert animation.digest(found) == known, "It is stale. Make it again: nox -s screenshots"
    assert 4_500 <= sum(frame.milliseconds for frame in found) <= 5_500
    assert "Steven Spielberg 5" in found[-1].text


async def test_connections_are_sentences_that_lead_to_their_records(
    tab: Visit, films: Served
) -> None:
    page = await tab.open(films.url, view="walk", seeds="Tom Hanks", to="Meg Ryan")
    acted = {(row["subject"], row["object"]) for row in roles() if row["predicate"] == "ACTED_IN"}
    both = [film for person, film in acted if person == HANKS and ("Person:MegRyan", film) in acted]
    sentences = page.get_by_role("listitem").filter(has_text="Tom Hanks acted in")
    await expect(sentences).to_have_count(len(both))
    first = sentences.first.get_by_role("button", name="Meg Ryan acted in")
    await first.click()
    panel = page.get_by_role("complementary", name="What is selected")
    await expect(panel).to_contain_text("Record")
