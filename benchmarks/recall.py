"""`nox -s benchmarks -- recall`: how often a search for a misspelt name finds its entity.

The names are those of medlit, or generated (`--names 100000`). Typing errors are letters dropped,
doubled, replaced or swapped in a word of at least six letters. On medlit, the benchmark also runs
queries that match nothing, and prints the classes of their hits.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphs import records_of

from bfsql import Graph
from bfsql.models import GraphRecord, NodeRecord
from bfsql.models.matching import name_of
from bfsql_test_support import results
from bfsql_test_support.questions.command import STORES, opened
from bfsql_test_support.questions.names import Names
from bfsql_test_support.questions.toolsets import SixTools

WITHOUT_MATCH = ("aspirin", "Parkinson disease", "Boston")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LONG = 6
"""Fewest letters of a word that may have two typing errors."""
FIRST = (1, 5)
"""The entity is looked for among this many first hits."""


@dataclass(frozen=True)
class Records:
    """The records to load into a store."""

    name: str
    every: Sequence[GraphRecord]
    description = "Entities to search for."

    @classmethod
    def medlit(cls, folder: Path) -> Records:
        """The medlit bundle."""
        return cls("medlit", list(records_of([folder])))

    @classmethod
    def made_up(cls, count: int) -> Records:
        """Entities with made-up names of two words."""
        names = Names(random.Random(7))
        made = (NodeRecord(f"E:{n}", "Person", {"name": names.person()}) for n in range(count))
        return cls("names", list(made))

    def records(self) -> Iterator[GraphRecord]:
        """All records."""
        yield from self.every

    def names(self) -> list[str]:
        """The distinct names with a long word, sorted."""
        nodes = (one for one in self.every if isinstance(one, NodeRecord))
        names = {name for one in nodes if (name := name_of(one.metadata)) and _long(name)}
        return sorted(names)


def main(arguments: Sequence[str]) -> None:
    """Measure, as the command line requests.

    Args:
        arguments: Command-line arguments after `recall`.
    """
    parser = argparse.ArgumentParser(prog="recall", description=__doc__)
    parser.add_argument("stores", nargs="*", default=STORES, help=f"of {', '.join(STORES)}; all")
    parser.add_argument("--names", type=int, help="how many names to make up; medlit without it")
    parser.add_argument("--queries", type=int, default=200, help="of each number of errors")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    given = parser.parse_args(arguments)
    if unknown := set(given.stores) - set(STORES):
        parser.error(f"there is no store {unknown.pop()}; there are {', '.join(STORES)}")
    if given.names:
        held = Records.made_up(given.names)
    elif folder := os.environ.get("BFSQL_MEDLIT"):
        held = Records.medlit(Path(folder))
    else:
        parser.error("BFSQL_MEDLIT names no folder with medlit, and there is no --names")
    rows = asyncio.run(report(given.stores, held, given.queries))
    if given.save:
        results.save("recall", rows, ("set", "store", "errors"))


async def report(stores: Sequence[str], held: Records, queries: int) -> list[dict[str, Any]]:
    """Print and return the shares, a line for each store and number of errors."""
    names, rows = held.names(), []
    print(f"{held.name}: {len(names):,} names\nstore         errors   among 1   among 5   classes")
    for store in stores:
        with ExitStack() as stack:
            async with opened(store, stack)(held) as sides:
                tools = sides[0].tools
                assert isinstance(tools, SixTools)
                for errors in (1, 2):
                    shares = await _report(tools.graph, store, names, errors, queries)
                    where = {"set": held.name, "names": len(names), "store": store}
                    rows.append({**where, "errors": errors, "queries": queries, **shares})
                for query in WITHOUT_MATCH if held.name == "medlit" else ():
                    answer = await tools.graph.search_entities(query)
                    hits = [(hit["name"], hit["match"]) for hit in json.loads(answer.text)]
                    print(f"    {query!r}: {hits}; {' '.join(answer.notes)[:80]}")
    return rows


async def _report(
    graph: Graph, store: str, names: Sequence[str], errors: int, count: int
) -> dict[str, float]:
    chance = random.Random(errors)
    found, classes = Counter[int](), Counter[str]()
    for name in chance.choices(names, k=count):
        hits = json.loads((await graph.search_entities(misspelt(name, errors, chance))).text)
        classes.update(hit["match"] for hit in hits[:1])
        for first in FIRST:
            found[first] += name in [hit["name"] for hit in hits[:first]]
    shares = "".join(f"{found[first] / count:10.3f}" for first in FIRST)
    print(f"{store:12}{errors:8}{shares}   {dict(sorted(classes.items()))}")
    return {f"among {first}": found[first] / count for first in FIRST}


def misspelt(name: str, errors: int, chance: random.Random) -> str:
    """A name with typing errors in one of its long words."""
    place = chance.choice(_long(name))
    words = name.split()
    for _ in range(errors):
        words[place] = _with_error(words[place], chance)
    return " ".join(words)


def _with_error(word: str, chance: random.Random) -> str:
    at = chance.randrange(len(word) - 1)
    start, one, other, rest = word[:at], word[at], word[at + 1], word[at + 2 :]
    wrong = (one, other + one, one + one + other, one + chance.choice(LETTERS))
    return start + chance.choice(wrong) + rest


def _long(name: str) -> list[int]:
    """The positions of the long words of a name."""
    return [n for n, word in enumerate(name.split()) if len(word) >= LONG and word.isalpha()]
