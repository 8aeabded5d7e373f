"""The figures of the README and of questions.md are those in `benchmarks/results/`.

After a change that alters them: `nox -s benchmarks -- questions --save`, and so on.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from bfsql_test_support.questions.kinds import KINDS
from bfsql_test_support.questions.stores import in_sqlite
from bfsql_test_support.questions.suite import Report, Sum, questions_about
from bfsql_test_support.questions.worlds import Size, World
from bfsql_test_support.results import saved
from bfsql_test_support.stores_matrix import STORES
from bfsql_testing.conformance import RULES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
QUESTIONS = (ROOT / "docs/explanation/questions.md").read_text("utf-8")
MODELS = (ROOT / "docs/explanation/what-models-make-of-it.md").read_text("utf-8")
BOUNDS = (ROOT / "docs/decisions/0028-bounds-of-a-call.md").read_text("utf-8")
SUMMED = ("right", "asked", "calls", "arguments", "answers")
CLOSE = 0.03
"""Share by which a sentence that is worded differently may change the characters of answers."""


def sums(store: str, tools: str) -> dict[str, int]:
    """The rows of a store and a set of tools, added up."""
    rows = [r for r in saved("questions") if (r["store"], r["tools"]) == (store, tools)]
    found = {key: sum(row[key] for row in rows) for key in SUMMED}
    return found | {"definitions": max(row["definitions"] for row in rows)}


def row(name: str, **fields: Any) -> dict[str, Any]:
    """The only row of a file with these fields."""
    [found] = [one for one in saved(name) if fields.items() <= one.items()]
    return found


def evidence(start: str) -> str:
    """The result that the README gives in the row that begins so."""
    [line] = [line for line in README.splitlines() if line.startswith(f"| {start}")]
    return line


def test_the_readme_has_the_figures_of_other_peoples_questions() -> None:
    for store in ("sqlite", "postgres", "neo4j"):
        found = row("outside", set="zograscope", every=1, store=store, format="json")
        assert found["calls"] == found["asked"]
        text = f"{found['right']:,} of {found['asked']:,} answers equal, in one call each"
        assert text in evidence("[what one call can express]")
    for store in ("sqlite", "postgres"):
        films = row("outside", set="metaqa", every=1, store=store, format="json")
        company = row("outside", set="ck25", every=1, store=store, format="json")
        text = f"(MetaQA {films['right']:,} of {films['asked']:,}, CK25 {company['right']} of the"
        assert f"{text} {company['asked']} tried)" in evidence("[what one call can express]")


def test_the_readme_has_the_figures_of_the_suite() -> None:
    ours, cypher = sums("neo4j", "six tools, lines"), sums("neo4j", "cypher")
    line = evidence("[our suite of")
    assert f"suite of {len(KINDS)} kinds" in line
    assert f"{ours['calls']} calls, with Cypher {cypher['calls']};" in line
    assert f"are {ours['answers'] / cypher['answers']:.1f} times as long" in line
    assert f"{ours['definitions']:,} tokens in a session, Cypher's {cypher['definitions']}" in line


def test_the_readme_has_the_figures_of_misspelt_names() -> None:
    line = evidence("[names with one typing error]")
    [names] = re.findall(r"(?s)\| medlit.*?\| 95,847", QUESTIONS)
    shares = dict(re.findall(r"\| (\w+) \| ([\d.]+) \|", names))
    others = sorted(float(shares.pop(store)) for store in ("postgres", "neo4j", "oxigraph"))
    assert f"{100 * others[0]:.1f} to {100 * others[-1]:.1f} % elsewhere" in line
    assert shares == {"sqlite": f"{row('recall', set='medlit', errors=1)['among 1']:.3f}"}
    assert f"{float(shares['sqlite']):.0%}".replace("%", " %") in line


def test_the_readme_has_the_figures_of_hostile_clients() -> None:
    search = {"store": "embedded", "call": "search"}
    alone, beside = (row("hostile", **search, **{"hostile clients": n}) for n in (0, 8))
    line = evidence("[a search beside 64")
    assert f"median {beside['p50 ms']} ms, p99 {beside['p99 ms']} ms " in line
    assert f"(alone {alone['p50 ms']} and {alone['p99 ms']} ms)" in line
    shown = (f"{one['p50 ms']} / {one['p99 ms']} / {one['max ms']} ms" for one in (alone, beside))
    assert all(text in BOUNDS for text in shown)


def test_the_readme_has_the_numbers_of_rules_and_stores() -> None:
    line = evidence("[one conformance kit]")
    assert f" of {len(RULES)} rules" in line
    assert f"{len(STORES)} stores;" in line


def test_the_readme_has_the_figures_of_a_model() -> None:
    for start, name, other, said in (
        ("[a model's answers to 36", "exam", "cypher", "Cypher"),
        ("[the same model on CK25]", "ck25", "sparql", "SPARQL"),
    ):
        ours, theirs = (row("models", set=name, tools=t) for t in ("six tools, lines", other))
        first = f"F1 {ours['f1']}" if "f1" in ours else f"{ours['right']} right"
        second = theirs.get("f1", theirs.get("right"))
        text = f"{first} in {ours['calls']} calls and {ours['answers']:,} characters"
        assert text in evidence(start)
        text = f"with {said} {second} in {theirs['calls']} and {theirs['answers']:,}"
        assert text in evidence(start)


def test_the_page_has_what_a_model_made_of_the_tools() -> None:
    for one in saved("models"):
        cells = [one["tools"], f"{one.get('right')}/{one['asked']}", str(one["calls"])]
        cells += [f"{one.get(key, 0):,}" for key in ("answers", "definitions", "arguments")]
        if "f1" in one:
            cells = [one["set"].upper(), one["tools"], str(one["asked"]), str(one["f1"])]
            cells += [str(one["calls"]), f"{one['answers']:,}"]
        assert f"| {' | '.join(cells)} |" in MODELS


def test_the_page_has_the_sums_of_the_suite() -> None:
    for tools, store in sorted({(one["tools"], one["store"]) for one in saved("questions")}):
        found = sums(store, tools)
        cells = [tools, store, f"{found['right']}/{found['asked']}"]
        cells += [f"{found[key]:,}" for key in ("calls", "arguments", "answers")]
        assert f"| {' | '.join(cells)} | {found['definitions']:,} tokens |" in QUESTIONS


def test_the_page_has_the_shares_of_misspelt_names() -> None:
    for names in ("medlit", "names"):
        rows = [row("recall", set=names, store="sqlite", errors=n) for n in (1, 2)]
        shares = [f"{one[f'among {first}']:.3f}" for one in rows for first in (1, 5)]
        assert f"| sqlite | {' | '.join(shares)} |" in QUESTIONS


@pytest.mark.parametrize("store", ["sqlite", "neo4j"])
def test_the_page_has_the_sums_of_other_peoples_questions(store: str) -> None:
    answers = row("outside", set="zograscope", store=store, format="json")["answers"]
    assert re.search(rf"\| {store} \| 2,905/2,905 \|.* {answers:,} \|", QUESTIONS)


def test_the_page_has_the_sums_of_ckg() -> None:
    asked = [row("outside", set="ckg", store="sqlite", format=name) for name in ("json", "lines")]
    found, lines = asked
    right = f"{found['right']:,}/{found['asked']:,}"
    cells = [f"{n:,}" for n in (found["calls"], found["arguments"], found["answers"])]
    assert f"| {right} | {' | '.join(cells)} | {lines['answers']:,} |" in QUESTIONS
    assert f"| all | | | {right} | {found['f1']} |" in QUESTIONS
    assert f"All {found['asked'] - found['right']} misses" in QUESTIONS
    assert (lines["right"], lines["f1"]) == (found["right"], found["f1"])


async def test_the_suite_takes_the_calls_that_are_saved_and_about_the_characters(
    tmp_path: Path,
) -> None:
    world, report = World("world-1", Size.of(1), 11), Report()
    async with in_sqlite(world, tmp_path) as sides:
        for side in sides:
            await report.add(side, questions_about(world))
    for (store, tools), outcomes in report.outcomes.items():
        found = Sum.of(outcomes)
        before = row("questions", world="world-1", store=store, tools=tools)
        assert (found.calls, found.right) == (before["calls"], before["right"])
        assert found.arguments == before["arguments"]
        assert found.answers == pytest.approx(before["answers"], rel=CLOSE)
        assert report.tokens[store, tools] == pytest.approx(before["definitions"], rel=CLOSE)


def test_every_row_says_when_and_where_it_was_measured() -> None:
    for name in ("hostile", "models", "outside", "questions", "recall"):
        for one in saved(name):
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", one["date"])
            assert "cores" in one["machine"]
