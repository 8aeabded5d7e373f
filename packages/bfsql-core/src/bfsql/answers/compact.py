"""An answer as lines of text: the same facts as the JSON, in fewer characters (`protocol.md` 32).

    answer  = walk | list | entity | schema
    walk    = taken* counts? field* facet* (table* links* | rows?)
    list    = "results: " number taken* field* table*
    entity  = "entity " who taken* field* links*
    schema  = (taken* counts)? field*
    taken   = ("from " | "to " | "taken ") who (", " who)* | "taken by name"
    who     = (text " = ")? name (" (" name ")")?
    counts  = count ("; " count)* ("; continue offset=" number)?
    count   = ("seeds " | "hops " | "k " | "shown " | "count " | "common " | "walks ") number
            | ("nodes " | "edges " "0 of "?) number (": " tally)?
            | "nodes " tally | "seeds " number ": " tally
            | "shortest " number ("," number)* " tied"?
    tally   = name (" " number)? (", " name " " number)*
    field   = ("note: " | "missing: ") value | key ": " value | ("edges: " | "node_counts: ") tally
            | key " (" number "):" line*                    so many lines of a list
    facet   = "facet " key ": " key " " value (", " key " " value)* ("; " common)?
    common  = text " " number (", " text " " number)*
    table   = "[" (number " ")? (name | "*") (" " column)* "]" columns row*
    row     = (number " ")? name ("|" cell)*
    links   = "[-" name "->]" columns link*
    link    = end? ">" end braces? ("," end braces?)*
    end     = number | name
    braces  = "{" cell ("|" cell)* "}"
    rows    = "[walks] " place (" > " place)* chain*
    place   = (name | "*") (" {}" | (" " column)*)
    chain   = node ((" > " | " " arrow " ") node)*
    node    = name braces?
    arrow   = "<-" name "-" | "-" name "->" | "-" name "-"
    columns = (" {}" | " " column ("|" column)*)?
    column  = key ("=" value)?
    cell    = value? | key "=" value          a value of argmax and its kind is the text of a best
    best    = at (", " at)* (" of " number)? ": " value | at ": " value (", " at ": " value)*
    at      = name (" (" text ")")?

The heading of a table has the type and the fields of its nodes in brackets, followed by the
metadata keys; a value that all rows share appears there. A row has the id, the type if the heading
has `*`, and the values of the columns: none if a key is absent, and `key=value` for a key without a
column. Without columns, a cell without a key is the name. A stub has no cell for metadata; if the
heading has a value or `{}`, that is the metadata of a row without cells. The number in front of an
id represents it in the edges, which are read back in the order of subject, predicate and object; a
link without a subject continues the previous one. The number in front of a type counts the rows, of
which `shown` is the sum. A row of walks has their nodes from the seed on, with arrows where the
steps leave a choice of predicates (an arrow without direction has that of its step). A node has its
id; where it occurs first also its metadata in braces, with the type if the heading of its place has
`*`; `undecided` lists the nodes on walks that are so. `seeds` are the ids after `from`, or the
texts of the call. Whatever was taken for a name is a note. `edges 0 of` stands for those of a
neighbourhood of which no edge is listed, `count` for `shown` where no node is. The fields of
measures are headed by their texts; `argmax` and `argmin` have nodes with one value, and behind `of`
their number if not all are listed, `top` a value for each node. `missing` is a note on what the
answer lacks; without one, with nothing to continue, and without an offset in the call, the answer
is `complete`.

What the caller knows or can see is left out: `from` if it would repeat the seeds of the call; the
name in front of an entity that is alone in its line; `hops` with a path, with `shortest` or for a
set itself, whose `seeds` are then its nodes; the counts of the whole answer where a path shows
nodes or walks and no edges (`limit=0` has them); the sum of several types on a path; `edges 0`; the
limit of the next page, which is the number of rows; `paths` if all nodes are shown and have the
same number, unless the call sorts by it; a `score` of null; of facets `missing 0`, shares,
`other_values`, which is `distinct` less the number of values, and where all values are listed and
of one kind `distinct`, `min` and `max`; `comprehensive: true` and `relations_from: all`. `along` of
one step is the step alone. `shortest` is the note on the lengths of connections.

`schema_summary` is the two tallies; one that makes up its total omits its number. Types and
predicates that `node_counts` or the lines of `relations` name are not listed again. A name, key,
text or value that would not read back is written as JSON; so is one with which its line would begin
as another part does, such as `note: `.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bfsql import call
from bfsql.answers.cells import (
    LinkedEdge,
    TableRow,
    best,
    leading,
    links,
    name,
    tables,
    tally,
    total,
    value,
    walk_rows,
)
from bfsql.answers.clean import encode
from bfsql.answers.notes import MISSING, NextPage, Note, ShortestLengths, Substitution
from bfsql.models import Edge
from bfsql.models.characters import is_visible
from bfsql.models.quotation import plain

_NODE = ("id", "entity_type", "metadata")
_TEXT = re.compile(r"[^\s\"=,]([^\"=,]*[^\s\"=,])?")
_ITEM = re.compile(r"[^\s\";]([^;]*[^\s;])?")
_COMMON = re.compile(r"[^\s\",;]([^\",;\n]*[^\s\",;])?")
_SHORT = {
    "seed_count": "seeds",
    "max_hops": "hops",
    "k": "k",
    "shown_count": "shown",
    "common_count": "common",
    "walk_count": "walks",
}
"""Numeric fields of a traversal, and their names in the counts."""


def in_lines(
    content: Mapping[str, Any], notes: Sequence[Note] = (), *, by_paths: bool = False
) -> str:
    """Write an answer in lines.

    Args:
        content: The structured content of any tool's answer.
        notes: The first of its notes as data; without data, a note is a sentence in the lines.
        by_paths: Whether the call sorts by `paths`, which are then always written.
    """
    notes = [*notes, *content.get("notes", ())[len(notes) :]]
    taken = list(_substituted_entities(notes))
    rest = notes[len(taken) :]
    if "id" in content:  # the metadata beside it may have the keys of other answers
        lines = _entity(content, taken, rest)
    elif "result" in content:
        lines = _list(content, taken, rest)
    elif "nodes" in content:
        lines = _walk(content, taken, rest, by_paths=by_paths)
    else:
        lines = _schema(content, taken, rest)
    return "\n".join(call.checked(lines, late=True))


# --- the four kinds of answer -------------------------------------------------


def _walk(
    content: Mapping[str, Any], taken: list[_Who], notes: Sequence[Note], *, by_paths: bool
) -> Iterator[str]:
    yield from _start(content["seeds"], taken)
    lengths = next((one for one in notes if isinstance(one, ShortestLengths)), None)
    page = next((one for one in notes if isinstance(one, NextPage)), None)
    counts = _counts(content, lengths)
    all_shown = f"shown {len(content['nodes'])}"
    # No answer in lines begins with a bracket, as JSON does.
    if is_counted := all_shown in counts and len(counts) == (1 if taken else 2):
        counts.remove(all_shown)
    if page:
        counts.append(f"continue offset={page.last}")
    if counts:
        yield "; ".join(counts)
    yield from _notes([one for one in notes if one is not lengths and one is not page])
    if along := content.get("along"):
        yield _field("along", along[0] if len(along) == 1 else along)
    yield from (_facet(*one) for one in content.get("facets", {}).items())
    if "walks" in content:
        if undecided := [node["id"] for node in content["nodes"] if "undecided" in node]:
            yield from _values("undecided", undecided)
        yield from walk_rows(content["walks"], content["nodes"])
        return
    nodes, edges = content["nodes"], content["edges"]
    touched = {edge[end] for edge in edges for end in ("subject", "object")}
    linked = (node["id"] for node in nodes if node["id"] in touched)
    labels = {i: str(number) for number, i in enumerate(linked, 1)}
    if nodes and "paths" in nodes[0] and not by_paths and len({n.get("paths") for n in nodes}) == 1:
        nodes = [_without(node, ("paths",)) for node in nodes]
    if texts := content.get("measure"):
        nodes = [_with_measures(node, texts) for node in nodes]
    rows = [_row(node, labels.get(node["id"], "")) for node in nodes]
    yield from tables(rows, counted=is_counted)
    ordered = sorted(edges, key=lambda edge: str(edge["predicate"]))
    yield from links(_edge(edge, labels, edge.get("metadata")) for edge in ordered)


def _counts(content: Mapping[str, Any], lengths: ShortestLengths | None) -> list[str]:
    """The counts of a traversal."""
    summary, edges = content["schema_summary"], content["edge_count"]
    count, types = content["node_count"], summary["node_counts"]
    of_path = "shown_count" in content or "walk_count" in content
    has_hops = not (of_path or lengths) and content.get("max_hops")
    counts = [
        f"{short if content['nodes'] or key != 'shown_count' else 'count'} {content[key]}"
        for key, short in _SHORT.items()
        if key in content and (has_hops or key != "max_hops")
    ]
    if lengths:
        tied = " tied" if lengths.tied else ""
        counts.append(f"shortest {','.join(map(str, lengths.lengths))}{tied}")
    if of_path and content["nodes"] and not content["edges"]:
        return counts  # of the shown nodes alone
    if content.get("max_hops") == 0 and content.get("seed_count") == count:
        counts = [f"seeds {total(count, types)}"]
    else:
        apart = of_path and len(types) > 1
        counts.append(f"nodes {tally(types) if apart else total(count, types)}")
    if edges:
        hidden = content["nodes"] and not content["edges"] and not of_path
        counts.append(f"edges {'0 of ' if hidden else ''}{total(edges, summary['edge_counts'])}")
    return counts


def _list(content: Mapping[str, Any], taken: list[_Who], notes: Sequence[Note]) -> Iterator[str]:
    records = content["result"]
    yield f"results: {len(records)}"
    if taken:
        names = [_Who(r.get("name"), r["id"], r["entity_type"]) for r in records]
        yield f"taken {'by name' if taken == names else _listed(taken)}"
    yield from _notes(notes)
    hidden = [(*_NODE[:2], "score") if r.get("score", 0) is None else _NODE[:2] for r in records]
    rows = zip(records, hidden, strict=True)
    yield from tables(
        [TableRow("", r["id"], r["entity_type"], {}, _without(r, keys)) for r, keys in rows]
    )


def _entity(content: Mapping[str, Any], taken: list[_Who], notes: Sequence[Note]) -> Iterator[str]:
    who = _Who(None, content["id"], content["entity_type"])
    if taken and taken[0][1:] == who[1:]:
        taken.pop(0)
    yield f"entity {who}"
    if taken:
        yield f"taken {_listed(taken)}"
    yield from _notes(notes)
    evidence = _evidence(content.get("provenance"))
    for key, known in _without(content, ("id", "entity_type", "notes")).items():
        if key == "edges":
            yield f"edges: {tally(known)}"
        elif key == "provenance" and evidence is not None:
            yield f"provenance: {value(known['total'])}"
        else:
            yield _field(key, known)
    yield from links(evidence or (), apart=True)


def _schema(content: Mapping[str, Any], taken: list[_Who], notes: Sequence[Note]) -> Iterator[str]:
    """The schema of a graph or, with `seeds`, of a neighbourhood."""
    fields = _without(content, ("notes",))
    for key, usual in (("comprehensive", True), ("relations_from", "all")):
        if fields.get(key) == usual:
            del fields[key]
    if "seeds" in fields:
        yield from _start(fields.pop("seeds"), taken)
        counts = fields.pop("node_counts")
        yield f"nodes {total(fields.pop('node_count'), counts)}; edges {fields.pop('edge_count')}"
        fields.pop("entity_types")
    elif taken:
        yield f"taken {_listed(taken)}"
    yield from _notes(notes)
    named = _named(fields.get("relations", ()))
    if "node_counts" in fields:
        named["entity_types"] = sorted(fields["node_counts"])
    fields = {key: known for key, known in fields.items() if not known or known != named.get(key)}
    for key, known in fields.items():
        if key == "node_counts":
            yield f"node_counts: {tally(known)}"
        elif key == "relations":
            yield from _values(key, known)
        elif key == "properties":
            yield f"properties ({len(known)}):"
            yield from (
                f"{leading(name(owner), owner, ': ')}: "
                f"{'; '.join(value(one, _ITEM) for one in described)}"
                for owner, described in known.items()
            )
        else:
            yield _field(key, known)


# --- parts of answers -----------------------------------------------------------


class _Who(NamedTuple):
    """An entity, and the text that was resolved to it."""

    text: str | None
    id: str
    entity_type: str | None

    def __str__(self) -> str:
        text = "" if self.text is None else f"{value(self.text, _TEXT)} = "
        kind = self.entity_type
        if kind is None:
            return f"{text}{name(self.id)}"
        return f"{text}{name(self.id)} ({encode(kind).decode() if ')' in kind else name(kind)})"


def _substituted_entities(notes: Sequence[Note]) -> Iterator[_Who]:
    """The entities of the first notes, as far as `who` has everything that they say."""
    for note in notes:
        if not isinstance(note, Substitution) or note.full or note.similar:
            return
        whole = json.dumps(note.name, ensure_ascii=False)  # which the sentence may shorten
        if not (is_visible(str(note)) and str(note).startswith(whole)):
            return
        yield _Who(note.name, plain(note.id), plain(note.entity_type))


def _start(seeds: Sequence[str], taken: list[_Who]) -> Iterator[str]:
    """The line of the seeds, and a line of the other entities that were taken for names."""
    left = [*taken]
    start = [left.pop(0) if left and left[0].id == i else _Who(None, i, None) for i in seeds]
    for word, every in (("from", start if len(left) < len(taken) else []), ("to", left)):
        if every:  # the call has the name of an only one
            yield f"{word} {_listed(every if len(every) > 1 else [every[0]._replace(text=None)])}"


def _listed(every: Sequence[_Who]) -> str:
    return ", ".join(map(str, every))


def _notes(notes: Sequence[Note]) -> Iterator[str]:
    kinds = (("missing" if isinstance(note, MISSING) else "note", note) for note in notes)
    return (f"{kind}: {value(str(note))}" for kind, note in kinds)


def _values(key: str, values: Sequence[str]) -> list[str]:
    return [f"{key} ({len(values)}):", *(leading(value(one), one) for one in values)]


def _field(key: str, content: Any) -> str:
    written = name(key) if key not in ("note", "missing") else f'"{key}"'
    return f"{written}: {value(content)}"


def _facet(label: str, facet: Mapping[str, Any]) -> str:
    hidden = ("values", "other_values", *(() if facet["missing"] else ("missing",)))
    if facet["values"] and not {"other_values", "numbers"} & facet.keys():
        hidden += ("distinct", "min", "max")
    numbers = (f"{key} {value(n, _COMMON)}" for key, n in _without(facet, hidden).items())
    common = ", ".join(f"{name(text, _COMMON)} {count}" for text, count, *_ in facet["values"])
    return f"facet {name(label)}: {', '.join(numbers)}" + (f"; {common}" if common else "")


def _row(node: Mapping[str, Any], label: str) -> TableRow:
    metadata = node.get("metadata")
    fields = {} if len(node) == 2 + (metadata is not None) else _without(node, _NODE)
    return TableRow(label, node["id"], node["entity_type"], fields, metadata)


def _with_measures(node: Mapping[str, Any], texts: Sequence[str]) -> Mapping[str, Any]:
    """A node whose measures are fields with their texts as names; several are a list."""
    if "measure" not in node:
        return node
    numbers = node["measure"] if len(texts) > 1 else [node["measure"]]
    return _without(node, ("measure",)) | dict(zip(texts, map(best, numbers), strict=True))


def _edge(edge: Mapping[str, Any], labels: Mapping[str, str], metadata: Any) -> LinkedEdge:
    subject, object_ = (labels.get(end) or name(end) for end in (edge["subject"], edge["object"]))
    return LinkedEdge(subject, edge["predicate"], object_, metadata)


def _evidence(provenance: Any) -> list[LinkedEdge] | None:
    """The items of evidence as edges."""
    if provenance is None:
        return None
    return [_edge(item, {}, _without(item, Edge._fields)) for item in provenance["items"]]


def _named(relations: Sequence[str]) -> dict[str, list[str]]:
    """The types and predicates that some relations name."""
    ends, predicates = set(), set()
    for relation in relations:
        edge = relation.rpartition(" (")[0]  # whose names are not empty: `-` in `a --> b`
        front, _, object_ = edge[:-1].rpartition("-> ")
        subject, _, predicate = front[:-1].rpartition(" -")
        if subject and "\n" not in relation:
            ends |= {subject, object_ + edge[-1]}
            predicates.add(predicate + front[-1])
    return {"entity_types": sorted(ends), "predicates": sorted(predicates)}


def _without(record: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: known for key, known in record.items() if key not in keys}
