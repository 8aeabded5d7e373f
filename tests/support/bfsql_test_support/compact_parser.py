"""A parser for answers in lines, written from their grammar; it restores the JSON.

Only what `left_out` removes cannot be restored.
"""

import json
import re
from itertools import dropwhile
from typing import Any

from bfsql.models.quotation import plain

_DECODE = json.JSONDecoder().raw_decode
_NAME = re.compile(r"[^\s\"|={}\[\];,>]+")
_COUNTED = re.compile(r"[^\s\",;]+")
_AT = re.compile(r"[^\s\"|={}\[\];,>]+?(?= \(|, | of \d+: |: )")
_TEXT = re.compile(r"([^\"=,]+) = ")
_TOTALS = {
    "seeds": "seed_count",
    "hops": "max_hops",
    "k": "k",
    "shown": "shown_count",
    "count": "shown_count",
    "common": "common_count",
    "walks": "walk_count",
}
_FIELDS = frozenset(
    ("paths", "distinct", "degree", "undecided", "via", "score", "match", "context", "measure")
)
"""The fields of nodes and of hits beside their metadata; measures are headed by their texts."""
_TAKEN = re.compile(r'("(?:[^"\\]|\\.)*") was taken as ([^;]+ \([^;]+\)\.)')
_NAMELESS = "..."
"""What stands for a name that the lines leave out."""
_IN_COUNTS = re.compile(r"(Shortest )|(Nodes|Shown nodes|Walks) \d+ to \d+ of ")
"""Notes that the counts contain."""
_COUNTS = re.compile(rf"({'|'.join(_TOTALS)}|nodes|edges|shortest) [^<>-]|continue offset=")
_COUNTED_TABLE = re.compile(r"\[(\d+) ")
_TABLE = re.compile(r"\[(\d+ )?")
_SCHEMA = re.compile(r"(graph_description|comprehensive|tool_usage_notes|node_counts): ")
_RELATION = re.compile(r"(.+) -(.+)-> (.+) \(\d+\)")
Record = dict[str, Any]


def left_out(content: Any, *, by_paths: bool = False) -> Any:
    """An answer without what its lines leave out and nothing in them restores.

    Args:
        by_paths: Whether the call sorts by `paths`.
    """
    usual = [("comprehensive", True), ("relations_from", "all")]
    content = {k: v for k, v in content.items() if k != "complete" and (k, v) not in usual}
    content = _without_names(content)
    if "facets" in content:
        content["facets"] = {k: _facet_left(f) for k, f in content["facets"].items()}
    shortest = any(note.startswith("Shortest ") for note in content.get("notes", ()))
    if not shortest and not {"shown_count", "walk_count"} & content.keys():
        return content
    content = {key: value for key, value in content.items() if key != "max_hops"}
    if "measure" in content:
        content |= _with_measures_sorted(content)
    nodes = content["nodes"]
    if nodes and not content["edges"] and {"shown_count", "walk_count"} & content.keys():
        counts = ("node_count", "edge_count", "schema_summary")
        content = {key: value for key, value in content.items() if key not in counts}
    if not by_paths and len({node.get("paths") for node in nodes}) == 1:
        bare = ({k: v for k, v in node.items() if k != "paths"} for node in nodes)
        content["nodes"] = list(bare)
    return content


def _without_names(content: Record) -> Record:
    """An answer without its seeds and the names of its entities where the call has them."""
    notes = content.get("notes", [])
    rest = [*dropwhile(_is_taken, notes)]
    taken = notes[: len(notes) - len(rest)]
    every, start = [*taken], [*content.get("seeds", [content.get("id", "")])]
    mine = [every.pop(0) for one in start if every and f" as {plain(one)} (" in every[0]]
    if "id" in content:
        taken = every
    elif "seeds" in content:
        nameless = [mine if len(start) == 1 else [], every if len(every) == 1 else []]
        taken = [_nameless(one) if [one] in nameless else one for one in taken]
        if not mine:
            content = {key: value for key, value in content.items() if key != "seeds"}
    notes = taken + _in_order(rest)
    return {k: notes if k == "notes" else v for k, v in content.items() if k != "notes" or notes}


