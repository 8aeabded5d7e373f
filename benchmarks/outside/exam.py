"""The exam about an unknown graph, from a world of another seed: 36 questions, each with its plan.

The world has the types, relations and sizes of the graph that a model was examined with: 22,880
nodes and 101,000 edges with made-up names. The values of each question are drawn until its answer
is one to ask for; the right answers come from sets and counts in this module, and not from the
engine. Texts and calls stand in `exam.toml`, where `{a}` is the name of the node that is drawn
first. Each plan is one call but that of the misspelt name.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from pathlib import Path
from statistics import StatisticsError, fmean
from typing import Any, TypeAlias

from bfsql.models import EdgeRecord, GraphRecord, NodeRecord
from bfsql_test_support.questions.kinds.kind import Form
from bfsql_test_support.questions.names import distance, misspelt
from bfsql_test_support.questions.scores import Row
from bfsql_test_support.questions.toolsets import SixTools
from outside.gold import Gold, OutsideQuestion, Plan, QuestionForm

SEED = 2027
GIVEN = tomllib.loads(Path(__file__).with_name("exam.toml").read_text("utf-8"))
"""The sizes, relations and properties of the world, and the questions."""
EDGES = re.findall(r"(\w+)\s+-(\w+)->\s+(\w+)\s+(\d+)", GIVEN["relations"])
SYLLABLES = GIVEN["syllables"].split()
HUB_SHARE = 0.3
"""The share of the edges to diseases that lead to one of them."""
Ids: TypeAlias = set[str]
Answer: TypeAlias = Mapping[str, Any]
FEW = range(1, 8)
"""How many values an answer has that is worth asking for."""
MOST_TRIED = 40
"""How many nodes a second one is looked for among."""


@dataclass(frozen=True)
class Exam:
    """The world and its questions; there are no files."""

    name = "exam"
    description = "Made-up research: people, papers, trials, compounds, proteins and diseases."

    @cached_property
    def _draw(self) -> random.Random:
        return random.Random(SEED)

    @cached_property
    def nodes(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Type and properties by id."""
        sizes, properties = GIVEN["sizes"], GIVEN["properties"]
        numbers = self._draw.sample(range(100_000, 999_999), sum(sizes.values()))
        found: dict[str, tuple[str, dict[str, Any]]] = {}
        given: dict[str, None] = {}
        for kind in (kind for kind, size in sizes.items() for _ in range(size)):
            is_namesake = kind == "Person" and len(given) % 40 == 39
            while (name := self._new_name(kind)) in given and not is_namesake:
                pass
            name = list(given)[-1] if is_namesake else name
            given[f"{name}, another" if is_namesake else name] = None
            known = {key: self._drawn_of(one) for key, one in properties.get(kind, {}).items()}
            found[f"{kind[:3].upper()}:{numbers.pop()}"] = (kind, {"name": name, **known})
        return found

    def _drawn_of(self, some: list[Any]) -> Any:
        """One of some texts, or a number from the first to the last."""
        return self._draw.choice(some) if isinstance(some[0], str) else self._draw.randint(*some)

    def _new_name(self, kind: str) -> str:
        one, two, three, four = ("".join(self._draw.choices(SYLLABLES, k=n)) for n in (2, 2, 3, 1))
        ending = self._draw.choice(GIVEN["endings"].get(kind, [""]))
        names = {
            "Person": f"{one.title()} {two.title()}",
            "Paper": f"{three.title()} and {one} in {two}",
            "Trial": f"{one.upper()}-{self._draw.randrange(1, 4000)}",
            "Protein": f"{four.upper()}{self._draw.randrange(10, 2000)}",
            "Compound": f"{three}{ending}",
        }
        return names.get(kind, f"{three.title()}{ending}")

    @cached_property
    def edges(self) -> dict[tuple[str, str, str], dict[str, Any]]:
        """Properties by triple."""
        found: dict[tuple[str, str, str], dict[str, Any]] = {}
        every = {kind: self.of(kind) for kind in GIVEN["sizes"]}
        for start, predicate, end, count in EDGES:
            starts, hub = every[start], every[end][0]
            wanted = len(found) + int(count)
            while len(found) < wanted:
                missing = wanted - len(found)
                is_fixed = predicate in GIVEN["one_each"] and missing <= len(starts)
                subject = starts[-missing] if is_fixed else self._draw.choice(starts)
                to_hub = end == "Disease" and self._draw.random() < HUB_SHARE
                obj = hub if to_hub else self._draw.choice(every[end])
                if subject != obj and (subject, predicate, obj) not in found:
                    sure = {"confidence": self._draw.randint(40, 99) / 100}
                    found[subject, predicate, obj] = sure if predicate in GIVEN["sure"] else {}
        return found

    def records(self) -> Iterator[GraphRecord]:
        """The graph."""
        edges = self.edges
        yield from (NodeRecord(i, kind, known) for i, (kind, known) in self.nodes.items())
        yield from (EdgeRecord(*triple, known) for triple, known in edges.items())

    @cached_property
    def _ends(self) -> dict[tuple[str, str], Ids]:
        found: dict[tuple[str, str], Ids] = defaultdict(set)
        for subject, predicate, obj in self.edges:
            found[subject, f"{predicate}>"].add(obj)
            found[obj, f"<{predicate}"].add(subject)
        return found

    def of(self, kind: str) -> list[str]:
        """The ids of a type."""
        return [i for i, (own, _) in self.nodes.items() if own == kind]

    def go(self, start: str | Collection[str], steps: str) -> Ids:
        """Where steps such as `treats>` and `<treats` lead."""
        ids = {start} if isinstance(start, str) else {*start}
        for step in steps.split():
            ids = {end for i in ids for end in self._ends.get((i, step), ())}
        return ids

    def get(self, i: str, key: str = "name") -> Any:
        """A property of a node."""
        return self.nodes[i][1].get(key)

    def names(self, ids: Iterable[str]) -> list[str]:
        """Their names."""
        return [*map(self.get, ids)]

    def like(self, ids: Iterable[str], **wanted: Any) -> Ids:
        """Those with these values."""
        return {i for i in ids if all(self.get(i, key) == one for key, one in wanted.items())}

    @cached_property
    def namesakes(self) -> Ids:
        """Those whose name others have."""
        called = Counter(self.names(self.nodes))
        return {i for i in self.nodes if called[self.get(i)] > 1}

    def count(self, starts: Iterable[str], steps: str) -> Counter[str]:
        """How many of some nodes lead to each node."""
        return Counter(end for i in starts for end in self.go(i, steps))

    # --- the questions ----------------------------------------------------------------

    def questions(self, every: int = 1) -> list[OutsideQuestion]:
        """One of this many questions."""
        assert self.edges  # are drawn before the values of questions
        return [self._question(*one) for one in [*GIVEN["questions"].items()][::every]]

    def _question(self, kind: str, given: Mapping[str, Any]) -> OutsideQuestion:
        values, answer = next(self._values(kind, given))
        told = {key: self.get(i) if i in self.nodes else i for key, i in values.items()}
        if kind == "misspelt":
            told["wrong"] = wrong(self, values["a"])
        rows = [tuple(one) if isinstance(one, list) else (one,) for one in answer]
        form = QuestionForm(self.name, Form.NAMES)
        call = re.sub(r"{(\w+)}", lambda one: str(told[one[1]]), json.dumps(given["call"]))
        plan = _plan(json.loads(call), READERS[given.get("read", "names")])
        return OutsideQuestion(kind, form, given["question"].format(**told), Gold(rows), plan)

    def _values(self, kind: str, given: Mapping[str, Any]) -> Iterator[tuple[dict[str, str], Any]]:
        """Values for a question, and the right answer, if it is one to ask for."""
        for first in self._candidates(given["a"], ""):
            others = [self._candidates(given[key], first) for key in "bc" if key in given]
            tried = product(*(islice(one, MOST_TRIED) for one in others))
            for some in islice(tried, MOST_TRIED):
                values = (first, *some)
                with suppress(StatisticsError):  # of nothing
                    found = RIGHT[kind](self, *values)
                    answer = self.names(found) if isinstance(found, set) else found
                    if len({*values}) == len(values) and len(answer) in FEW and answer != [0]:
                        yield dict(zip("abc", values, strict=False)), answer

    def _candidates(self, of: str, first: str) -> Iterable[str]:
        """What may be drawn: nodes of a type, the hub, a year, or where steps lead from a node."""
        if of == "year":
            return map(str, self._draw.sample(range(1990, 2026), 36))
        if of == "hub":
            return self.of("Disease")[:1]
        if of == "namesake":
            return sorted(self.namesakes)
        found = self.of(of) if of in GIVEN["sizes"] else sorted(self.go(first, of) - {first})
        return [i for i in self._draw.sample(found, len(found)) if i not in self.namesakes]


