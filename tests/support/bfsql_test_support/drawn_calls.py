"""Calls of the six tools, drawn for a drawn graph: all arguments, right ones and some wrong ones.

A call is made from the number of its graph and its own, each argument from a source of its own: a
new argument, or another way to draw one, leaves the others as they are.
"""

import json
import random
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, TypeAlias

from bfsql_test_support.drawn_graphs import NAMES, DrawnGraph, Metadata

Call: TypeAlias = tuple[str, dict[str, Any]]
"""The name of a tool, and raw arguments."""

_TEXTS = {
    "entity": "15*{id} / 2*{hub} / 4*{name} / {bare_name} / {type}: {name} / {misspelt} / "
    "{nothing}",
    "nothing": "no such / null / gone:1 / Gone three / {type} / http://x.org/n0",
    "types": "3*{type} / {type}|{type} / *",
    "pattern": "{types}:* / 2*{types}{brackets}",
    "brackets": "6*[{inside}] / [{inside}][{inside}]",
    "inside": "6*{own}{compared} / 4*{any}{compared} / 2*{relation} / {any}{key} > .{key} / "
    "{any}{key} > {key} / {expression} {operator} {few}",
    "expression": "{any}{key} * 2 / {any}{key} + {any}{key} / {any}{key} - {any}{key} / "
    "round({any}{key} / 3) / abs({any}{key}) / year({any}{key})",
    "compared": "6*{key}{operator}{value} / {key} {operator} {value}|{value} / {key} / no {key}",
    "relation": "no {step} / no {step} {step} / {step} / {step} {step} / {step} {operator} {few} / "
    "{step} >= {few}",
    "predicates": "7*{near} / {near}|{predicate} / {predicate} / {near}[{any_edge}{compared}]",
    "times": "12* / {{1,2}} / {{2,2}} / {{1,3}}",
    "out": "6*-{predicates}->{times} / -{predicates}-{times} / -- / -->",
    "in": "6*<-{predicates}-{times} / -{predicates}-{times} / <-- / --{{1,2}}",
    "end": "4* / 4*{near_type} / 2*{near_type}{brackets} / {entity} / {near_type}|{type} / *",
    "where": "5*{any}{key}{operator}{value} / 3*{owner}.{key}{operator}{value} / {owner}.{key} / "
    "2*{edge_owner}.{key}{operator}{value} / no {edge_owner}.{key} / 2*{relation} / "
    "{type} {step} {operator} {few} / no {type} {step} / {expression} {operator} {few}",
    "path where": "3*{where} / {n}.{any}{key}{operator}{value} / {n} != {n} / {n} = {n} / "
    "{n}.{edge_owner}.{key}{operator}{value} / {n} {step} >= {few} / no {n} {step} / "
    "{n}.{any}{key} - {n}.{any}{key} > 0 / {n}.{edge_owner}.{key} * {n}.{any}{key} >= 1 / y > 1",
    "facet": "{expression} / 3*{any}{key} / {owner}.{key} / {edge_owner}.{key} / {any}{key}:{few}",
    "path facet": "2*{facet} / {n}.{any}{key} / {n}.{edge_owner}.{key}",
    "measure": "3*count {n} / distinct {n} / {function} {n}.{edge_owner}.{key} / "
    "3*{function} {n}.{any}{key} / y = count {n} / "
    "sum {n}.{any}{key} * 2 / max {n}.{any}{key} - {n}.{any}{key} / z = y * 2 / "
    "sum {n}.{edge_owner}.{key} * {n}.{any}{key} / count {n}[{any}{key}{operator}{few}]",
    "order": "-({expression}) / 2*{any}{key} / 2*-{any}{key} / degree / -degree / name",
    "path order": "7*{order} / -paths / paths / -measure / measure / -{n}.{any}{key}",
    "field": "6*{any}{key} / 2*{any_edge}{key} / x = {expression}",
}
"""Ways to write a text, some of them more often; `{name}` is another text, or a method."""
_WEIGHT = re.compile(r"(?:(\d+)\*)?(.*)")
TEXTS = {
    name: [
        text
        for way in ways.split(" / ")
        for n, text in _WEIGHT.findall(way)[:1]
        for _ in range(int(n or 1))
    ]
    for name, ways in _TEXTS.items()
}

