"""`nox -s benchmarks -- outside SET FOLDER`: questions of others, answered by one plan each.

SET is zograscope, ck25 or metaqa; FOLDER holds its files, as `docs/explanation/questions.md` says.
Without it they are looked for in the folder of the set below BFSQL_OUTSIDE, or else below
`shared/data/outside` beside this repository.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from bfsql_test_support import results
from bfsql_test_support.questions.command import opened
from bfsql_test_support.questions.stores import Loadable, Side
from bfsql_test_support.questions.suite import Outcome, Sum, definition_tokens, markdown
from bfsql_test_support.questions.toolsets import CallRefused, SixTools
from outside.ck25 import CK25
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


DATASETS: dict[str, Callable[[Path], Dataset]] = {
    "zograscope": Zograscope,
    "ck25": CK25,
    "metaqa": MetaQA,
}


def dataset(name: str, folder: str | None = None) -> Dataset:
    """A data set, in a folder or in the default one.

    Raises:
        FileNotFoundError: The folder does not exist.
    """
    path = Path(folder) if folder else Path(os.environ.get("BFSQL_OUTSIDE", BESIDE), name)
    if not path.is_dir():
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
        data = dataset(given.set, given.folder)
    except FileNotFoundError as error:
        parser.error(str(error))
    questions = data.questions(given.every)
    print(f"{given.set}: {len(questions):,} questions with their right answers")
    saved = asyncio.run(run(data, questions, stores, given.answer_format))
    if given.save:
        rows = [{"set": given.set, "every": given.every, **row} for row in saved]
        results.save("outside", rows, ("set", "every", "store", "format"))


async def run(
    data: Dataset,
    questions: Sequence[OutsideQuestion],
    stores: Sequence[str],
    formats: Collection[str],
) -> list[dict[str, Any]]:
    """Run all plans in each store and format of answers, and print a table and the misses.

    Returns:
        The sums of each store and format.
    """
    rows = [["store", "kind", "right", "calls", "arguments", "answers", "definitions", "ms"]]
    misses, sums = [], []
    for store in stores:
        with ExitStack() as stack:
            async with opened(store, stack)(data) as sides:
                for side in sides:
                    if isinstance(side.tools, SixTools) and side.answer_format in formats:
                        outcomes = [await answered(side.tools, one) for one in questions]
                        rows += table(side, outcomes)
                        where = {"store": store, "format": side.answer_format}
                        sums.append(where | asdict(Sum.of(outcomes)))
                        misses += [
                            f"{side.name} on {store}: {o.wrong}" for o in outcomes if o.wrong
                        ]
        print(f"    {store} is done")
    print(f"\n{markdown(rows)}\n\n{len(misses)} misses")
    print(*misses, sep="\n")
    return sums


async def answered(tools: SixTools, question: OutsideQuestion) -> Outcome:
    """Answer a question by its plan."""
    before = len(tools.calls)
    try:
        wrong = question.difference(await question.plan(tools))
    except (NoPlan, CallRefused, LookupError, TypeError, ValueError) as error:
        wrong = f"{type(error).__name__}: {error}"
    told = None if wrong is None else f"{question.kind.name} {question.id}: {question.text} {wrong}"
    return Outcome(question.kind.name, tuple(tools.calls[before:]), told)


def table(side: Side, outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Rows of a table: one for each kind of question, and one for all."""
    kinds = sorted({outcome.kind for outcome in outcomes})
    rows = []
    for kind in (*kinds, "all"):
        some = [outcome for outcome in outcomes if kind in (outcome.kind, "all")]
        found = Sum.of(some)
        seconds = median(sum(call.seconds for call in outcome.calls) for outcome in some)
        counts = (f"{n:,}" for n in (found.calls, found.arguments, found.answers))
        tokens = f"{definition_tokens(side.tools):,} tokens" if kind == "all" else ""
        where = f"{side.store}{', lines' * (side.answer_format == 'lines')}"
        right = f"{found.right:,}/{found.asked:,}"
        rows.append([where, kind, right, *counts, tokens, f"{seconds * 1000:.1f}"])
    return rows
