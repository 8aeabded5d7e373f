"""`nox -s benchmarks -- outside SET FOLDER`: questions of others, answered by one plan each.

SET is zograscope, ck25, metaqa, ckg or exam; FOLDER holds its files, as
`docs/explanation/questions.md` says. Without it they are looked for in the folder of the set below
BFSQL_OUTSIDE, or else below `shared/data/outside` beside this repository. The exam has none.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from statistics import mean, median
from typing import Any, Protocol

from bfsql_test_support import results
from bfsql_test_support.questions.command import opened
from bfsql_test_support.questions.stores import Loadable
from bfsql_test_support.questions.suite import Outcome, Sum, definition_tokens, markdown
from bfsql_test_support.questions.toolsets import CallRefused, SixTools
from outside.ck25 import CK25
from outside.ckg import subjects
from outside.exam import Exam
from outside.gold import NoPlan, OutsideQuestion
from outside.metaqa import MetaQA
from outside.zograscope import Zograscope

BESIDE = Path(__file__).parents[2].parent / "shared" / "data" / "outside"
STORES = ("sqlite", "postgres", "neo4j")
FORMATS = ("json", "lines")


class Dataset(Loadable, Protocol):
    """A graph that others made, with their questions."""

    def questions(self, every: int = 1) -> list[OutsideQuestion]:
        """One question of this many, with their right answers."""


DATASETS: dict[str, Callable[[Path], Sequence[Dataset]]] = {
    "zograscope": lambda folder: [Zograscope(folder)],
    "ck25": lambda folder: [CK25(folder)],
    "metaqa": lambda folder: [MetaQA(folder)],
    "ckg": subjects,
    "exam": lambda _: [Exam()],
}
"""The graphs of each set."""


def datasets(name: str, folder: str | None = None) -> Sequence[Dataset]:
    """The graphs of a set, in a folder or in the default one.

    Raises:
        FileNotFoundError: The folder does not exist.
    """
    path = Path(folder) if folder else Path(os.environ.get("BFSQL_OUTSIDE", BESIDE), name)
    if name != "exam" and not path.is_dir():
        raise FileNotFoundError(
            f"There is no folder {path}. Fetch {name} as docs/explanation/questions.md says, and "
            "name its folder, or the folder above it by BFSQL_OUTSIDE."
        )
    return DATASETS[name](path)


def main(arguments: Sequence[str]) -> None:
    """Run the plans of a data set.

    Args:
        arguments: Command-line arguments after `outside`.
    """
    parser = argparse.ArgumentParser(prog="outside", description=__doc__)
    parser.add_argument("set", choices=DATASETS)
    parser.add_argument("folder", nargs="?", help="the folder of its files")
    parser.add_argument("--stores", nargs="+", help=f"{', '.join(STORES)}; for ck25 also oxigraph")
    parser.add_argument("--every", type=int, default=1, help="ask one question of this many (1)")
    parser.add_argument(
        "--answer-format", nargs="+", choices=FORMATS, default=FORMATS, help="json lines (both)"
    )
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    given = parser.parse_args(arguments)
    stores = given.stores or [*STORES, *(["oxigraph"] if given.set == "ck25" else [])]
    try:
        found = datasets(given.set, given.folder)
    except FileNotFoundError as error:
        parser.error(str(error))
    asked = [(data, data.questions(given.every)) for data in found]
    total = sum(len(questions) for _, questions in asked)
    print(f"{given.set}: {total:,} questions with their right answers")
    saved = asyncio.run(run(asked, stores, given.answer_format))
    if given.save:
        rows = [{"set": given.set, "every": given.every, **row} for row in saved]
        results.save("outside", rows, ("set", "every", "store", "format"))


async def run(
    asked: Sequence[tuple[Dataset, Sequence[OutsideQuestion]]],
    stores: Sequence[str],
    formats: Collection[str],
) -> list[dict[str, Any]]:
    """Run all plans in each store and format of answers, and print a table and the misses.

    Args:
        asked: The graphs, with the questions about each.

    Returns:
        The sums of each store and format.
    """
    rows = [["store", "kind", "right", "F1", "F1 of values"]]
    rows[0] += ["calls", "arguments", "answers", "definitions", "ms"]
    misses, sums = [], []
    f1s: dict[int, float] = {}
    for store in stores:
        outcomes: dict[str, list[Outcome]] = {}
        tokens = 0
        with ExitStack() as stack:
            opens = opened(store, stack)
            for data, questions in asked:
                async with opens(data) as sides:
                    for side in sides:
                        if isinstance(side.tools, SixTools) and side.answer_format in formats:
                            some = [await answered(side.tools, one, f1s) for one in questions]
                            outcomes.setdefault(side.answer_format, []).extend(some)
                            tokens = max(tokens, definition_tokens(side.tools))
        for answer_format, some in outcomes.items():
            where = f"{store}{', lines' * (answer_format == 'lines')}"
            rows += table(where, some, tokens, f1s)
            found = {"store": store, "format": answer_format, **asdict(Sum.of(some))}
            sums.append(found | {"f1": round(mean(one.score for one in some), 4)})
            misses += [f"{where}: {one.wrong}" for one in some if one.wrong]
        print(f"    {store} is done")
    print(f"\n{markdown(rows)}\n\n{len(misses)} misses")
    print(*misses, sep="\n")
    return sums


async def answered(
    tools: SixTools, question: OutsideQuestion, f1s: dict[int, float] | None = None
) -> Outcome:
    """Answer a question by its plan; F1 of its values goes into `f1s` by the id of the outcome."""
    before = len(tools.calls)
    f1 = of_values = 0.0
    try:
        rows = list(await question.plan(tools))
        wrong, f1 = question.difference(rows), question.f1_of(rows)
        of_values = question.values_f1(rows)
    except (NoPlan, CallRefused, LookupError, TypeError, ValueError) as error:
        wrong = f"{type(error).__name__}: {error}"
    told = None if wrong is None else f"{question.kind.name} {question.id}: {question.text} {wrong}"
    outcome = Outcome(question.kind.name, tuple(tools.calls[before:]), told, f1)
    if f1s is not None:
        f1s[id(outcome)] = of_values
    return outcome


def table(
    where: str, outcomes: Sequence[Outcome], tokens: int, f1s: Mapping[int, float]
) -> list[list[str]]:
    """Rows of a table: one for each kind of question, and one for all.

    Args:
        where: The store, and the format of answers.
        tokens: Estimated tokens of the tool definitions.
        f1s: F1 of the values of each, by the id of the outcome.
    """
    kinds = sorted({outcome.kind for outcome in outcomes})
    rows = []
    for kind in (*kinds, "all"):
        some = [outcome for outcome in outcomes if kind in (outcome.kind, "all")]
        found = Sum.of(some)
        seconds = median(sum(call.seconds for call in outcome.calls) for outcome in some)
        counts = (f"{n:,}" for n in (found.calls, found.arguments, found.answers))
        told = f"{tokens:,} tokens" if kind == "all" else ""
        right = f"{found.right:,}/{found.asked:,}"
        scores = f"{mean(outcome.score for outcome in some):.4f}"
        of_values = f"{mean(f1s[id(outcome)] for outcome in some):.4f}"
        rows.append([where, kind, right, scores, of_values, *counts, told, f"{seconds * 1000:.1f}"])
    return rows