FILTERS: dict[str, tuple[float, str | tuple[Any, ...]]] = {
    "node_types": (0.08, "type"), "predicates": (0.08, "predicate"),
    "topology_only": (0.15, (True, True, True, False)), "exclude_node_types": (0.1, "type"),
    "min_mentions": (0.08, (1, 2, 3, 5)), "where": (0.3, "where"), "fields": (0.25, "field"),
    "facets": (0.18, "facet"), "sort_by": (0.2, "order"), "order_by": (0.03, "order"),
    "max_tokens": (0.15, (0, 500, 600, 900, 2000, 30_000)),
}  # fmt: skip
"""Arguments of both traversals: how often they occur; the name of a text, or values."""
PAGES = FILTERS | {"limit": (0.3, (0, 1, 2, 3, 5, 10, 50)), "offset": (0.15, (0, 1, 2, 4, 30))}
OF_PATHS = PAGES | {
    "show": (0.5, ("all", "ends", "ends", "walks", "walks", 0, 1)), "measure": (0.4, "measure"),
    "count_distinct": (0.04, (0, 1)), "to": (0.12, "entity"),
    "where": (0.2, "path where"), "facets": (0.18, "path facet"), "sort_by": (0.25, "path order"),
}  # fmt: skip
PIECES = re.compile(r"\{.*?\}|\[[^\[\]]*\]|<?-+>?|\w+|\W", re.DOTALL)
"""The parts of a text that are changed one at a time."""
CHANGES: dict[str, dict[str, str | tuple[Any, ...]]] = {
    "bfs_query": dict.fromkeys(("path", "along"), "step")
    | {"seeds": "entity", "max_hops": (0, 1, 2, 3, 5)}
    | {name: values for name, (_, values) in OF_PATHS.items()},
    "intersect_subgraphs": {"seeds": "entity", "k": (1, 2, 3, 5), "connect": (True, False)}
    | {name: values for name, (_, values) in FILTERS.items()},
    "search_entities": {"query": "entity", "node_types": "type"},
    "describe_schema": {"seeds": "entity"},
    "describe_entity": {"id": "entity"},
    "describe_entities": {"ids": "entity"},
}
"""What each argument of a tool may be changed to: the name of a text, or values."""
QUESTION = ("seeds", "path", "along", "to", "max_hops", "k", "query", "id", "ids")
"""The arguments that say what is asked; others filter, order, count and show it."""
WRONG: dict[str, Any] = {
    "depth": 2, "limit": -1, "max_hops": 9, "max_tokens": 20, "k": 0, "show": "some", "query": " ",
    "where": ["year"], "sort_by": "7.year", "measure": ["median 1"], "facets": ["9.year"],
    "path": ["-nowhere-> Drug", "--->"], "along": ["-treats->{1,2}"], "to": ["no such"],
    "count_distinct": 9, "seeds": ["no such thing"], "ids": [], "id": "no such",
    "node_types": [f"kind {number}" for number in range(7)],
}  # fmt: skip
NEVER = (None, "", [], {}, -1, 2.5, True, "x" * 20_000, [None, 1], [" "])
"""Values of no argument, or of few."""
OPERATORS = ("=", "=", "!=", "<", "<=", ">", ">=", "~", "==", "<>")
KINDS = ("hops", "hops", "set", "path", "path", "path", "path", "to", "along", "chain")
TOOLS = (
    *(*("bfs_query", "bfs_query", "bfs_query", "intersect_subgraphs") * 4, *["bfs_query"] * 4),
    *("search_entities", "search_entities", "describe_schema", "describe_schema"),
    *("describe_entity", "describe_entities"),
)
SPOILT, RESPELT = 0.05, 0.11
"""Up to these shares, calls have something wrong, or an argument in an unusual spelling."""


