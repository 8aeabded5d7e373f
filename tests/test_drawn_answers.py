"""Drawn calls have the answers of the oracle, an older commit; `nox -s oracle` compares more.

The digests of the oracle's answers are in `drawn_answers.txt`. The facts that notes state are on a
page of their own, which is compared with the source and with the notes of the same answers.
"""

import ast
import asyncio
import json
import logging
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from bfsql.tools.parameters import PARAMETERS
from bfsql_test_support.answer_comparison import (
    AGAIN,
    CALLS,
    DIGESTS,
    GRAPHS,
    AnswerComparison,
    AnsweringProcess,
    calls_of,
    digest,
    drawn_digest,
)
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.drawn_answers import answer, opened, served, stored
from bfsql_test_support.drawn_calls import QUESTION, Call, drawn_changes
from bfsql_test_support.drawn_graphs import FORMS, DrawnGraph, drawn_graph

ROOT = Path(__file__).parent.parent
CORE = ROOT / "packages/bfsql-core/src/bfsql"
FROZEN = [line.split() for line in DIGESTS.read_text("utf-8").splitlines()[1:]]
"""For each graph, the digest of its calls and those of their answers."""
OUT_OF_REACH = {
    "The graph … did not answer (…)": "a federation, of which a graph is away",
    "No such entity: …": "tools refuse such a seed before",
    "The metadata of all … is missing, because this call reached its time limit.": "time",
    "The names of some hits are missing": "time",
    "only the first candidates of the store were examined": "roles, and a search with many hits",
    "only the names of … entities were compared": "5,000 entities of a store without a search",
    "relations and properties are still being counted": "time",
    "stands for that many walks or more": "needs 2**53 walks",
    "predicates and directions; describe_schema(seeds=[...]) counts the others": "100 predicates",
    "are missing too: …": "more than five such nodes in one answer, once in some thousand calls",
    "measure: … leaves out nodes with the last of its values for …": "values are seldom the same",
    "was read as a relation, since this graph has …": "needs a predicate between two signs",
    "is the name of …": "comes with tables whose columns are names",
    "were not counted, because the store could not do that in time": "time",
}
"""Notes that drawn calls need not have, each with the reason."""
PAIRED = [n for n in range(80) if n % 8 != 7] if THOROUGH else (1, 4, 6, 9, 10)
"""Graphs of which answers are compared after calls that differ in one thing; none is lossy, since
it learns its schema from answers."""
FIRST, CHANGED = (CALLS, 99) if THOROUGH else (14, 1)
"""The first calls to each, one of a kind is changed, and how often each of its arguments is."""
PARTS = """
, or a larger max_tokens|from the nodes read here|Check the names and values in it.
this call reached its time limit|the next ring exceeds the server's limit on …
Types are chosen by patterns, "TYPE:*", and by exclude_node_types.
describe_entity shows which properties an entity has.|A relation has an arrow: "…".
No type or predicate … is known.|Raise max_tokens, or name|chains along these steps
… (… of … values)|… of … (at least … bytes)
… is sorted as text: … is neither a number nor an ISO date.
The last … were|The last hit was|share a rare word with it|, … with an end
"""
"""Texts that are parts of sentences."""


@dataclass
class Answers:
    """The answers to the calls whose digests are frozen."""

    calls: list[Call]
    lines: list[str]

    @property
    def notes(self) -> list[str]:
        return [note for line in self.lines for note in json.loads(line).get("notes", ())]


@pytest.fixture(scope="module")
def answers() -> Answers:
    found = Answers([], [])

    async def ask(graph: DrawnGraph) -> None:
        async with served(graph.form, graph.limits, graph.records) as opened:
            for call in calls_of(graph):
                found.calls.append(call)
                found.lines.append(await answer(opened, *call))

    logging.disable(logging.CRITICAL)
    for number in range(GRAPHS):
        asyncio.run(ask(drawn_graph(number)))
    logging.disable(logging.NOTSET)
    return found


def test_the_calls_are_drawn_as_when_their_answers_were_frozen():
    graphs = [drawn_graph(number) for number in range(GRAPHS)]
    assert {graph.form for graph in graphs} == {*FORMS}
    drawn = [drawn_digest(graph, calls_of(graph)) for graph in graphs]
    assert drawn == [row[0] for row in FROZEN], f"write the digests anew: {AGAIN} --freeze"


def test_the_answers_to_drawn_calls_are_those_of_the_oracle(answers):
    frozen = [known for row in FROZEN for known in row[1:]]
    assert len(frozen) == len(answers.lines) == GRAPHS * CALLS
    differences = [
        f"{AGAIN} --call {number}  # {tool} {json.dumps(arguments, ensure_ascii=False)[:200]}"
        for number, (tool, arguments) in enumerate(answers.calls)
        if digest(answers.lines[number]) != frozen[number]
    ]
    shown = "\n".join(differences[:20])
    assert not differences, f"{len(differences)} answers differ; both answers are shown by\n{shown}"


def test_two_thirds_of_the_drawn_calls_are_answered_and_no_error_is_the_servers(answers):
    errors = [json.loads(line)["error"] for line in answers.lines if line.startswith('{"error"')]
    assert len(errors) < len(answers.lines) / 3
    assert [error for error in errors if error[0] in ("internal", "store", "deadline")] == []


