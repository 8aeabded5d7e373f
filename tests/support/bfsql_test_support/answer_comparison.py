"""Compare the answers of the tree with those of an older commit, the oracle, to drawn calls.

    python -m bfsql_test_support.answer_comparison PYTHON [options]

PYTHON is the interpreter of an environment with the oracle; `nox -s oracle` makes it. Two processes
get the same calls and answer with all that a client sees. A difference is made smaller as far as
that is cheap, and printed with the command that repeats it.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from bfsql_test_support.drawn_calls import Call, drawn_call
from bfsql_test_support.drawn_graphs import DrawnGraph, drawn_graph

CALLS = 125
"""Calls of each graph: call 5017 is number 17 of graph 40."""
GRAPHS = 40
"""Graphs whose answers are frozen as digests."""
GRAPHS_OF_A_SEED = 10_000
DIGESTS = Path(__file__).parents[2] / "drawn_answers.txt"
SECONDS = 120.0
"""Seconds after which a process without an answer hangs."""
SMALLER = 30.0
"""Seconds for making a difference smaller."""
PRINTED = 5
"""Differences that are printed in full; more are counted."""
say = partial(print, flush=True)
AGAIN = "nox -s oracle --"

Case: TypeAlias = tuple[DrawnGraph, Call]


def digest(text: str) -> str:
    """Eight hexadecimal digits."""
    return sha256(text.encode()).hexdigest()[:8]


def calls_of(graph: DrawnGraph) -> list[Call]:
    """The calls that are drawn for a graph."""
    return [drawn_call(graph, number) for number in range(CALLS)]


def drawn_digest(graph: DrawnGraph, calls: Sequence[Call]) -> str:
    """The digest of a graph with its calls."""
    return digest(json.dumps([graph.form, graph.limits, graph.records, calls]))


class AnsweringProcess:
    """A process of `drawn_answers`; one that ends or hangs is started again.

    Args:
        name: What its answers are called.
        hashes: The seed of Python's hashes, which no answer may depend on.
    """

    def __init__(self, name: str, python: str, hashes: int) -> None:
        self.name = name
        support = str(Path(__file__).parents[1])
        self._python = python
        self._variables = {**os.environ, "PYTHONPATH": support, "PYTHONHASHSEED": str(hashes)}
        self._process: asyncio.subprocess.Process | None = None
        self._open: dict[str, Any] | None = None
        self._errors = Path(tempfile.gettempdir()) / f"bfsql-{name}-{os.getpid()}.log"

    async def open(self, graph: DrawnGraph) -> None:
        """Serve a graph."""
        self._open = {"form": graph.form, "limits": graph.limits, "records": graph.records}
        if self._process is not None:
            await self._ask({"open": self._open})

    async def answer(self, call: Call) -> str:
        """The answer to a call, or a fault of the process."""
        if self._process is None:
            with self._errors.open("wb") as errors:
                self._process = await asyncio.create_subprocess_exec(
                    *(self._python, "-m", "bfsql_test_support.drawn_answers"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=errors,
                    env=self._variables,
                    limit=1 << 28,
                )
            if fault := await self._ask({"open": self._open}):
                return fault
        return await self._ask({"call": call})

    async def _ask(self, request: dict[str, Any]) -> str:
        process = self._process
        assert process is not None
        assert process.stdin
        assert process.stdout
        fault = "ended"
        try:
            process.stdin.write(f"{json.dumps(request)}\n".encode())
            await process.stdin.drain()
            line = await asyncio.wait_for(process.stdout.readline(), SECONDS)
            if line.endswith(b"\n"):
                return "" if "open" in request else line.decode().rstrip("\n")
        except TimeoutError:
            fault = f"has not answered for {SECONDS:.0f} s"
        except OSError:
            pass
        errors = self._errors.read_text("utf-8", "replace")[-2000:]
        await self.close()
        return json.dumps({"fault": f"the process {fault}", "stderr": errors})

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            if process.returncode is None:
                process.kill()
            await process.wait()
            self._errors.unlink(missing_ok=True)


class AnswerComparison:
    """The oracle and the tree."""

    def __init__(self, python: str) -> None:
        self.oracle = AnsweringProcess("oracle", python, 1)
        self.tree = AnsweringProcess("tree", sys.executable, 2)

    async def open(self, graph: DrawnGraph) -> None:
        """Serve a graph in both."""
        await asyncio.gather(self.oracle.open(graph), self.tree.open(graph))

    async def answers(self, calls: Sequence[Call]) -> list[tuple[str, str]]:
        """The answers of both to some calls."""

        async def of(one: AnsweringProcess) -> list[str]:
            return [await one.answer(call) for call in calls]

        return list(zip(*await asyncio.gather(of(self.oracle), of(self.tree)), strict=True))

    async def differs(self, case: Case) -> bool:
        """Whether the answers to a call differ that is the first one of its graph."""
        return is_fault(*await self.answer(case))

    async def answer(self, case: Case) -> tuple[str, str]:
        """The answers of both to a call that is the first one of its graph."""
        await self.open(case[0])
        [pair] = await self.answers([case[1]])
        return pair

    async def smaller(self, case: Case) -> Case:
        """The case with fewer arguments and records, as far as that is cheap."""
        end, changed = time.monotonic() + SMALLER, True
        while changed:
            changed = False
            for way in (fewer_arguments, fewer_records):
                for other in way(*case):
                    if time.monotonic() > end:
                        return case
                    if await self.differs(other):
                        case, changed = other, True
                        break
        return case

    async def close(self) -> None:
        """End both."""
        await asyncio.gather(self.oracle.close(), self.tree.close())


def is_fault(old: str, new: str) -> bool:
    """Whether answers differ, or show that something is wrong in both."""
    return old != new or new.startswith('{"fault": ') or '"asked again": ' in new


def fewer_arguments(graph: DrawnGraph, call: Call) -> Iterator[Case]:
    """The call without an argument, or without an item of a list."""
    tool, arguments = call
    for name, value in arguments.items():
        yield graph, (tool, {key: one for key, one in arguments.items() if key != name})
        for place in range(len(value) if isinstance(value, list) else 0):
            yield graph, (tool, {**arguments, name: value[:place] + value[place + 1 :]})


def fewer_records(graph: DrawnGraph, call: Call) -> Iterator[Case]:
    """The graph without some records, first without half of them; then without metadata."""
    records = graph.records
    size = len(records) // 2
    while size:
        for start in range(0, len(records), size):
            yield replace(graph, records=records[:start] + records[start + size :]), call
        size //= 2
    for place, record in enumerate(records):
        if record[-1]:
            bare = [*records[:place], [*record[:-1], {}], *records[place + 1 :]]
            yield replace(graph, records=bare), call


def seen_of(old: str, new: str) -> list[str]:
    """The part of two answers that differs, or what is wrong with the second, as it is read."""
    both = [json.loads(old), json.loads(new)]
    parts = [name for name in both[1] if both[0].get(name) != both[1][name]] or [*both[1]]
    part = "asked again" if "asked again" in both[1] else parts[0]
    texts = [json.dumps(one.get(part, one), ensure_ascii=False) for one in both]
    if part == "blocks" and all(part in one for one in both):
        texts = ["\n".join(one[part]) for one in both]
    return [text if len(text) < 3000 else f"{text[:3000]}..." for text in texts]


def description(number: int, case: Case, pair: tuple[str, str], note: str) -> str:
    """A case as it is printed: the graph, the call, both answers, and the command to repeat it."""
    graph, (tool, arguments) = case
    records = [json.dumps(record, ensure_ascii=False) for record in graph.records]
    old, new = seen_of(*pair)
    lines = [
        f"call {number}, {note}: {tool} {json.dumps(arguments, ensure_ascii=False)}",
        f"  of drawn_graph({graph.number}), {graph.form}, {graph.limits}, {len(records)} records",
        *(f"    {record}" for record in records if len(records) < 12),
        *([f"  oracle: {old}", f"  tree:   {new}"] if is_fault(*pair) else [f"  both:   {new}"]),
        f"  again: {AGAIN} --call {number}",
    ]
    return "\n".join(lines)


async def compared(comparison: AnswerComparison, options: argparse.Namespace) -> int:
    """Compare calls until there are enough, or time is up; returns the number of differences."""
    began, first = time.monotonic(), options.seed * GRAPHS_OF_A_SEED
    asked = errors = differences = 0
    for number in count(first):
        out_of_time = options.minutes and time.monotonic() - began > 60 * options.minutes
        if asked >= options.calls or out_of_time:
            break
        graph = drawn_graph(number)
        calls = calls_of(graph)[: options.calls - asked]
        await comparison.open(graph)
        pairs = await comparison.answers(calls)
        asked, errors = asked + len(calls), errors + sum(p[1].startswith('{"error"') for p in pairs)
        for place, pair in enumerate(pairs):
            if is_fault(*pair):
                differences += 1
                if differences <= PRINTED:
                    say(f"a difference in {asked} calls, after {time.monotonic() - began:.0f} s:")
                    await report(comparison, number * CALLS + place, (graph, calls[place]), pair)
    say(
        f"{asked} calls, {errors} of them refused, in {time.monotonic() - began:.0f} s: "
        f"{differences} differences"
    )
    return differences


async def report(
    comparison: AnswerComparison, number: int, case: Case, pair: tuple[str, str]
) -> None:
    """Print a difference, as small as possible."""
    note = "only after the calls before it" if is_fault(*pair) else "as drawn"
    if is_fault(*pair) and await comparison.differs(case):
        case, note = await comparison.smaller(case), "made smaller"
        pair = await comparison.answer(case)
    say(description(number, case, pair, note))


async def freeze(comparison: AnswerComparison) -> None:
    """Write the digests of the oracle's answers."""
    lines = [
        "# Written by `nox -s oracle -- --freeze` from the oracle's answers; see CONTRIBUTING."
    ]
    for number in range(GRAPHS):
        graph = drawn_graph(number)
        calls = calls_of(graph)
        await comparison.oracle.open(graph)
        answers = [await comparison.oracle.answer(call) for call in calls]
        wrong = [answer for answer in answers if is_fault(answer, answer)]
        if wrong:
            sys.exit(f"The oracle itself is wrong on graph {number}: {wrong[0]}")
        lines += [f"{drawn_digest(graph, calls)} {' '.join(map(digest, answers))}"]
    DIGESTS.write_text("\n".join([*lines, ""]), encoding="utf-8")