def bare(text: str) -> str:
    """The text without accents."""
    return unicodedata.normalize("NFD", text).encode("ascii", "ignore").decode()


class CallSource:
    """Draws the arguments of one call.

    Args:
        number: The number of the call, or what is drawn instead.
    """

    def __init__(self, graph: DrawnGraph, number: int | str) -> None:
        self.graph, self._key = graph, f"{graph.number}/{number}"
        self.ids, self.names = [*graph.nodes] or ["n:0"], graph.names or list(NAMES)
        self.steps, self._known = 0, {"near": "", "near_type": "", "key": "", "value": ""}
        self.at = ""
        self.of("call")

    def of(self, purpose: str) -> None:
        """Draw what follows from the source of a purpose."""
        self.draw = random.Random(f"{self._key}/{purpose}")
        self.pick = self.draw.choice

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def text(self, name: str) -> str:
        """A text of a name."""
        return self.pick(TEXTS[name]).format_map(self)

    def some(self, name: str, most: int = 3) -> list[str]:
        """One or several texts, mostly one."""
        most = 7 if "where" in name and self.chance(0.1) else most
        return [self[name] for _ in range(self.pick((1, 1, self.draw.randint(1, most))))]

    def __getitem__(self, name: str) -> str:
        """What stands for `{name}` in a text."""
        if name in ("near", "near_type", "key"):
            return self._known[name]
        return self.text(name) if name in TEXTS else str(getattr(self, f"_{name}")())

    # fmt: off
    _id = lambda self: self.pick(self.ids)
    _hub = lambda self: self.graph.hub
    _name = lambda self: self.pick(self.names)
    _bare_name = lambda self: bare(min(self.names, key=len))
    _type = lambda self: self._spelt(self.pick(self.graph.types or ["Drug"]))
    _predicate = lambda self: self._spelt(self.pick(self.graph.predicates or ["treats"]))
    _operator = lambda self: self.pick(OPERATORS)
    _function = lambda self: self.pick(
        ("min", "max", "sum", "mean", "avg", "median", "argmax", "argmin", "top 2")
    )
    _few = lambda self: self.draw.randint(0, 3)
    _n = lambda self: self.draw.randint(0, self.steps)
    _owner = lambda self: self._property([*self.graph.nodes.values()])
    _edge_owner = lambda self: self._property([(e[1], e[3]) for e in self.graph.edges])
    _own = lambda self: self._property([self.graph.nodes.get(self.at, ("Drug", {}))])[:0]
    _any = lambda self: self._owner()[:0]
    _any_edge = lambda self: self._edge_owner()[:0]
    # fmt: on

    def _spelt(self, name: str) -> str:
        return self.pick((name.upper(), name.lower(), f"{name}x")) if self.chance(0.02) else name

    def _misspelt(self) -> str:
        name = self._name()
        place = self.draw.randrange(len(name))
        shorter = name[:place] + name[place + 1 :]
        return self.pick((shorter, name.upper(), name[:4], f"{name} ", bare(name))) or "x"

    def _property(self, owners: list[tuple[str, Metadata]]) -> str:
        """The type or predicate of a record; its key and values of it are those that follow."""
        owner, metadata = self.pick(owners or [("Drug", {})])
        if not metadata or self.chance(0.04):
            metadata = {self.pick(("nowhere", "yaer", "id", "entity_type", "degree")): 2010}
        key = self.pick(sorted(metadata))
        self._values = [known[key] for _, known in owners if key in known] or [2010]
        self._known["key"] = f'"{key}"' if "." in key else key
        return owner

    def _value(self) -> str:
        """A value of the last key, as conditions write it."""
        value = self.pick(self._values)
        while isinstance(value, list | dict) and value:
            value = self.pick([*value] if isinstance(value, list) else [*value.values()])
        text = value if isinstance(value, str) else json.dumps(value)
        text = text[:20] if self.chance(0.9) else self.pick((text, "1", "2010", "no", '""'))
        return f'"{text}"' if set("[]|{}") & {*text} or not text or self.chance(0.1) else text

    def _step(self, start: str | None = None) -> str:
        """A step that an edge of a node can follow, mostly; the edge's other end is `at`."""
        ends = self.graph.ways.get(start or self._id()) or [("out", self._predicate(), "", {})]
        way, predicate, at, _ = self.pick(ends)
        of = self.graph.nodes.get(at, (self._type(), {}))[0]
        self._known |= {"near": predicate, "near_type": of}
        arrow = self.text(way)
        self._known |= {"near": predicate, "near_type": of}  # those of nested steps are others
        self.at = at
        step = f"{arrow} {self.text('end')}".rstrip()
        self.at = at
        return step

    def arguments(self, table: dict[str, tuple[float, Any]]) -> dict[str, Any]:
        """The arguments of a table that occur, each drawn from its own source."""
        found = {}
        for name, (share, values) in table.items():
            self.of(name)
            if self.chance(share):
                single = name in ("sort_by", "order_by")
                of_text = self.text if single else self.some
                found[name] = of_text(values) if isinstance(values, str) else self.pick(values)
        return found

    # --- the tools --------------------------------------------------------------------

    def bfs_query(self) -> dict[str, Any]:
        """Around entities, a set, a path, connections, or some relations in any order."""
        kind, start, lists = self.pick(KINDS), self._id(), self.graph.form != "eight"
        of = self.graph.nodes.get(start, ("Drug",))[0]
        kind = kind if lists or kind != "set" else "hops"  # which cannot list its entities
        if kind == "set" or self.chance(0.35 if kind in ("path", "along") and lists else 0.02):
            seeds = self.some("pattern", 2)
            if kind == "path" and self.chance(0.6):
                seeds[0] = f"{of}:*"
        else:
            own = self.chance(0.9 if kind == "path" else 0.6)
            seeds = [start, *self.some("entity")[1:]] if own else self.some("entity")
        call: dict[str, Any] = {"seeds": seeds}
        hops: dict[str, tuple[float, Any]] = {
            "hops": (0.8, (1, 2, 2, 3, 5)), "to": (0.8, (2, 3, 5)),
            "along": (0.5, (1, 2, 6, 20)), "chain": (0.5, (2, 6, 20)),
        }  # fmt: skip
        call |= self.arguments({"max_hops": hops[kind]} if kind in hops else {})
        if kind in ("along", "chain"):
            self.of("along")
            call["along"] = [self._step().partition("{")[0] for _ in range(self.pick((1, 1, 2)))]
        if kind in ("to", "chain"):
            self.of("to")
            call["to"] = self.some("pattern" if self.chance(0.15) and lists else "entity", 2)
        if kind != "path":
            return call | self.arguments(PAGES)
        self.of("path")
        self.at = start
        call["path"] = [self._step(self.at) for _ in range(self.pick((1, 1, 2, 2, 3, 4)))]
        self.steps = len(call["path"])
        if self.chance(0.08):
            call["path"][0] = f"{self.pick((of, of, self['type']))} {call['path'][0]}"
        more = self.arguments(OF_PATHS)
        for name in ("measure", "count_distinct") if more.get("show") == "walks" else ():
            more.pop(name, None)  # which have no nodes to count for
        return call | more

    def intersect_subgraphs(self) -> dict[str, Any]:
        start = self._id()
        ends = {end for *_, end, _ in self.graph.ways.get(start, ()) if end in self.graph.nodes}
        seeds = [start, self.pick([*sorted(ends - {start}), self.text("entity")])]
        seeds += [self.text("entity")] if self.chance(0.15) else []
        own = {"k": (0.6, (1, 1, 2, 2, 3, 5)), "connect": (0.35, (True, True, True, False))}
        filters = {name: one for name, one in FILTERS.items() if name != "order_by"}
        return {"seeds": seeds, **self.arguments({**own, **filters})}

    def search_entities(self) -> dict[str, Any]:
        text = self.text("entity") if self.chance(0.6) else self._name()
        word = self.pick(text.split() or [text])
        query = self.pick((text, text.lower(), self._misspelt(), word, word, text[:3])).strip()
        return {"query": query or "x", **self.arguments({"node_types": (0.25, "type")})}

    def describe_entities(self) -> dict[str, Any]:
        many = self.chance(0.1)
        ids = [f"name {n}" for n in range(25)] if many else [self.text("entity")]
        return {"ids": ids + self.draw.choices(self.ids, k=self.draw.randint(1, 12))}

    def describe_entity(self) -> dict[str, Any]:
        return {"id": self.graph.hub if self.chance(0.3) else self.text("entity")}

    def describe_schema(self) -> dict[str, Any]:
        return self.arguments({"seeds": (0.6, "entity")})

    def respelt(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The same arguments, one of them as models write it, too."""
        name, value = self.pick(sorted(arguments.items()))
        more = [value[0], [*value, *value]] if isinstance(value, list) else []
        text = value if isinstance(value, str) else json.dumps(value)
        return {**arguments, name: self.pick([text, [value] if text is value else value, *more])}

    # --- calls that differ in one thing -----------------------------------------------

    def changes(self, values: str | tuple[Any, ...], old: Any, *, single: bool) -> Iterator[Any]:
        """What an argument may be instead: each way to write it, or its texts a little changed."""
        if not isinstance(values, str):
            return (yield from values)
        old = old if isinstance(old, list) else [old]
        for way in dict.fromkeys(TEXTS.get(values, [f"{{{values}}}"])):
            new = way.format_map(self)
            yield new if single else [*old, new]
        for at, text in enumerate(map(str, old)):
            pieces = PIECES.findall(text)
            for place, piece in enumerate(pieces):
                new = "".join([*pieces[:place], self._other(piece), *pieces[place + 1 :]])
                yield new if single else [*old[:at], new, *old[at + 1 :]]

    def _other(self, piece: str) -> str:
        if piece[0] in "{[":
            return self.pick(("", "{1,2}", f"[{self.text('inside')}]"))
        if not {*piece} - {*"<->"}:
            return self.pick(("-", "->", "<-", "--", f"{piece}{{1,2}}"))
        name = self["type" if piece in self.graph.types else "predicate"]
        return self.pick((name, f"{piece}|{name}", f"{piece}[{self.text('inside')}]", "1"))


def drawn_changes(graph: DrawnGraph, call: Call, most: int) -> list[Call]:
    """A call, so many changes of each of its arguments at most, and the call once more."""
    tool, arguments = call
    source = CallSource(graph, f"changes of {arguments}")
    source.steps = len(arguments.get("path", ()))
    changed = [{n: arguments[n] for n in arguments if n != name} for name in arguments]
    for name, values in CHANGES[tool].items():
        single = name in ("sort_by", "order_by", "query", "id")
        others = [*source.changes(values, arguments.get(name, []), single=single)]
        some = source.draw.sample(others, min(most, len(others)))
        changed += [{**arguments, name: other} for other in some]
    source.draw.shuffle(changed)
    return [call, *((tool, other) for other in changed), call]


def drawn_call(graph: DrawnGraph, number: int) -> Call:
    """The call of a number to a graph."""
    source = CallSource(graph, number)
    tool = source.pick(TOOLS)
    arguments: dict[str, Any] = getattr(source, tool)()
    source.of("spelling")
    kind, names = source.draw.random(), sorted(arguments) or ["seeds"]
    if kind < SPOILT / 8:
        return f"{tool}s", arguments
    if kind < SPOILT:
        values = [*WRONG.items(), *((source.pick(names), value) for value in NEVER)]
        return tool, {**arguments, **dict([source.pick(values)])}
    return tool, source.respelt(arguments) if kind < RESPELT and arguments else arguments