def test_every_parameter_of_every_tool_is_drawn_with_several_values(answers):
    values: dict[tuple[str, str], set[str]] = defaultdict(set)
    for line, (tool, arguments) in zip(answers.lines, answers.calls, strict=True):
        for name, value in arguments.items():
            if not line.startswith('{"error"'):
                values[tool, name].add(json.dumps(value))
    names = [
        (tool, name)
        for tool, known in PARAMETERS.items()
        for p in known
        for name in filter(None, (p.name, p.alias))
        if (tool, name) != ("intersect_subgraphs", "order_by")
        if name != "at"  # for which tests/test_valid_time.py draws graphs
    ]
    assert {name: len(values[name]) for name in names if len(values[name]) < 2} == {}


@pytest.mark.parametrize("number", PAIRED)
async def test_an_answer_does_not_depend_on_a_call_before_that_differs_in_one_thing(number):
    graph, kinds, differences = drawn_graph(number), set(), []
    how, size = (graph.form, graph.limits), 60 if number % 5 == 2 else 500_000
    store = stored(graph.form, graph.records)
    async with store as db, opened(db, *how, cache_records=size) as warm:

        async def cold(call: Call) -> str:
            async with opened(db, *how) as fresh:
                return await answer(fresh, *call)

        for tool, arguments in calls_of(graph)[:FIRST]:
            asked = {name: arguments[name] for name in arguments if name in QUESTION}
            kind = tool, str(asked.get("path")).count(",") > 0, *asked
            known = await cold((tool, asked)) if kind not in kinds else '{"error"'
            if known.startswith('{"error"') or '"edge_count": 0' in known:
                continue
            kinds.add(kind)
            base = arguments if len(kinds) % 3 == 2 else asked
            changes = drawn_changes(graph, (tool, base), CHANGED)
            differences += [c for c in changes if await answer(warm, *c) != await cold(c)]
    assert differences == []
    assert len(kinds) > 3


# --- the page of notes ---------------------------------------------------------------


def rows() -> Iterator[tuple[str, str]]:
    """Note and source of each row of the page."""
    page = (ROOT / "docs/reference/notes.md").read_text("utf-8")
    for part in page.split("\n## ")[1:]:
        written = re.findall(r"^These are written by `([\w/.]+)`", part, re.MULTILINE)
        for note, source in re.findall(r"^\| `([^|]+)` \|[^|]+\| ([^|]+) \|$", part, re.MULTILINE):
            yield note, " ".join(written or re.findall(r"`([\w/]+\.py)`", source))


@cache
def sentences(file: str) -> list[str]:
    """The texts of a module, with `…` in place of values; docstrings are left out."""
    tree = ast.parse((CORE / file).read_text("utf-8"))
    inner = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    inner |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            texts.append(
                "".join(p.value if isinstance(p, ast.Constant) else "…" for p in node.values)
            )
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner
        ):
            texts.append(node.value)
    return texts


def test_each_note_of_the_page_is_in_the_source_that_it_names():
    for note, files in rows():
        assert files, note
        for file in files.split():
            assert any(note in f"{text}." for text in sentences(file)), (note, file)


def test_each_sentence_of_the_notes_is_on_the_page():
    parts = {part for line in PARTS.splitlines() for part in line.split("|")}
    for name in ("answers/notes", "answers/subgraph_notes", "answers/schema_text", "tools/hits"):
        listed = [note for note, files in rows() if f"{name}.py" in files]
        missing = [
            text
            for text in sentences(f"{name}.py")
            if len(text.split()) > 3 and not any(note in f"{text}." for note in listed)
            if text.strip() not in parts
        ]
        assert missing == [], name


def test_drawn_calls_have_each_kind_of_note_but_those_that_need_time_or_size(answers):
    notes = "\n".join(answers.notes)
    patterns = {note: ".+?".join(map(re.escape, re.split("…+", note))) for note, _ in rows()}
    absent = {note for note, pattern in patterns.items() if not re.search(pattern, notes)}
    assert absent <= {*OUT_OF_REACH} <= {*patterns}


# --- the comparison ---------------------------------------------------------------------


@pytest.mark.slow
async def test_answers_do_not_depend_on_the_process_or_its_hashes():
    comparison = AnswerComparison(sys.executable)  # with another seed of hashes in each
    try:
        for number in (0, 6, 7):
            graph = drawn_graph(number)
            await comparison.open(graph)
            pairs = await comparison.answers(calls_of(graph))
            assert [old for old, new in pairs if old != new] == []
            assert [digest(old) for old, _ in pairs] == FROZEN[number][1:]
    finally:
        await comparison.close()


async def test_a_process_that_ends_is_a_fault_and_is_started_again():
    process = AnsweringProcess("tree", sys.executable, 0)
    graph = DrawnGraph(0, "memory", {}, [["node", "a", "T", {}]])
    await process.open(graph)
    right = await process.answer(("describe_entity", {"id": "a"}))
    assert '"id": "a"' in right
    assert process._process
    process._process.kill()
    assert (await process.answer(("describe_entity", {"id": "a"}))).startswith('{"fault"')
    assert await process.answer(("describe_entity", {"id": "a"})) == right
    await process.close()


async def test_a_difference_is_reduced_to_the_arguments_and_records_that_it_needs():
    class Differing(AnswerComparison):
        async def differs(self, case):
            graph, (_, arguments) = case
            return (
                "n:3" in graph.nodes and len(graph.edges) > 1 and "b" in arguments.get("where", ())
            )

    graph = drawn_graph(0)
    assert "n:3" in graph.nodes
    call = ("bfs_query", {"seeds": ["n:3"], "where": ["a", "b"], "limit": 1})
    less, (_, arguments) = await Differing(sys.executable).smaller((graph, call))
    assert arguments == {"where": ["b"]}
    assert len(less.records) == 3
    assert less.records[-1][-1] == {}