def _is_taken(note: str) -> bool:
    """Whether a note is on a name of which it has the whole text."""
    found = _TAKEN.fullmatch(note)
    return found is not None and json.dumps(json.loads(found[1]), ensure_ascii=False) == found[1]


def _nameless(note: str) -> str:
    return _TAKEN.sub(rf'"{_NAMELESS}" was taken as \2', note)


def _in_order(notes: list[str]) -> list[str]:
    """Notes with those in front that the counts contain."""
    kinds = [_IN_COUNTS.match(note) for note in notes]
    places = [2 if kind is None else kind[1] is None for kind in kinds]
    return [note for _, note in sorted(zip(places, notes, strict=True), key=lambda one: one[0])]


def _facet_left(facet: Record) -> Record:
    facet = facet | {"values": [value[:2] for value in facet["values"]]}
    whole = facet["values"] and not {"other_values", "numbers"} & facet.keys()
    hidden = ("distinct", "min", "max") if whole else ()
    return {key: value for key, value in facet.items() if key not in hidden}


def _with_measures_sorted(content: Record) -> Record:
    """The texts of measures, and their numbers, in the order in which headings have them."""
    texts = content["measure"]
    places = sorted(range(len(texts)), key=texts.__getitem__)
    nodes = [
        {**node, "measure": [node["measure"][place] for place in places]}
        if isinstance(node.get("measure"), list)
        else node
        for node in content["nodes"]
    ]
    return {"measure": [texts[place] for place in places], "nodes": nodes}


