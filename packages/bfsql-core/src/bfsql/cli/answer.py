"""Answers on a terminal: one tree or one table, then the counts and the notes."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from bfsql.answers import Answer
from bfsql.answers.cells import best
from bfsql.answers.notes import counted
from bfsql.cli.render import cell, grid, plain, print_lines, table
from bfsql.graph import NO_DESCRIPTION
from bfsql.models.facet import PERCENTILES
from bfsql.query.properties import measure_label

_MOST_PROPERTIES = 3
"""Number of properties in a table for which no `--fields` are given."""
_WITH_COUNT = re.compile(r"(.*) \((\d+)(.*)\)", re.DOTALL)
_SUMMARY_OF_FACET = ("missing", "distinct", "numbers", "min", "max", "mean", "sum", *PERCENTILES)
_OF_ANSWER = ("id", "entity_type", "name", "notes", "edges", "provenance")
"""Fields of an entity that are not properties in a list of them."""


def show(
    tool: str,
    answer: Answer,
    arguments: Mapping[str, Any],
    console: Console | None = None,
    **lines: Any,
) -> None:
    """Print the answer of a tool to a call, on standard output if no console is given.

    `lines` are the arguments of `print_lines` that limit their number.
    """
    to = console or Console(highlight=False)
    content = answer.content
    match tool:
        case "search_entities":
            parts, end = _hits(content["result"]), ""
        case "describe_entities":
            parts, end = _entities(content["result"]), ""
        case "describe_entity":
            parts, end = _entity(content), ""
        case "describe_schema":
            parts, end = _schema(content), ""
        case _:
            subgraph = _Subgraph(content, arguments)
            parts, end = subgraph.parts(), subgraph.counts()
    if "at" in content and tool != "describe_entity":  # which lists it among its fields
        to.print(plain(f"at {content['at']}", "bold"))
    print_lines(to, parts, **lines)
    if end:
        to.print(plain(end, "bold"))
    for note in answer.notes:
        to.print(Text.assemble(plain("note: ", "bold yellow"), plain(note)))


# --- subgraphs ------------------------------------------------------------------


class _Subgraph:
    """An answer of `bfs_query` or `intersect_subgraphs`, and the arguments of its call."""

    def __init__(self, content: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        self.content = content
        self.arguments = arguments
        self.sorted_by = str(arguments.get("sort_by", "")).lstrip("+-")
        self.measures = list(map(measure_label, _texts(arguments.get("measure"))))
        self.fields = list(map(measure_label, _texts(arguments.get("fields"))))
        self.names = {node["id"]: _name(node) for node in content["nodes"]}
        self.is_table = bool(self.sorted_by) or not content["edges"]
        self.nodes: list[dict[str, Any]] = content["nodes"]
        if self.is_table and any("paths" in node for node in self.nodes):
            self.nodes = [node for node in self.nodes if "paths" in node]

    def parts(self) -> Iterator[RenderableType]:
        """The groups, then the walks, the tree or the table, or counts if there are none."""
        for label, facet in self.content.get("facets", {}).items():
            yield from (*_facet(label, facet), "")
        if walks := self.content.get("walks"):
            yield self._walks(walks)
        elif not self.nodes and not self.content.get("facets"):
            yield from self._counts_by_type()
        elif not self.nodes:
            return
        elif self.is_table:
            yield table(*self._columns())
        else:
            labels = {node["id"]: self._label(node) for node in self.nodes}
            # What two entities have in common is drawn on the way from the first to the second.
            most = 1 if "common_count" in self.content else None
            seeds = self.content["seeds"][:most]
            yield _tree(seeds, labels, self.names, self.content["edges"])

    def counts(self) -> str:
        """The size of the whole answer, and what of it is shown."""
        content, page = self.content, len(self.nodes)
        nodes, edges = (counted(content[f"{one}_count"], one) for one in ("node", "edge"))
        if "walk_count" in content:
            total, page = content["walk_count"], len(content.get("walks", ()))
            sentence = f"{counted(total, 'walk')} over {nodes} and {edges}."
        elif "shown_count" in content:
            total = content["shown_count"]
            page = sum("paths" in node for node in self.nodes)
            sentence = f"{counted(total, 'result')}; the paths have {nodes} and {edges}."
        elif "common_count" in content:
            total = content["common_count"]
            page = sum("via" not in node for node in self.nodes)
            sentence = f"{counted(total, 'node')} in common; with connections {nodes}, {edges}."
        else:
            total, sentence = content["node_count"], f"{nodes}, {edges}."
        if 0 < page < total:
            sentence += f" Showing {page:,} of {total:,}."
        if self.is_table and content["edges"]:
            sentence += " Leave out --sort-by to see the edges."
        return sentence

    def _counts_by_type(self) -> Iterator[RenderableType]:
        summary = self.content["schema_summary"]
        for head, counts in (("type", "node_counts"), ("relation", "edge_counts")):
            if rows := [(name, f"{count:,}") for name, count in summary[counts].items()]:
                yield from (table((head, "number"), rows), "")

    def _columns(self) -> tuple[list[str], list[list[object]]]:
        """Heads and rows of the nodes, without empty columns."""
        measures = self.measures
        records = [_record(node, measures) for node in self.nodes]
        types = {node["entity_type"] for node in self.nodes}
        is_counted = "paths" in self.nodes[0]
        fields = self.fields or ([] if is_counted else _common_properties(self.nodes))
        heads = ["name", *(["type"] if len(types) > 1 else [])]
        heads += ["via", "paths", "distinct", *measures, "degree", "undecided"]
        heads = list(dict.fromkeys([*heads, self.sorted_by, *fields, "id"]))
        return _filled(records, heads)

    def _label(self, node: Mapping[str, Any]) -> Text:
        """A node in a tree: its name, what was asked about it, and its id."""
        id_, name = node["id"], self.names[node["id"]]
        record = _record(node, self.measures)
        keys = [
            *record.keys()
            - {"id", "type", "name", "paths", "via"}
            - node.get("metadata", {}).keys()
        ]
        facts = [f"{key}: {cell(record[key])}" for key in sorted(keys)]
        if record.get("paths", 0) > 1:
            facts.insert(0, counted(record["paths"], "path"))
        shown = [key for key in self.fields if key != "name" and key in record]
        facts += [f"{key}: {cell(record[key])}" for key in shown]
        end = f" ({', '.join(facts)})" if facts else ""
        title = plain(name, "" if "via" in node else "bold")
        if name == id_:
            return Text.assemble(title, plain(f" {node['entity_type']}{end}", "dim"))
        return Text.assemble(title, plain(end), plain(f" {id_}", "dim"))

    def _walks(self, walks: Sequence[Mapping[str, Any]]) -> Table:
        """A row for each walk, below the steps of its path."""
        rows, computed = [], list(walks[0].get("values", ()))
        for walk in walks:
            edges = ["", *walk.get("edges", [""] * (len(walk["nodes"]) - 1))]
            steps = zip(edges, walk["nodes"], strict=True)
            rows.append([f"{_arrow(edge)} {self.names[id_]}".strip() for edge, id_ in steps])
        width = max(map(len, rows))
        path = _texts(self.arguments.get("path"))
        heads = ["seed", *(path if len(path) == width - 1 else map(str, range(1, width)))]
        for row, walk in zip(rows, walks, strict=True):
            row.extend([""] * (width - len(row)) + [cell(walk["values"][n]) for n in computed])
        return table([*heads, *computed], rows)


def _tree(
    seeds: Sequence[str],
    labels: Mapping[str, Text],
    names: Mapping[str, str],
    edges: Iterable[Mapping[str, Any]],
) -> Tree:
    """All nodes and edges, each once, below the end that is nearer to a seed.

    Edges of two nodes in one direction are one line; a node that has its line already is a name.
    """
    steps: dict[str, dict[tuple[str, bool], dict[str, None]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for edge in edges:
        start, predicate, end = edge["subject"], edge["predicate"], edge["object"]
        steps[start][end, True][predicate] = None
        if start != end:
            steps[end][start, False][predicate] = None
    root, drawn = Tree("", hide_root=True), set[str]()
    branches = {seed: root.add(labels[seed]) for seed in seeds if seed in labels}
    for start in (*branches, *labels):  # the last cannot be reached from a seed
        if start not in branches:
            branches[start] = root.add(labels[start])
        waiting = deque([start])
        while waiting:
            here = waiting.popleft()
            drawn.add(here)
            for (other, leaves), predicates in steps.pop(here, {}).items():
                if other in drawn and other != here:
                    continue
                arrow = plain(
                    ("-{}->" if leaves else "<-{}-").format(", ".join(predicates)), "cyan"
                )
                if other in branches:
                    repeated = plain(f"{names[other]} (repeated)", "dim")
                    branches[here].add(Text.assemble(arrow, " ", repeated))
                else:
                    branches[other] = branches[here].add(Text.assemble(arrow, " ", labels[other]))
                    waiting.append(other)
    return root


def _arrow(edge: str) -> str:
    """A walk's edge: its predicate, with `>` or `<` in front if its step leaves that open."""
    if edge[:1] in ("<", ">"):
        return f"<-{edge[1:]}-" if edge[0] == "<" else f"-{edge[1:]}->"
    return edge