# --- right answers --------------------------------------------------------------------


def top(counts: Mapping[Any, Any], most: int = 1) -> list[Any]:
    """The keys of the largest numbers; none if the next number is as large."""
    order = sorted(counts, key=lambda one: -counts[one])
    few = order[: most + 1]
    return few[:most] if len(few) > most and counts[few[-1]] < counts[few[-2]] else []


def tied(counts: Mapping[str, int]) -> Ids:
    """All keys of the largest number."""
    return {one for one, number in counts.items() if number == max(counts.values())}


def coauthors(w: Exam, i: str) -> Ids:
    """The people who wrote a paper with a person."""
    return w.go(i, "authored> <authored") - {i}


def sure(w: Exam, subject: str, predicate: str, obj: str) -> float:
    """The confidence of an edge."""
    return float(w.edges[subject, predicate, obj]["confidence"])


def wrong(w: Exam, i: str) -> str:
    """A misspelling of a name."""
    return misspelt(w.get(i), random.Random(i))


def is_clear(w: Exam, i: str) -> bool:
    """Whether no other person is called nearly like a misspelling."""
    return [i] == [one for one in w.of("Person") if distance(w.get(one), wrong(w, i)) < 4]


RIGHT: dict[str, Callable[..., Ids | list[Any]]] = {
    "2-hop": lambda w, a: w.go(a, "member_of> located_in>"),
    "intersection": lambda w, a, b: w.go(a, "<inhibits") & w.go(b, "<inhibits"),
    "common coauthors": lambda w, a, b: (coauthors(w, a) & coauthors(w, b)) - {a, b},
    "property filter": lambda w, a: w.like(w.go(a, "<tests"), phase=3, status="terminated"),
    "count on a hub": lambda w, a: [len(w.go(a, "<mentions"))],
    "aggregate": lambda w, a: tied(w.count(w.go(a, "<inhibits <tests"), "sponsored_by>")),
    "disambiguation": lambda w, a, b: [
        *(w.like(w.of("Person"), name=w.get(a)) & w.go(b, "<located_in <member_of"))
    ],
    "negative": lambda w, a, b: [] if b in w.go(a, "inhibits>") else ["no"],
    "misspelt": lambda w, a: w.go(a, "member_of>") if is_clear(w, a) else [],
    "three conditions": lambda w, a: (
        w.go(a, "<associated_with")
        & w.go(w.like(w.of("Trial"), status="terminated"), "tests> inhibits>")
    ),
    "earliest": lambda w, a, b: w.names(
        top({i: -w.get(i, "year") for i in w.go(a, "<mentions") & w.go(b, "<member_of authored>")})
    ),
    "3-hop with a city": lambda w, a, b: w.go(a, "<treats <tests") & w.go(b, "<conducted_in"),
    "connection": lambda w, a, b: (
        (w.go(a, "inhibits>") | w.go(a, "activates>")) & w.go(b, "<associated_with")
    ),
    "2-hop one relation": lambda w, a: w.go(a, "<cites <cites"),
    "edge property": lambda w, a, b: [sure(w, a, "inhibits", b)],
    "schema": lambda *_: [
        [predicate, end] for start, predicate, end, _ in EDGES if start == "Trial"
    ],
    "count of coauthors": lambda w, a: [len(coauthors(w, a))],
    "most distinct": lambda w, a: w.names(
        top(w.count(w.go(a, "<mentions"), "<authored member_of>"))
    ),
    "superlative of all": lambda w, _: [
        [w.get(i), len(w.go(i, "<treats"))]
        for i in top({i: len(w.go(i, "<treats")) for i in w.of("Disease")})
    ],
    "count of all": lambda w, _: [len(w.like(w.of("Trial"), phase=3, status="terminated"))],
    "absence": lambda w, a: {i for i in w.go(a, "<inhibits") if not w.go(i, "<tests")},
    "difference": lambda w, a, b: w.go(a, "<treats") - w.go(b, "<treats"),
    "group by": lambda w, a: [
        [year, years[year]]
        for years in [Counter(w.get(i, "year") for i in w.go(a, "<mentions"))]
        for year in top(years)
    ],
    "mean": lambda w, a: [round(fmean(sure(w, i, "inhibits", a) for i in w.go(a, "<inhibits")), 3)],
    "edges within a set": lambda w, a: {
        i for i in w.go(a, "<member_of") if coauthors(w, i) & w.go(a, "<member_of")
    },
    "edge condition": lambda w, a: {
        i for i in w.go(a, "<treats") if sure(w, i, "treats", a) >= 0.9
    },
    "cycle": lambda w, a: w.go(a, "<sponsored_by") & w.go(a, "located_in> <conducted_in"),
    "top three of all": lambda w, a: w.names(
        top({i: len(w.go(i, "<cites")) for i in w.of("Paper") if w.get(i, "year") == int(a)}, 3)
    ),
    "share": lambda w, a: [
        round(100 * fmean(w.get(i, "status") == "completed" for i in w.go(a, "<tests")))
    ],
    "distance": lambda w, a, b: [2][b in w.go(a, "authored> <authored " * 2) :],
    "three seeds": lambda w, *some: set.intersection(*(w.go(i, "<mentions") for i in some)),
    "distinct at the end": lambda w, a: [len(w.go(a, "<inhibits <tests conducted_in>"))],
    "none of": lambda w, a, b: (
        w.go(a, "<located_in") - w.go(b, "<mentions <authored member_of>") - {*w.of("Company")}
    ),
    "absence of all": lambda w, _: [sum(not w.go(i, "treats>") for i in w.of("Compound"))],
    "latest of each": lambda w, a: [
        [w.get(i), max(w.get(t, "year") for t in w.go(i, "<tests"))]
        for i in w.go(a, "<inhibits")
        if w.go(i, "<tests")
    ],
    "condition on a hub": lambda w, a, b: [
        len(w.like(w.go(a, "<mentions") & w.go(a, "<treats <mentions"), year=int(b)))
    ],
}
"""The right answers, by kind of question: nodes, whose names are asked for, or the rows."""


