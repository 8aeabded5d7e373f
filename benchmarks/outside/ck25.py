"""CK25: the products, suppliers and staff of a company in RDF, and questions with their SPARQL.

The right answers come from the reference queries, which pyoxigraph runs in this process. The plans
are by hand, one for each question of the part of the data set that is known here; the ids in them
are those of the Turtle file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from graphs import records_of

from bfsql.models import GraphRecord
from bfsql_test_support.questions.kinds.kind import Form
from bfsql_test_support.questions.scores import Row
from bfsql_test_support.questions.toolsets import SixTools
from outside.gold import Gold, OutsideQuestion, Plan, QuestionForm, no_plan

GRAPH = "prod-inst.ttl"
Reader: TypeAlias = Callable[[Mapping[str, Any]], Iterable[Row]]
"""Turns an answer of `bfs_query` into rows; ids stay as they are."""
_PREFIX = re.compile(r"^@prefix\s+([\w.-]*):\s+<([^>]*)>", re.MULTILINE)
_WINDOW = re.compile(
    r"ORDER\s+BY\s+(?:ASC|DESC)?\(?\s*(\?\w+)\s*\)?\s+LIMIT\s+(\d+)(?:\s+OFFSET\s+(\d+))?\s*$"
)


# --- readers ------------------------------------------------------------------


def ids(answer: Mapping[str, Any]) -> list[Row]:
    """The shown nodes."""
    return [(node["id"],) for node in answer["nodes"]]


def total(answer: Mapping[str, Any]) -> list[Row]:
    """The number of shown nodes."""
    return [(answer.get("shown_count", answer["node_count"]),)]


def values(*keys: str) -> Reader:
    """These fields of the shown nodes: `id`, the text of one of several measures, or a property."""

    def read(answer: Mapping[str, Any]) -> Iterator[Row]:
        for node in answer["nodes"]:
            measures = dict(zip(answer.get("measure", ()), node.get("measure", ()), strict=True))
            known = {"id": node["id"], **node.get("metadata", {}), **measures}
            yield tuple(known.get(key) for key in keys)

    return read


def walks(answer: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """The nodes of each walk."""
    nodes = {node["id"]: node for node in answer["nodes"]}
    return [[nodes[node] for node in walk["nodes"]] for walk in answer["walks"]]


def _property(node: Mapping[str, Any], key: str) -> Any:
    return node.get("metadata", {}).get(key)


def _department_of_karen(answer: Mapping[str, Any]) -> list[Row]:
    return [
        (edge["object"],)
        for edge in answer["edges"]
        if edge["subject"].startswith("prodi:empl-Karen")
    ]


def _suppliers_and_prices(answer: Mapping[str, Any]) -> list[Row]:
    return [
        (
            _property(supplier, "pv:name"),
            _property(supplier, "pv:addressCountry"),
            _property(price, "pv:amount"),
        )
        for supplier, _, price in walks(answer)
    ]


def _pairs(answer: Mapping[str, Any]) -> list[Row]:
    pairs = ((first["id"], second["id"]) for first, second, _ in walks(answer))
    return [pair for pair in pairs if pair[0] < pair[1]]


def _price_differences(answer: Mapping[str, Any]) -> list[Row]:
    computed = [walk["values"]["difference"] for walk in answer["walks"]]
    return [
        (one["id"], other["id"], difference)
        for (_, one, other, _), difference in zip(walks(answer), computed, strict=True)
    ]


# --- plans ----------------------------------------------------------------------


@dataclass(frozen=True)
class HandPlan:
    """A call of `bfs_query`, and how its answer is read.

    Attributes:
        arguments: The arguments of the call.
        read: Reads the rows of the answer.
    """

    arguments: dict[str, Any]
    read: Reader = ids


_SUPPLIER = "-pv:hasSupplier-> pv:Supplier[pv:addressCountry"
_PRICE = "-pv:price-> pv:Price"
PLANS: dict[int, HandPlan] = {
    1: HandPlan(
        {"seeds": ["pv:Employee[name~Brant]"], "path": ["-pv:memberOf-> pv:Department"]},
        _department_of_karen,  # who is "Ms. Brant" is told by the first name
    ),
    3: HandPlan({"seeds": ["Heinrich Hoch"], "path": ["-pv:hasManager->"], "show": "ends"}),
    5: HandPlan({"seeds": ["Transistor"], "path": ["<-pv:areaOfExpertise-"], "show": "ends"}),
    7: HandPlan(
        {"seeds": ["Data Services"], "path": ["<-pv:memberOf-", "-pv:hasManager->"], "show": "ends"}
    ),
    9: HandPlan(
        {"seeds": ["pv:Hardware[-pv:hasCategory-> Sensor][-pv:hasCategory-> Switch]"], "limit": 0},
        total,
    ),
    11: HandPlan(
        {
            "seeds": ["Transducer"],
            "path": ["<-pv:areaOfExpertise-", "-pv:memberOf->"],
            "show": "ends",
        }
    ),
    13: HandPlan(
        {"seeds": ["pv:Supplier[pv:addressCountry=France][<-pv:hasSupplier- *]"], "limit": 0}, total
    ),
    15: HandPlan(
        {
            "seeds": [f"pv:Hardware[-pv:hasCategory-> Encoder][{_SUPPLIER}=France|Germany]]"],
            "path": [_PRICE],
            "show": "0",
            "measure": ["min 1.pv:amount"],
            "sort_by": "measure",
            "limit": 1,
        }
    ),
    17: HandPlan({"seeds": ["pv:Supplier[pv:addressLocality=Toulouse][<-pv:hasSupplier- *]"]}),
    19: HandPlan(
        {
            "seeds": ["pv:Service:*"],
            "path": [_PRICE],
            "show": "0",
            "measure": ["max 1.pv:amount"],
            "sort_by": "-measure",
            "limit": 1,
        }
    ),
    21: HandPlan(
        {
            "seeds": ["pv:Hardware[-pv:hasCategory-> Coil][pv:width_mm<=15][pv:depth_mm<=15]"],
            "sort_by": "-pv:weight_g",
            "limit": 1,
        }
    ),
    23: HandPlan(
        {
            "seeds": ["pv:Hardware[name~U990]"],
            "path": [f"-pv:compatibleProduct-> *[{_SUPPLIER}=United States]]"],
            "show": "ends",
        }
    ),
    25: HandPlan(
        {
            "seeds": ["pv:Hardware[-pv:hasCategory-> Coil]"],
            "fields": ["density = pv:weight_g / (pv:width_mm * pv:depth_mm * pv:height_mm)"],
            "sort_by": "-density",
            "limit": 1,
        }
    ),
    27: HandPlan(
        {
            "seeds": ["pv:Employee|pv:Manager[no <-pv:hasManager- *]"],
            "fields": ["pv:name", "pv:email", "pv:phone"],
            "sort_by": "pv:name",
        },
        values("id", "pv:name", "pv:email", "pv:phone"),
    ),
    29: HandPlan(  # the reference query leaves out ten rows, where the question leaves out five
        {
            "seeds": ["pv:Supplier:*"],
            "path": ["<-pv:hasSupplier- pv:Hardware", f"{_PRICE}[pv:currency=EUR]"],
            "show": "walks",
            "sort_by": "-2.pv:amount",
            "fields": ["pv:name", "pv:addressCountry", "pv:amount"],
            "offset": 10,
            "limit": 5,
        },
        _suppliers_and_prices,
    ),
    31: HandPlan(
        {
            "seeds": ["pv:ProductCategory:*"],
            "path": ["<-pv:hasCategory- pv:Hardware"],
            "show": "0",
            "measure": ["min 1.pv:weight_g", "max 1.pv:weight_g"],
            "fields": ["pv:name"],
        },
        values("pv:name", "min 1.pv:weight_g", "max 1.pv:weight_g"),
    ),
    33: HandPlan(
        {"seeds": ["pv:Department[no <-pv:memberOf- pv:Manager]"], "limit": 0},
        lambda answer: [(answer["node_count"] > 0,)],
    ),
    35: HandPlan(
        {
            "seeds": ["pv:Price[pv:currency=EUR]"],
            "path": [
                "<-pv:price- pv:Hardware|pv:Service",
                "-pv:compatibleProduct->",
                f"{_PRICE}[pv:currency=EUR]",
            ],
            "show": "walks",
            "fields": ["difference = 0.pv:amount - 3.pv:amount"],
            "limit": 5000,
            "max_tokens": 0,
        },
        _price_differences,
    ),
    37: HandPlan(
        {
            "seeds": ["pv:BillOfMaterial:*"],
            "path": ["-pv:hasBomPart-> pv:BomPart"],
            "show": "0",
            "measure": ["count 1", "total = sum 1.pv:quantity"],
            "where": ["total > 600"],
            "sort_by": "-total",
            "topology_only": True,
        },
        values("id", "count 1", "total"),
    ),
    39: HandPlan(
        {
            "seeds": ["pv:Hardware[pv:depth_mm<50][pv:width_mm > .pv:height_mm]"],
            "fields": ["pv:width_mm", "pv:height_mm", "pv:depth_mm"],
            "limit": 5000,
            "max_tokens": 0,
        },
        values("id", "pv:width_mm", "pv:height_mm", "pv:depth_mm"),
    ),
    41: HandPlan(
        {
            "seeds": ["pv:Department:*"],
            "path": ["<-pv:memberOf- pv:Manager", "<-pv:hasManager-", "-pv:memberOf->"],
            "show": "1",
            "measure": ["team = count 2", "own = count 2[3 = 0]", "share = own / team * 100"],
            "fields": ["pv:name"],
        },
        values("id", "pv:name", "share"),
    ),
    43: HandPlan(
        {
            "seeds": ["pv:Hardware|pv:Service:*"],
            "path": ["-pv:compatibleProduct->", "-pv:compatibleProduct->"],
            "where": ["2 = 0"],
            "show": "walks",
            "topology_only": True,
            "limit": 5000,
            "max_tokens": 0,
        },
        _pairs,  # each pair comes twice, once from either end
    ),
    45: HandPlan(
        {
            "seeds": ["pv:Supplier:*"],
            "path": ["<-pv:hasSupplier- pv:Hardware[-pv:hasCategory-> Inductor]"],
            "show": "0",
            "measure": ["max 1.pv:reliabilityIndex"],
            "sort_by": "-measure",
            "limit": 1,
        }
    ),
    47: HandPlan(
        {
            "seeds": ["SkySync MechWave"],
            "path": ["-pv:hasBomPart->", "-pv:hasPart->", "-pv:hasSupplier->", "-pv:country->"],
            "show": "ends",
            "topology_only": True,
        }
    ),
    49: HandPlan(
        {
            "seeds": ["pv:Hardware[name~K367]"],
            "path": ["-pv:compatibleProduct->", "-pv:hasSupplier->"],
            "limit": 0,
        },
        total,
    ),
}
"""The plans by the id of the question."""


# --- the data set -----------------------------------------------------------------


@dataclass(frozen=True)
class CK25:
    """The data set in a folder.

    Args:
        folder: The folder with the Turtle file of the graph and the questions as JSON.
    """

    folder: Path
    name = "ck25"
    description = "The products, suppliers, staff and bills of material of a company."

    def records(self) -> Iterator[GraphRecord]:
        """The graph as our own loaders read the Turtle file."""
        yield from records_of([self.folder / GRAPH])

    def questions(self, every: int = 1) -> list[OutsideQuestion]:
        """One of this many questions of the folder, those without a plan included."""
        text = (self.folder / "questions.json").read_text("utf-8")
        return [self._question(given) for given in json.loads(text)[::every]]

    @cached_property
    def prefixes(self) -> dict[str, str]:
        """The prefixes of the Turtle file that it uses."""
        text = (self.folder / GRAPH).read_text("utf-8")
        used = set(re.findall(r"(?<=[\s^])([\w.-]*):(?!\s)", _PREFIX.sub("", text)))
        return {prefix: iri for prefix, iri in _PREFIX.findall(text) if prefix in used}

    @cached_property
    def _store(self) -> Any:
        import pyoxigraph

        store = pyoxigraph.Store()
        store.load(path=self.folder / GRAPH, format=pyoxigraph.RdfFormat.TURTLE)
        return store

    def ntriples(self) -> bytes:
        """The graph in N-Triples."""
        import pyoxigraph

        written = pyoxigraph.serialize(
            (quad.triple for quad in self._store), format=pyoxigraph.RdfFormat.N_TRIPLES
        )
        assert written is not None
        return bytes(written)

    def _question(self, given: Mapping[str, Any]) -> OutsideQuestion:
        query = str(given["sparql"]).replace("xsd:int(", "xsd:integer(")
        by_hand = PLANS.get(int(given["id"]))
        kind = _kind(query)
        nobody = "nobody has written a plan for this question"
        plan = no_plan(nobody) if by_hand is None else _plan(by_hand)
        try:
            gold = self.gold(query)
        except (SyntaxError, ValueError, OSError) as error:
            gold, plan = Gold([]), no_plan(f"its query does not run: {error}")
        about = (str(given["id"]), kind, given["question"])
        return OutsideQuestion(*about, gold, plan, query, self._iri)

    def gold(self, query: str) -> Gold:
        """The right answer: the rows of the query, with the ties of its LIMIT."""
        window = _WINDOW.search(query)
        if window is None:
            return Gold(self._rows(query))
        key, limit, offset = window[1], int(window[2]), int(window[3] or 0)
        text = query[: window.start()] + window[0].partition("LIMIT")[0]
        rows = self._rows(re.sub(r"\s(WHERE\s*)?\{", rf" ({key} AS ?order) \g<0>", text, count=1))
        return windowed(rows, offset, offset + limit)

    def _rows(self, query: str) -> list[Row]:
        found = self._store.query(query)
        if not hasattr(found, "variables"):
            return [(bool(found),)]
        return [tuple(None if term is None else term.value for term in row) for row in found]

    def _iri(self, value: Any) -> Any:
        """The IRI of an id of the form prefix:name; another value as it is."""
        prefix, colon, name = value.partition(":") if isinstance(value, str) else ("", "", "")
        return self.prefixes[prefix] + name if colon and prefix in self.prefixes else value


def windowed(rows: Sequence[Row], start: int, end: int) -> Gold:
    """The rows of a window in an order, with the ties at its ends.

    Args:
        rows: All rows in their order, each with the value that it is ordered by as the last one.
        start: The place of the first row.
        end: The place after the last one.
    """
    inside: list[Row] = []
    ties: list[tuple[int, Sequence[Row]]] = []
    place = 0
    for _, group in groupby(rows, key=lambda row: row[-1]):
        equal = [row[:-1] for row in group]
        first, place = place, place + len(equal)
        count = min(place, end) - max(first, start)
        if count == len(equal):
            inside += equal
        elif count > 0:
            ties.append((count, equal))
    return Gold(inside, ties)


def _plan(by_hand: HandPlan) -> Plan:
    async def plan(ask: SixTools) -> Iterable[Row]:
        return by_hand.read(await ask.call("bfs_query", **by_hand.arguments))

    return plan


def _kind(query: str) -> QuestionForm:
    name = "rows"
    if re.search(r"^\s*ASK\b", query, re.MULTILINE):
        return QuestionForm(name, Form.YES_OR_NO)
    if re.search(r"SELECT\s+(DISTINCT\s+)?\(COUNT", query):
        return QuestionForm(name, Form.NUMBER)
    return QuestionForm(name, Form.NAMES, "here of ids or values; a row of several is a list")