def _facet(label: str, facet: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The counted values of a property, after a line about all of them."""
    facts = ", ".join(
        f"{key} {_short_number(facet[key])}" for key in _SUMMARY_OF_FACET if facet.get(key)
    )
    yield Text.assemble(plain(label, "bold"), plain(f": {facet['count']} values, {facts}"))
    if values := facet["values"]:
        others = facet.get("other_values", 0)
        rows = [(*row[:2], *(f"{100 * share:.2f} %" for share in row[2:])) for row in values]
        rows += [(f"{others} other values", "")] if others else []
        yield table(("value", "number", "share")[: len(rows[0])], rows)


def _record(node: Mapping[str, Any], measures: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a node and its metadata in one dictionary, with a key for each measure."""
    record = {**node.get("metadata", {}), **node}
    record.pop("metadata", None)
    record["type"] = record.pop("entity_type")
    if "measure" in record:
        values = record.pop("measure")
        values = values if len(measures) > 1 else [values]
        record |= dict(zip(measures, map(_short_number, map(best, values)), strict=False))
    return record


def _name(node: Mapping[str, Any]) -> str:
    name = node.get("name") or node.get("metadata", {}).get("name")
    return name if isinstance(name, str) and name else str(node["id"])


def _common_properties(nodes: Sequence[Mapping[str, Any]]) -> list[str]:
    """The first properties that are short, for a table for which none are asked."""
    found: dict[str, None] = {}
    for node in nodes:
        for key, value in node.get("metadata", {}).items():
            if key != "name" and isinstance(value, str | int | float) and len(str(value)) <= 30:
                found[key] = None
    return list(found)[:_MOST_PROPERTIES]


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _short_number(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _filled(
    records: Sequence[Mapping[str, Any]], heads: Iterable[str]
) -> tuple[list[str], list[list[object]]]:
    """The heads under which a record has a value, and the rows of the records."""
    rows = [{head: cell(record.get(head)) for head in heads} for record in records]
    filled = [head for head in heads if head and any(row[head] for row in rows)]
    return filled, [[row[head] for head in filled] for row in rows]


# --- entities and the schema ----------------------------------------------------


def _hits(hits: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """The hits of a search; those that are only similar are dim."""
    if not hits:
        yield plain("Nothing was found.")
        return
    records = [_record(hit) for hit in hits]
    heads, rows = _filled(records, ("name", "type", "match", "score", "context", "id"))
    styles = ["dim" if hit.get("match") == "similar" else "" for hit in hits]
    yield table(heads, rows, styles)


def _entities(records: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    for position, record in enumerate(records):
        if position:
            yield ""
        yield from _entity(record)


def _entity(entity: Mapping[str, Any]) -> Iterator[RenderableType]:
    """An entity: its name, its properties, its relations and the evidence."""
    name, id_ = _name(entity), entity["id"]
    of_type = plain(f"  {entity.get('entity_type', '')}", "cyan")
    id_text = plain(f"  {id_}" if name != id_ else "", "dim")
    yield Text.assemble(plain(name, "bold"), of_type, id_text)
    properties = [(key, cell(entity[key])) for key in entity if key not in _OF_ANSWER]
    if properties:
        yield grid(properties)
    if edges := entity.get("edges"):
        yield plain("\nRelations", "bold")
        yield grid([(step, f"{count:,}") for step, count in edges.items()])
    if items := entity.get("provenance", {}).get("items"):
        total = entity["provenance"]["total"]
        more = f" ({len(items)} of {total:,})" if total and total > len(items) else ""
        yield plain(f"\nEvidence{more}", "bold")
        for item in items:
            yield from _evidence(item)


def _evidence(item: Mapping[str, Any]) -> Iterator[Text]:
    triple = " ".join(
        str(item.get(key, "")) if key != "predicate" else f"-{item.get(key, '')}->"
        for key in ("subject", "predicate", "object")
    )
    yield plain(f"  {triple}", "cyan")
    if text := item.get("text_span"):
        yield plain(f"    {text}")
    place = [str(item[key]) for key in ("document_id", "section") if item.get(key)]
    if confidence := item.get("confidence"):
        place.append(f"confidence {confidence:g}")
    if place:
        yield plain(f"    {', '.join(place)}", "dim")


def _schema(content: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The types and relations of a graph, with their numbers and properties."""
    description = content.get("graph_description", NO_DESCRIPTION)
    if description != NO_DESCRIPTION:
        yield from (plain(description), "")
    properties = content.get("properties", {})
    counts = content.get("node_counts", {})
    types = [
        {
            "type": name,
            "number": f"{counts[name]:,}" if name in counts else None,
            "properties": properties.get(name),
        }
        for name in content["entity_types"]
    ]
    if types:
        yield from (table(*_filled(types, ("type", "number", "properties"))), "")
    relations = [_relation(text, properties) for text in content.get("relations", ())]
    relations = relations or [
        {"relation": name, "properties": properties.get(name)} for name in content["predicates"]
    ]
    if relations:
        yield table(*_filled(relations, ("relation", "number", "properties")))
    if not content.get("comprehensive", True):
        yield plain("The graph has further types and relations.")


def _relation(text: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """`Trial -studies-> Disease (2087)` as a row, with the properties of its predicate."""
    found = _WITH_COUNT.fullmatch(text)
    relation, count, ended = found.groups() if found else (text, "", "")
    own = next((keys for name, keys in properties.items() if f" -{name}-> " in relation), None)
    number = f"{int(count):,}{ended}" if count else ""
    return {"relation": relation, "number": number, "properties": own}