def _measures(answer: Answer) -> list[Any]:
    return [[node["metadata"]["name"], node["measure"]] for node in answer["nodes"]]


READERS: dict[str, Callable[[Any], Iterable[Any]]] = {
    "names": lambda answer: [node["metadata"]["name"] for node in answer["nodes"]],
    "ids": lambda answer: [node["id"] for node in answer["nodes"]],
    "count": lambda answer: [answer.get("shown_count", answer.get("node_count"))],
    "measures": _measures,
    "first": lambda answer: [one for one, n in _measures(answer) if n == _measures(answer)[0][1]],
    "no": lambda answer: ["yes" if answer["shown_count"] else "no"],
    "share": lambda answer: [round(answer["nodes"][0]["measure"][-1])],
    "confidence": lambda answer: [edge["metadata"]["confidence"] for edge in answer["edges"]],
    "mean": lambda answer: [round(one["mean"], 3) for one in answer["facets"].values()],
    "most common": lambda answer: [one["values"][0][:2] for one in answer["facets"].values()],
    "between": lambda answer: [int(re.findall(r"\d+", answer["notes"][-1])[0]) // 2 - 1],
    "schema": lambda answer: [
        list(found)
        for one in answer["relations"]
        for found in re.findall(r"^Trial -(\w+)-> (\w+)", one)
    ],
}
"""What a client reads in an answer, by name."""


def _plan(arguments: Mapping[str, Any], read: Callable[[Any], Iterable[Any]]) -> Plan:
    async def plan(ask: SixTools) -> Iterable[Row]:
        tool, asked = "bfs_query" if arguments else "describe_schema", dict(arguments)
        if "query" in asked:  # a misspelt name
            text = asked.pop("query")
            [hit, *_] = await ask.call("search_entities", query=text, node_types=["Person"])
            asked["seeds"] = [hit["id"]]
        rows = read(await ask.call(tool, **asked))
        return [tuple(row) if isinstance(row, list) else (row,) for row in rows]

    return plan