async def main() -> int:
    """Run the command; returns the number of differences."""
    parser = argparse.ArgumentParser(prog=AGAIN)
    parser.add_argument("python", help=argparse.SUPPRESS)
    parser.add_argument("--calls", type=int, default=sys.maxsize, help="number of calls")
    parser.add_argument("--seed", type=int, default=0, help="0: those that are frozen come first")
    parser.add_argument("--minutes", type=float, help="time for new calls")
    parser.add_argument("--call", type=int, help="one call, by its number")
    parser.add_argument("--freeze", action="store_true", help=f"write {DIGESTS.name}")
    options = parser.parse_args()
    if options.calls == sys.maxsize and not options.minutes:
        options.calls = 20_000
    async with AsyncExitStack() as stack:
        comparison = AnswerComparison(options.python)
        stack.push_async_callback(comparison.close)
        if options.freeze:
            await freeze(comparison)
            return 0
        if options.call is None:
            return await compared(comparison, options)
        graph = drawn_graph(options.call // CALLS)
        calls = calls_of(graph)[: options.call % CALLS + 1]
        await comparison.open(graph)
        pair = (await comparison.answers(calls))[-1]
        await report(comparison, options.call, (graph, calls[-1]), pair)
        return int(is_fault(*pair))


if __name__ == "__main__":
    sys.exit(min(asyncio.run(main()), 1))
