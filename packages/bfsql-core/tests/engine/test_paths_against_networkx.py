"""Complete path answers compared with networkx: hubs, loops, parallels, removal, order, pages."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql import CachedGraphDb, Graph, Limits, MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord, Triple
from bfsql_test_support import graph_strategies, tool_calls
from bfsql_test_support.backends.columns import ColumnsOverMemory
from bfsql_test_support.oracles import walking
from bfsql_test_support.oracles.state_graph import Layered

WHERE = (
    *("year>=2", "Drug.year<3", "Gene.year!=2", "1.year>1", "2.Disease.year<=2", "0.year>0"),
    *("causes.weight>1", "1.TREATS.weight<3", "2.causes.weight!=2"),
)
SHOWS = ("all", "ends", 0, 1, 2)
ORDERS = ("year", "-year", "paths", "-paths", "degree", "-degree", "distinct", "-distinct")


@dataclass(frozen=True)
class Drawn:
    """A graph in which most nodes and edges have a number."""

    types: dict[str, str]
    years: dict[str, int | None]
    mentions: dict[str, int | None]
    weights: dict[Triple, int | None]

    @property
    def records(self) -> list[NodeRecord | EdgeRecord]:
        nodes = [
            NodeRecord(i, kind, _known(year=self.years[i], total_mentions=self.mentions[i]))
            for i, kind in self.types.items()
        ]
        return [*nodes, *(EdgeRecord(*t, _known(weight=w)) for t, w in self.weights.items())]


def _known(**value: int | None) -> dict[str, Any]:
    return {key: v for key, v in value.items() if v is not None}


@st.composite
def graphs(draw: st.DrawFn) -> Drawn:
    """A hub with parallel and opposite edges and loops, and some other edges."""
    ids = graph_strategies.PLAIN[: draw(st.integers(2, 9), label="nodes")]
    ends, predicates = st.sampled_from(ids), st.sampled_from(graph_strategies.PREDICATES)
    number = st.none() | st.integers(1, 3)
    spokes = st.frozensets(st.tuples(st.booleans(), predicates, ends), max_size=20)
    triples = {
        (ids[0], p, end) if leaves else (end, p, ids[0])
        for leaves, p, end in draw(spokes, label="spokes")
    }
    triples |= draw(st.frozensets(st.tuples(ends, predicates, ends), max_size=10), label="others")
    types = {i: draw(st.sampled_from(graph_strategies.TYPES)) for i in ids}
    types |= {
        f"apart:{name}": name for name in graph_strategies.TYPES
    }  # so that every name is in use
    one, other, *_ = graph_strategies.TYPES
    triples |= {(f"apart:{one}", name, f"apart:{other}") for name in graph_strategies.PREDICATES}
    return Drawn(
        types,
        {i: draw(number) for i in types},
        {i: draw(number) for i in types},
        {triple: draw(number) for triple in sorted(triples)},
    )


def meets(value: int | None, text: str) -> bool:
    """Whether a number meets the final part of a condition, such as `>=2`."""
    operator, wanted = text[:-1], int(text[-1])
    return (
        value is not None
        and {
            ">": value > wanted,
            ">=": value >= wanted,
            "<": value < wanted,
            "<=": value <= wanted,
            "!=": value != wanted,
        }[operator]
    )


@dataclass(frozen=True)
class Where:
    """A condition of `WHERE`, parsed as simply as possible."""

    step: int | None
    scope: str | None
    key: str
    rest: str

    @classmethod
    def of(cls, text: str) -> "Where":
        key = "year" if "year" in text else "weight"
        front, rest = text.split(key)
        parts = [part for part in front.split(".") if part]
        step = int(parts.pop(0)) if parts and parts[0].isdigit() else None
        return cls(step, parts[0] if parts else None, key, rest)


def walks_of(graph, steps, seeds, *, to, shown, filters):
    """The walks that a call requests (`protocol.md` 30 to 32)."""
    conditions = [Where.of(text) for text in filters.get("where", ())]
    on_nodes = [one for one in conditions if one.key == "year"]

    def stays(node: str, step: int, *, named: bool) -> bool:
        for one in on_nodes:
            at = one.step if one.step is not None or one.scope else shown
            applies = at == step or (at is None and not named)
            applies = applies and one.scope in (None, graph.types[node])
            if applies and not meets(graph.years[node], one.rest):
                return False
        return True

    def comes_to(node: str, step: int) -> bool:
        if graph.types[node] in filters.get("exclude_node_types", ()):
            return False
        mentions = graph.mentions[node]
        if mentions is not None and mentions < filters.get("min_mentions", 1):
            return False
        return stays(node, step, named=False)

    def takes(edge: Triple, step: int) -> bool:
        judged = [c for c in conditions if c.key == "weight" and c.scope == edge[1]]
        return all(
            one.step not in (None, step) or meets(graph.weights[edge], one.rest) for one in judged
        )

    return Layered(
        graph.types,
        graph.weights,
        [seed for seed in seeds if stays(seed, 0, named=True)],
        steps,
        to=to,
        comes_to=comes_to,
        ends_at=lambda node: stays(node, len(steps), named=True),
        takes=takes,
    )


def in_order(graph, walks, shown, counted, sort_by):
    """The shown nodes in the order of `sort_by`: missing values last, ties by id."""
    every, edges = sorted(walks.exits(shown)), walks.on()[1]
    if sort_by is None:
        return every
    degree = Counter(end for s, _, o in edges for end in {s, o})
    values: dict[str, dict[str, Any]] = {
        "year": graph.years,
        "paths": walks.paths(shown),
        "degree": degree,
        "distinct": {} if counted is None else walks.distinct(shown, counted),
    }
    value = values[sort_by.lstrip("-")]
    sign = -1 if sort_by.startswith("-") else 1
    return sorted(every, key=lambda i: (value[i] is None, sign * (value[i] or 0), i))


FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "where": st.lists(st.sampled_from(WHERE), min_size=1, max_size=2, unique=True),
        "exclude_node_types": st.lists(
            st.sampled_from(graph_strategies.TYPES), min_size=1, max_size=1
        ),
        "min_mentions": st.integers(2, 3),
    },
)


@settings(max_examples=40)
@given(graph=graphs(), steps=walking.steps(), filters=FILTERS, data=st.data())
async def test_every_page_is_what_networkx_finds(graph, steps, filters, data):
    ids = [i for i in graph.types if not i.startswith("apart")]
    some = st.lists(st.sampled_from(ids), min_size=1, max_size=3, unique=True)
    seeds, to = data.draw(some, label="seeds"), data.draw(st.none() | some, label="to")
    show = data.draw(st.sampled_from([s for s in SHOWS if s in SHOWS[:2] or s <= len(steps)]))
    shown = show if isinstance(show, int) else len(steps)
    counted = data.draw(st.none() | st.integers(0, len(steps)), label="count_distinct")
    orders = ORDERS if counted is not None else ORDERS[:-2]
    sort_by = data.draw(st.none() | st.sampled_from(orders), label="sort_by")
    limit = data.draw(st.integers(1, 5), label="limit")
    # A condition on a step that the path does not have is an error.
    if "where" in filters and len(steps) < 2:
        filters = filters | {"where": [w for w in filters["where"] if not w.startswith("2.")]}
    call = {"seeds": seeds, **walking.arguments(steps), **filters, "show": str(show)}
    more = {"to": to, "count_distinct": counted, "sort_by": sort_by}
    call |= {key: value for key, value in more.items() if value is not None}

    walks = walks_of(graph, steps, seeds, to=to, shown=shown, filters=filters)
    every, (nodes, edges) = in_order(graph, walks, shown, counted, sort_by), walks.on()
    paths, exits = walks.paths(shown), walks.exits(shown)
    distinct = {} if counted is None else walks.distinct(shown, counted)
    for backend in (CachedGraphDb(MemoryBackend(graph.records)), ColumnsOverMemory(graph.records)):
        served, offset = Graph(backend, "", Limits(max_tokens=0), None), 0
        while True:
            page = every[offset : offset + limit]
            on_page = (
                walks.through([s for node in page for s in exits[node]]) if page else ["source"]
            )
            others, lines = walks.on(on_page) if show == "all" else (set(), set())
            answer = await tool_calls.read(
                served, "bfs_query", **call, limit=limit, offset=offset, topology_only=True
            )
            assert [n["id"] for n in answer["nodes"]] == [*page, *sorted(others - set(page))]
            assert [(e["subject"], e["predicate"], e["object"]) for e in answer["edges"]] == sorted(
                lines
            )
            numbers = [(n.get("paths"), n.get("distinct")) for n in answer["nodes"]]
            assert numbers[: len(page)] == [(paths[i], distinct.get(i)) for i in page]
            assert set(numbers[len(page) :]) <= {(None, None)}
            assert answer["shown_count"] == len(every)
            assert (answer["node_count"], answer["edge_count"]) == (len(nodes), len(edges))
            counts = Counter(graph.types[i] for i in nodes)
            assert answer["schema_summary"]["node_counts"] == counts
            offset += limit
            assert tool_calls.continuation(answer).get("offset", offset) == offset
            if offset >= len(every):
                assert not tool_calls.continuation(answer)
                break
            assert tool_calls.continuation(answer)
