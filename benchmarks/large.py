"""A graph of millions of edges in the embedded store, columns by hand, and another commit."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, NamedTuple

from asking import Reply, Taken
from large_graph import EDGES, NODES, TYPES
from timing import median

HERE = Path(__file__).parent
MEGABYTE = 1e6
SEARCHES = 40
"""Searches of each kind."""


@dataclass(frozen=True, slots=True)
class Files:
    """The paths of all files, and the commands that use them.

    Args:
        folder: The destination. If the two tables or the graph of the other commit exist in it,
            they are reused, since they take long to make.
        old: The Python of an environment with another commit to compare with, if any.
    """

    folder: Path
    old: str | None = None

    @property
    def graph(self) -> Path:
        """The graph of this commit."""
        return self.folder / "graph.db"

    @property
    def old_graph(self) -> Path:
        """The graph of the other commit."""
        return self.folder / "old.db"

    @property
    def by_hand(self) -> list[str]:
        """The command that answers questions from the arrays."""
        return [sys.executable, str(HERE / "columns_by_hand.py"), "ask", str(self.folder)]

    @property
    def ours(self) -> list[str]:
        """The command that answers questions with this commit."""
        return [sys.executable, str(HERE / "asking.py"), str(self.graph)]

    @property
    def others(self) -> list[str]:
        """The command that answers questions with the other commit."""
        return [self.old or "", str(HERE / "asking.py"), str(self.old_graph)]

    @property
    def tables(self) -> list[str]:
        """The tables to load."""
        return [str(self.folder / NODES), str(self.folder / EDGES)]


class Question(NamedTuple):
    """One `bfs_query`."""

    what: str
    seed: str
    hops: int


class Usage(NamedTuple):
    """Time and memory of a process."""

    wall: float
    processor: float
    memory: float
    """Peak in megabytes."""


def report(files: Files, edges: int, turns: int) -> None:
    """Print all figures, each as soon as it is known."""
    run(HERE / "large_graph.py", files.folder, edges)
    report_loading(files)
    known = chosen(files.folder)
    print(
        f"\nthe graph: {known['nodes']:,} nodes, {known['edges']:,} edges; "
        f"the hub has {known['hub_edges']:,}"
    )
    report_near(files, known, turns)
    report_far(files, known, turns)
    import crowd  # imports bfsql and mcp, whose memory would count for the processes above

    asyncio.run(report_search(files.graph, known["names"]))
    asyncio.run(crowd.report(files.graph, known["hub"], known["few"]))


# --- loading ------------------------------------------------------------------


def report_loading(files: Files) -> None:
    """Print time, memory and size for each way to load the tables, each in its own process."""
    print("loading                            wall   processor    memory      file")
    by_hand, folder = HERE / "columns_by_hand.py", files.folder
    arrays, index = (run(by_hand, verb, folder) for verb in ("columns", "search"))
    size = sum(
        path.stat().st_size for end in ("i32", "i64", "txt") for path in folder.glob(f"*.{end}")
    )
    _loaded("by hand: columns", arrays, size)
    _loaded("by hand: search index", index, (folder / "hand.db").stat().st_size)
    files.graph.unlink(missing_ok=True)
    ours = run("-m", "bfsql", "load", *files.tables, "--path", files.graph)
    _loaded("bfsql load", ours, files.graph.stat().st_size)
    floor = arrays.processor + index.processor
    print(f"{ours.processor / floor:.2f} of the processor time by hand (goal: 2.5)")
    if files.old and not files.old_graph.exists():
        command = ("-m", "bfsql", "load", *files.tables, "--path", files.old_graph)
        old = run(*command, python=files.old)
        _loaded("bfsql load, other commit", old, files.old_graph.stat().st_size)
        print(f"1/{old.processor / ours.processor:.1f} of its processor time (goal: 1/6)")


def _loaded(what: str, usage: Usage, size: int) -> None:
    print(
        f"{what:28}{usage.wall:9.1f} s{usage.processor:10.1f} s{usage.memory:7,.0f} MB"
        f"{size / MEGABYTE:7,.0f} MB"
    )


def run(*arguments: object, python: str = sys.executable) -> Usage:
    """Run Python in a new process until it ends; return its usage."""
    with Taken() as taken:
        process = subprocess.Popen([python, *map(str, arguments)], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{arguments} ended with {process.returncode}; its reason is above")
    return Usage(taken.wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


# --- questions ----------------------------------------------------------------


def chosen(folder: Path) -> dict[str, Any]:
    """The questions to ask; see `columns_by_hand.choose`."""
    command = [sys.executable, str(HERE / "columns_by_hand.py"), "choose", str(folder)]
    known: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    )
    return known


def report_near(files: Files, known: dict[str, Any], turns: int) -> None:
    """Compare with columns by hand: from the hub, and from a neighbour of it with few edges."""
    print(
        "\ncold answers, usual tokens             nodes       edges"
        "   by hand: wall, processor, memory            ours: the same     ratios (goals: 3, 3, 2)"
    )
    for what, seed in (("the hub", known["hub"]), ("a node beside it", known["beside"])):
        for hops in (1, 2, 3):
            question = Question(f"{hops} hops from {what}", seed, hops)
            by_hand, ours = asked(question, [files.by_hand, files.ours], turns)
            print(
                f"{question.what:32}{ours.nodes:12,}{ours.edges:12,}{_took(by_hand)}{_took(ours)}"
                f"{ours.wall / by_hand.wall:8.2f}{ours.processor / by_hand.processor:6.2f}"
                f"{ours.memory / by_hand.memory:6.2f}"
            )


def report_far(files: Files, known: dict[str, Any], turns: int) -> None:
    """Compare small answers with columns by hand and with the other commit."""
    sides = [files.by_hand, files.ours]
    line = "\ncold answers, usual tokens             nodes  edges   by hand        ours"
    if files.old:
        sides.append(files.others)
        line += "       other commit   ratios (goal: 1), wall and processor"
    print(f"{line}        by processor time")
    for seed, hops, _ in known["far"]:
        question = Question(f"{hops} hops far from the hub", seed, hops)
        took = asked(question, sides, turns * 10)
        text = "".join(f"{reply.processor * 1000:9.2f} ms" for reply in took)
        if files.old:
            _, ours, old = took
            text += f"{ours.wall / old.wall:8.2f}{ours.processor / old.processor:6.2f}"
        print(f"{question.what:32}{took[0].nodes:10,}{took[0].edges:7,}{text}")


def _took(reply: Reply) -> str:
    wall, processor = reply.wall * 1000, reply.processor * 1000
    return f"{wall:12,.0f} ms{processor:7,.0f} ms{reply.memory:6,.0f} MB"


def asked(question: Question, sides: Sequence[Sequence[str]], turns: int) -> list[Reply]:
    """The fastest time of each side; the sides take turns.

    Args:
        question: The question to ask.
        sides: Commands that start a process which answers like `asking.py`.
        turns: Answers of each side.

    Raises:
        SystemExit: Their counts differ, or one does not answer.
    """
    with ExitStack() as stack:
        processes = [stack.enter_context(_process(side)) for side in sides]
        rounds = [[_answer(process, question) for process in processes] for _ in range(turns)]
    if len({reply[-2:] for replies in rounds for reply in replies}) > 1:
        counts = [(reply.nodes, reply.edges) for reply in rounds[0]]
        raise SystemExit(f"{question.what} ({question.seed}): nodes and edges differ: {counts}")
    return [
        Reply(*map(min, list(zip(*replies, strict=True))[:2]), *replies[-1][2:])
        for replies in zip(*rounds, strict=True)
    ]


@contextmanager
def _process(command: Sequence[str]) -> Iterator[Popen[str]]:
    """A process that is ended by closing its standard input."""
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        yield process


def _answer(process: Popen[str], question: Question) -> Reply:
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps([question.seed, question.hops]) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"{question.what} ({question.seed}): no answer; the reason is above")
    return Reply(*json.loads(line))


# --- search -------------------------------------------------------------------


async def report_search(graph: Path, names: Sequence[str]) -> None:
    """Print the median and slowest time of each kind of search, warm.

    Args:
        graph: The file.
        names: Names of some nodes, of the form "name 5a0c".
    """
    import bfsql

    print(
        f"\nsearch, {SEARCHES} of each kind, warm          median    slowest  processor  (goal: 50)"
    )
    [common] = {name.split()[0] for name in names}
    kinds: dict[str, tuple[list[str], bool]] = {
        "a name": (list(names), False),
        "its beginning": ([name[:-1] for name in names], False),
        "its second word": ([name.split()[1] for name in names], False),
        f"the word of all names, {common!r}": ([common] * len(names), False),
        "a misspelt name": ([_misspelt(name) for name in names], False),
        "a name, of one type": (list(names), True),
        f"{common!r}, of one type": ([common] * len(names), True),
    }
    for what, (queries, one_type) in kinds.items():
        # Without a cache, so that a repeated query searches again.
        async with bfsql.open_graph("sqlite", path=graph, cache_records=0) as opened:
            took = []
            for number, query in enumerate(queries[: SEARCHES + 1]):
                types = [f"T{number % TYPES}"] if one_type else []
                with Taken() as taken:
                    await opened.search_entities(query, node_types=types)
                took.append(taken)
        warm = [taken.wall for taken in took[1:]]
        figures = (median(warm), max(warm), median([taken.processor for taken in took[1:]]))
        print(f"{what:40}" + "".join(f"{seconds * 1000:8.1f} ms" for seconds in figures))


def _misspelt(name: str) -> str:
    """The name with two letters of its first word swapped, and two of its last."""
    return name[0] + name[2] + name[1] + name[3:-2] + name[-1] + name[-2]