class Line:
    """One line, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def take(self, sign: str) -> bool:
        """Consume a sign if it comes next; return whether it did."""
        found = self.text.startswith(sign, self.place)
        self.place += len(sign) * found
        return found

    def expect(self, sign: str) -> None:
        assert self.take(sign), (sign, self.text, self.place)

    @property
    def over(self) -> bool:
        return self.place >= len(self.text)

    @property
    def next(self) -> str:
        return self.text[self.place : self.place + 1]

    def matched(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.place)
        assert found is not None, (pattern, self.text, self.place)
        self.place = found.end()
        return found[0]

    def json(self) -> Any:
        value, self.place = _DECODE(self.text, self.place)
        return value

    def name(self, bare: re.Pattern[str] = _NAME) -> str:
        return str(self.json()) if self.next == '"' else self.matched(bare)

    def number(self) -> int:
        return int(self.matched(re.compile(r"\d+")))

    def value(self, ends: str = "") -> Any:
        if self.next and self.next in '"[{':
            return self.json()
        start = self.place
        while not self.over and self.next not in ends:
            self.place += 1
        written = self.text[start : self.place]
        try:
            return json.loads(written)
        except ValueError:
            return written

    def tally(self, total: int | None = None) -> dict[str, int]:
        found: dict[str, int] = {}
        while True:
            key = self.name(_COUNTED)
            if total is not None and not found and self.next != " ":
                return {key: total}
            self.expect(" ")
            found[key] = self.number()
            if not self.take(", "):
                return found

    def columns(self, ends: str, separator: str) -> list[tuple[str, Any]]:
        """Keys, each with the value that all rows share, or `...` if each row has its own."""
        found: list[tuple[str, Any]] = []
        while not self.over and self.next not in ends:
            key = self.name()
            found.append((key, self.value(f"{ends}{separator}") if self.take("=") else ...))
            self.take(separator)
        return found

    def cells(self, columns: list[tuple[str, Any]], end: str = "") -> Record:
        """The record of the next cells, which are separated by bars."""
        found = _shared(columns) or {}
        varying = iter([key for key, value in columns if value is ...])
        if not columns and (named := self.cell_without_key(end)) is not None:
            found["name"] = named[0]
            if not self.take("|"):
                return found
        while True:
            if (
                (key := next(varying, None)) is None
                and not self.over
                and self.next not in f"|{end}"
            ):
                key = self.name()
                self.expect("=")
            if not self.over and self.next not in f"|{end}":
                assert key is not None
                found[key] = self.value(f"|{end}")
            if not self.take("|"):
                return found

    def cell_without_key(self, end: str) -> list[Any] | None:
        """The value of the next cell, as a list of one; None if it has a key or is empty."""
        start, value = self.place, self.value(f"|={end}")
        if self.place != start and self.next != "=":
            return [value]
        self.place = start
        return None


def read(text: str) -> Any:
    """The structured content of an answer in lines."""
    return _Answer(text.split("\n")).content()


class _Counts:
    """The line of counts.

    Attributes:
        numbers: The counts, by their names in JSON.
        tallies: The counts by type and by predicate.
        lengths: The lengths of the shortest connections.
        tied: Whether several are equally short.
        following: The offset of the next page; None if there is none.
    """

    def __init__(self, line: Line) -> None:
        self.numbers: dict[str, int] = {}
        self.tallies: dict[str, dict[str, int]] = {"nodes": {}, "edges": {}}
        self.lengths: list[str] = []
        self.tied = False
        self.following: int | None = None
        while not line.over:
            if line.take("continue offset="):
                self.following = line.number()
            elif line.take("shortest "):
                self.lengths = line.matched(re.compile("[0-9,]+")).split(",")
                self.tied = line.take(" tied")
            else:
                self.count(line)
            line.take("; ")

    def count(self, line: Line) -> None:
        key = line.matched(re.compile(r"\w+"))
        line.expect(" ")
        line.take("0 of ")
        if key == "nodes" and not re.match(r"\d+(:|;|$)", line.text[line.place :]):
            self.tallies[key] = line.tally()
            self.numbers["node_count"] = sum(self.tallies[key].values())
            return
        number = line.number()
        self.numbers[_TOTALS.get(key) or f"{key[:-1]}_count"] = number
        if line.take(": "):
            self.tallies["nodes" if key == "seeds" else key] = line.tally(number)


class _Answer:
    def __init__(self, lines: list[str]) -> None:
        self.lines, self.place = lines, 0
        self.ids: dict[str, str] = {}
        self.taken: list[str] = []
        self.notes: list[str] = []
        self.measure: list[str] = []
        self.facets: Record = {}

    def next(self) -> Line:
        self.place += 1
        return Line(self.lines[self.place - 1])

    @property
    def starts(self) -> str:
        """The first word of the next line; "" at the end."""
        return self.lines[self.place].partition(" ")[0] if self.place < len(self.lines) else ""

    def content(self) -> Record:
        match self.starts:
            case "results:":
                return self.records()
            case "entity":
                return self.entity()
        if any(_SCHEMA.match(line) for line in self.lines):
            return self.finished(self.fields("node_counts"))
        return self.around()

    def records(self) -> Record:
        line = self.next()
        line.expect("results: ")
        count = line.number()
        by_name = self.lines[1:2] == ["taken by name"]
        self.place += by_name
        self.take_names()
        assert not self.fields()
        records = [n | n.pop("metadata", {}) for n in self.tables()]
        for record in records:
            if "match" in record:
                record.setdefault("score", None)
        assert len(records) == count
        if by_name:
            self.taken = [_taken(r["name"], r["id"], r["entity_type"]) for r in records]
        return self.finished({"result": records})

    def entity(self) -> Record:
        line = self.next()
        line.expect("entity ")
        entity_id, entity_type = self.who(line)
        self.take_names()
        content: Record = {"id": entity_id, "entity_type": entity_type, **self.fields()}
        if "provenance" in content:
            items = [e | e.pop("metadata") for e in self.links()]
            content["provenance"] = {"total": content["provenance"], "items": items}
        return self.finished(content)

    def around(self) -> Record:
        """A traversal, or the schema of a neighbourhood."""
        seeds = self.take_names()
        has_counts = any(map(_COUNTS.match, self.lines[self.place : self.place + 1]))
        counts = _Counts(self.next() if has_counts else Line(""))
        content: Record = ({"seeds": seeds} if seeds else {}) | counts.numbers
        if found := [int(one[1]) for one in map(_COUNTED_TABLE.match, self.lines) if one]:
            content["shown_count"] = sum(found)
        types, predicates = counts.tallies["nodes"], counts.tallies["edges"]
        if not counts.lengths and not {*_TOTALS.values()} & content.keys():
            content["entity_types"] = sorted(types)
            content["node_counts"] = types
            return self.finished(content | self.fields())
        content |= self.fields()
        of_path = {"shown_count", "walk_count"} & content.keys()
        if "node_count" in content or not of_path:
            content.setdefault("edge_count", 0)
        depth = {"max_hops", "k", "shown_count", "walk_count"} & content.keys() or counts.lengths
        if not depth:
            content["max_hops"] = 0
            content.setdefault("node_count", content["seed_count"])
        along = content.get("along")
        content |= {"along": [along]} if isinstance(along, str) else {}
        content |= {"facets": self.facets} if self.facets else {}
        if "edge_count" in content:
            content["schema_summary"] = _summary(types, predicates)
        if "walk_count" in content:
            undecided = content.pop("undecided", ())
            content["walks"], content["nodes"] = self.walks()
            for node in content["nodes"]:
                node.update({"undecided": True} if node["id"] in undecided else {})
        else:
            content["nodes"] = self.tables()
            content |= {"measure": self.measure} if self.measure else {}
        ends = ("subject", "predicate", "object")
        content["edges"] = sorted(self.links(), key=lambda edge: [edge[end] for end in ends])
        if counts.following is not None:
            self.notes.insert(0, _continued(content, counts.following))
        if counts.lengths:
            self.notes.insert(0, _shortest(counts, along="along" in content))
        return self.finished(content)

    def finished(self, content: Record) -> Record:
        notes = self.taken + self.notes
        return content | ({"notes": notes} if notes else {})

    # --- parts ---------------------------------------------------------------

    def take_names(self) -> list[str]:
        """The ids after `from`; a name that was resolved to an id becomes a note."""
        seeds = []
        while self.starts in ("from", "to", "taken"):
            line = self.next()
            word = line.matched(re.compile("[a-z]+ "))
            while not line.over:
                known = len(self.taken)
                entity_id, entity_type = self.who(line)
                if entity_type is not None and len(self.taken) == known:
                    self.taken.append(_taken(_NAMELESS, entity_id, entity_type))
                seeds += [entity_id] if word == "from " else []
                line.take(", ")
        return seeds

    def who(self, line: Line) -> tuple[str, str | None]:
        text, entity_id, entity_type = None, "", None
        if line.next == '"':
            entity_id = line.name()
            if line.take(" = "):
                text, entity_id = entity_id, line.name()
        else:
            if (found := _TEXT.match(line.text, line.place)) is not None:
                text, line.place = found[1], found.end()
            entity_id = line.name()
        if line.take(" ("):
            entity_type = line.name(re.compile(r"[^\s\"|={}\[\];,>)]+"))
            line.expect(")")
        if text is not None:
            self.taken.append(_taken(text, entity_id, entity_type))
        return entity_id, entity_type

    def fields(self, tally: str = "edges") -> Record:
        content: Record = {}
        while self.place < len(self.lines) and not self.lines[self.place].startswith("["):
            line = self.next()
            if line.take("facet "):
                self.facet(line)
                continue
            key = line.name(re.compile(r"[^\s\"|={}\[\];,>]+?(?=: | \(\d+\):$)"))
            if line.take(" ("):
                count = line.number()
                line.expect("):")
                listed = [self.next() for _ in range(count)]
                content[key] = (
                    dict(map(_described, listed))
                    if key == "properties"
                    else [one.value() for one in listed]
                )
                continue
            line.expect(":")
            line.take(" ")
            if key in ("note", "missing") and line.text[0] != '"':
                self.notes.append(line.value())
            elif key == tally:
                content[key] = line.tally()
            else:
                content[key] = line.value()
        if tally == "node_counts" and tally in content:
            content.setdefault("entity_types", sorted(content[tally]))
        named = [_RELATION.fullmatch(one) for one in content.get("relations", ())]
        if found := [one for one in named if one]:
            ends = {one[end] for one in found for end in (1, 3)}
            content.setdefault("predicates", sorted({one[2] for one in found}))
            if "tool_usage_notes" in content:
                content.setdefault("entity_types", sorted(ends))
        return content

    def facet(self, line: Line) -> None:
        label = line.name(re.compile(r"[^\s\"|={}\[\];,>]+?(?=: )"))
        line.expect(": ")
        found: Record = {}
        while not line.over and not line.take("; "):
            key = line.matched(re.compile(r"\w+"))
            line.expect(" ")
            found[key] = line.value(",;")
            line.take(", ")
        found["values"] = []
        while not line.over:
            text = line.name(re.compile(r"[^\",;]+(?= \d+(, |$))"))
            line.expect(" ")
            found["values"].append([text, line.number()])
            line.take(", ")
        found.setdefault("missing", 0)
        if others := found.get("distinct", len(found["values"])) - len(found["values"]):
            found["other_values"] = others
        self.facets[label] = found

    def tables(self) -> list[Record]:
        found = []
        while self.starts.startswith("[") and not self.starts.startswith("[-"):
            line = self.next()
            line.matched(_TABLE)
            entity_type = None if line.take("*") else line.name()
            line.take(" ")
            fields = line.columns("]", " ")
            self.measure = sorted(key for key, _ in fields if key not in _FIELDS) or self.measure
            line.expect("]")
            line.take(" ")
            columns = line.columns("", "|") if not line.take("{}") else [("", None)]
            while self.place < len(self.lines) and not self.lines[self.place].startswith("["):
                found.append(self.row(self.next(), entity_type, fields, columns))
        return found

    def row(self, line: Line, entity_type: str | None, fields: Any, columns: Any) -> Record:
        shared = _shared(columns)
        label = re.match(r"(\d+) ", line.text)
        line.place = label.end() if label else 0
        node: Record = {"id": line.name()}
        if label:
            self.ids[label[1]] = node["id"]
        if entity_type is None:
            line.expect("|")
            entity_type = line.name()
        node["entity_type"] = entity_type
        for key, value in fields:
            if value is not ...:
                node[key] = value
            elif line.take("|") and not line.over and line.next != "|":
                node[key] = line.value("|")
        if self.measure and self.measure[0] in node:
            numbers = [_best(text, node.pop(text)) for text in self.measure]
            node["measure"] = numbers if len(numbers) > 1 else numbers[0]
        if line.take("|"):
            node["metadata"] = line.cells(columns)
        elif shared is not None:
            node["metadata"] = dict(shared)
        assert line.over, line.text
        return node

    def walks(self) -> tuple[list[Record], list[Record]]:
        """The rows of walks, and their nodes in the order of first occurrence."""
        if self.place == len(self.lines):
            return [], []
        heading = self.next()
        heading.expect("[walks]")
        places = []
        while not heading.over and not heading.text.startswith(" | ", heading.place):
            heading.take(" >")
            heading.expect(" ")
            kind = None if heading.take("*") else heading.name()
            places.append((kind, self.of_place(heading)))
        computed = self.of_place(heading) if heading.take(" |") else []
        known: dict[str, Record] = {}
        walks: list[Record] = []
        while self.place < len(self.lines):
            line = self.next()
            walk: Record = {"nodes": []}
            while True:
                walk["nodes"].append(self.walked(line, known, places[len(walk["nodes"]) :]))
                if line.over or line.take(" | "):
                    break
                self.edge_of(line, walk)
            if computed:
                walk["values"] = line.cells(computed)
            walks.append(walk)
        return walks, list(known.values())

    def edge_of(self, line: Line, walk: Record) -> None:
        line.expect(" ")
        if not line.take("> "):
            walk.setdefault("edges", []).append(_edge(line))

    def of_place(self, heading: Line) -> list[tuple[str, Any]]:
        """The columns of one place in the heading of walks."""
        if heading.take(" {}"):
            return [("", None)]
        found: list[tuple[str, Any]] = []
        while not heading.over and not heading.text.startswith((" > ", " | "), heading.place):
            heading.expect(" ")
            key = heading.name()
            found.append((key, heading.value(" ") if heading.take("=") else ...))
        return found

    def walked(self, line: Line, known: Record, places: Any) -> str:
        """The id of the next node of a walk; its record is kept."""
        text = line.name()
        if text in known:
            return text
        entity_type, columns = places[0]
        node: Record = {"id": text, "entity_type": entity_type}
        braces = line.take("{")
        if entity_type is None:
            assert braces
            node["entity_type"] = line.name()
        if braces and (entity_type is not None or line.take("|")):
            node["metadata"] = line.cells(columns, "}")
        elif (shared := _shared(columns)) is not None:
            node["metadata"] = dict(shared)
        if braces:
            line.expect("}")
        known[text] = node
        return text

    def links(self) -> list[Record]:
        found = []
        while self.place < len(self.lines):
            line = self.next()
            line.expect("[-")
            predicate = line.name(re.compile(r"[^\s\"|={}\[\];,>]+(?=->\])"))
            line.expect("->]")
            line.take(" ")
            columns = line.columns("", "|") if not line.take("{}") else [("", None)]
            subject = ""
            while self.place < len(self.lines) and not self.lines[self.place].startswith("["):
                line = self.next()
                if not line.take(">"):
                    subject = self.end(line)
                    line.expect(">")
                while not line.over:
                    edge: Record = {"subject": subject, "predicate": predicate}
                    edge["object"] = self.end(line)
                    if line.take("{"):
                        edge["metadata"] = line.cells(columns, "}")
                        line.expect("}")
                    elif (shared := _shared(columns)) is not None:
                        edge["metadata"] = shared
                    found.append(edge)
                    assert line.take(",") or line.over
        return found

    def end(self, line: Line) -> str:
        bare = line.next != '"'
        found = line.name()
        return self.ids[found] if bare and found.isdecimal() else found


def _best(measure: str, cell: Any) -> Any:
    """A measure; the nodes of `argmax` and its kind are a text."""
    function = measure.strip().lower()[:3]
    if function not in ("arg", "top") or not isinstance(cell, str):
        return cell
    line, found = Line(cell), []
    while not line.over:
        node: list[Any] = [line.name(_AT), None]
        if line.take(" ("):
            node[1] = line.name(re.compile(r"[^\"|=()]+(?=\))"))
            line.expect(")")
        count = line.number() if line.take(" of ") else len(found) + 1
        value = line.value(",") if line.take(": ") else None
        found.append([value, *node])
        line.take(", ")
    if function == "top":
        return found
    return {"value": value, "nodes": [node for _, *node in found], "count": count}


def _summary(types: dict[str, int], predicates: dict[str, int]) -> Record:
    found = {"entity_types_found": list(types), "predicates_found": list(predicates)}
    return found | {"node_counts": types, "edge_counts": predicates}


def _shared(columns: list[tuple[str, Any]]) -> Record | None:
    """The metadata of a row without cells: the values in the heading, or None."""
    given = {key: value for key, value in columns if value is not ...}
    return {key: value for key, value in given.items() if key} if given else None


def _taken(text: str, entity_id: str, entity_type: str | None) -> str:
    return f"{json.dumps(text, ensure_ascii=False)} was taken as {entity_id} ({entity_type})."


def _described(line: Line) -> tuple[str, list[str]]:
    owner, items = _owner(line), []
    while not line.over:
        items.append(line.json() if line.next == '"' else line.matched(re.compile("[^;]+")))
        line.take("; ")
    return owner, items


def _edge(line: Line) -> str:
    """The predicate between two nodes of a walk, with its direction as JSON has it."""
    sign = "<" if line.take("<-") else ""
    if not sign:
        line.expect("-")
    predicate = line.name(re.compile(r"[^\s\"|={}\[\];,>]+?(?=->? )"))
    line.expect("-")
    sign = ">" if line.take(">") else sign
    line.expect(" ")
    return sign + predicate


def _owner(line: Line) -> str:
    owner = line.name(re.compile(r"[^\s\"|={}\[\];,>]+(?=: )"))
    line.expect(": ")
    return owner


def _shortest(counts: _Counts, *, along: bool) -> str:
    lengths, more = counts.lengths, ", and several are equally short" * counts.tied
    what = "chains along these steps" if along else "connections"
    listed = " or ".join(filter(None, [", ".join(lengths[:-1]), lengths[-1]]))
    return f"Shortest {what}: {listed} {'edge' if lengths == ['1'] else 'edges'}{more}."


def _continued(content: Record, end: int) -> str:
    if "walks" in content:
        noun, total, shown = "Walks", content["walk_count"], len(content["walks"])
    elif "shown_count" in content:
        noun, total = "Shown nodes", content["shown_count"]
        shown = sum("paths" in node for node in content["nodes"]) or len(content["nodes"])
    else:
        noun, total, shown = "Nodes", content["node_count"], len(content["nodes"])
    return (
        f"{noun} {end - shown + 1} to {end} of {total}. Continue with offset={end}, limit={shown}."
    )
