"""An answer in a notebook: a picture and a table, as HTML without scripts or styles of its own.

Everything that comes from the graph is escaped. Picture, table and texts are bounded, so that an
answer of any size produces a cell of at most some hundred kilobytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from bfsql.answers.clean import encode
from bfsql.answers.tables import Row, edge_rows, node_rows
from bfsql.models.characters import escaped

MAX_NODES, MAX_EDGES = 150, 400
"""Maximum numbers of nodes and edges in a picture."""
MAX_ROWS, MAX_LABELS, MAX_PREDICATES = 50, 40, 30
MAX_NOTES, MAX_NOTE = 20, 1_000

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
"""The palette of Okabe and Ito, distinguishable by colour-blind readers; types cycle through it."""

_WIDTH, _HEIGHT = 720, 440
_MARGIN = (80, 30)
"""Horizontal margin, which leaves room for names, and vertical margin."""
_RADIUS, _SEED_RADIUS = 6, 9
_LABEL = 24
"""Maximum number of characters of a name in the picture."""
_LABEL_WIDTH, _LABEL_HEIGHT = 110, 13
_OF_STUBS = frozenset({"id", "entity_type", "seed", "via", "paths", "distinct", "measure"})
"""The fields of an entity without its metadata."""


def as_html(content: Mapping[str, Any], notes: Sequence[str], tokens: int) -> str:
    """Render the content of an answer, with its notes and its number of tokens, as HTML."""
    nodes, edges = node_rows(content), edge_rows(content)
    said = [f"<p>{_text(note, MAX_NOTE)}</p>" for note in notes[:MAX_NOTES]]
    picture = [_picture(nodes, edges)] if edges else []
    table = _table(nodes) if nodes else _fields(content)
    return "".join(["<div>", *picture, _summary(content, tokens), *said, table, "</div>"])


def _summary(content: Mapping[str, Any], tokens: int) -> str:
    counts = {"nodes": content.get("node_count"), "edges": content.get("edge_count")}
    known = [f"{name}: {count:,}" for name, count in counts.items() if count is not None]
    return f"<p><b>{', '.join([*known, f'tokens: about {tokens:,}'])}</b></p>"


# The picture


def _picture(nodes: Sequence[Row], edges: Sequence[Row]) -> str:
    """Nodes and edges as an SVG; colours represent types, and pale nodes are stubs."""
    shown = _picture_nodes(nodes, edges)
    number = {row["id"]: at for at, row in enumerate(shown)}
    drawn = [e for e in edges if e["subject"] in number and e["object"] in number][:MAX_EDGES]
    pairs = [(number[edge["subject"]], number[edge["object"]]) for edge in drawn]
    places = _layout(len(shown), pairs)
    types = sorted({row.get("entity_type", "") for row in shown})
    colours = {name: COLOURS[at % len(COLOURS)] for at, name in enumerate(types)}
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    alternative = f"{len(shown)} nodes and {len(drawn)} edges; the table has the same nodes"
    named = len(drawn) <= MAX_PREDICATES
    lines = [
        _line(edge, places[start], places[end], named=named)
        for edge, (start, end) in zip(drawn, pairs, strict=True)
    ]
    labelled = _labelled(places)
    circles = [
        _circle(row, place, colours[row.get("entity_type", "")], labelled=at in labelled)
        for at, (row, place) in enumerate(zip(shown, places, strict=True))
    ]
    legend = " ".join(f"{_dot(colours[name])} {_text(name)}" for name in types if name)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{alternative}" '
        f'font-family="sans-serif" font-size="11">{"".join([*lines, *circles])}</svg>'
        f"<p>{legend}</p>"
    )


def _dot(colour: str) -> str:
    return f'<svg width="10" height="10"><circle cx="5" cy="5" r="5" fill="{colour}"/></svg>'


def _picture_nodes(nodes: Sequence[Row], edges: Sequence[Row]) -> list[Row]:
    """The nodes of the picture: those of the answer, then the other ends of its edges."""
    found = {row["id"]: row for row in nodes}
    for edge in edges:
        for end in (edge["subject"], edge["object"]):
            found.setdefault(end, {"id": end})
    return list(found.values())[:MAX_NODES]


def _layout(count: int, pairs: Sequence[tuple[int, int]]) -> npt.NDArray[np.float64]:
    """Positions for nodes, by Fruchterman and Reingold; equal graphs have equal positions.

    `pairs` are the numbers of the nodes that edges connect.
    """
    turn = np.arange(count) * 2.399963  # the golden angle, in radians
    places = np.sqrt((np.arange(count) + 0.5) / count)[:, None] * np.c_[np.cos(turn), np.sin(turn)]
    near = np.zeros((count, count))
    for one, other in pairs:
        near[one, other] = near[other, one] = 1.0
    distance = 1.6 / np.sqrt(count)
    for step in np.linspace(0.15, 0.005, num=80):
        apart = places[:, None, :] - places[None, :, :]
        lengths = np.maximum(np.hypot(apart[..., 0], apart[..., 1]), 1e-3)
        forces = distance**2 / lengths**2 - near * lengths / distance
        moves = (apart * forces[..., None]).sum(axis=1) - 0.2 * places
        reach = np.maximum(np.hypot(moves[:, 0], moves[:, 1]), 1e-9)
        places = places + moves * (np.minimum(reach, step) / reach)[:, None]
    low, high = places.min(axis=0), places.max(axis=0)
    margin = np.array(_MARGIN)
    room = np.array([_WIDTH, _HEIGHT]) - 2 * margin
    scaled = (places - low) / np.maximum(high - low, 1e-9) * room + margin
    return np.asarray(scaled, dtype=np.float64)


def _labelled(places: npt.NDArray[np.float64]) -> set[int]:
    """The first nodes whose names do not overlap."""
    taken: list[int] = []
    for at, place in enumerate(places):
        apart = np.abs(places[taken] - place)
        if not ((apart[:, 0] < _LABEL_WIDTH) & (apart[:, 1] < _LABEL_HEIGHT)).any():
            taken.append(at)
    return set(taken[:MAX_LABELS])


def _line(
    edge: Row, start: npt.NDArray[np.float64], end: npt.NDArray[np.float64], *, named: bool
) -> str:
    """An edge with its arrowhead at the rim of the object, and a tooltip."""
    way = end - start
    length = float(np.hypot(*way))
    if length < 1:
        return ""
    along = way / length
    across = np.array([-along[1], along[0]])
    tip = end - along * _RADIUS
    left, right = (tip - along * 7 + across * side for side in (3, -3))
    x1, y1, x2, y2 = (f"{value:.1f}" for value in (*start, *tip))
    head = " ".join(f"{x:.1f},{y:.1f}" for x, y in (tip, left, right))
    title = f"{edge['subject']} {edge['predicate']} {edge['object']}"
    x, y = (f"{value:.1f}" for value in (start + end) / 2)
    name = (
        f'<text x="{x}" y="{y}" text-anchor="middle" fill="#888888" font-size="9">'
        f"{_text(edge['predicate'], _LABEL)}</text>"
        if named
        else ""
    )
    return (
        f'<g><title>{_text(title)}</title><line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" '
        f'stroke="#888888" stroke-opacity="0.6"/>'
        f'<polygon points="{head}" fill="#888888"/>{name}</g>'
    )


def _circle(row: Row, place: npt.NDArray[np.float64], colour: str, *, labelled: bool) -> str:
    x, y = (f"{value:.1f}" for value in place)
    is_stub = _OF_STUBS.issuperset(row)
    radius = _SEED_RADIUS if row.get("seed") else _RADIUS
    opacity = "0.45" if is_stub else "1"
    title = f"{_name(row)} ({row.get('entity_type', 'not in this answer')}) {row['id']}"
    label = (
        f'<text x="{x}" y="{float(place[1]) - radius - 3:.1f}" text-anchor="middle" '
        f'fill="currentColor">{_text(_name(row), _LABEL)}</text>'
        if labelled
        else ""
    )
    rim = ' stroke="currentColor" stroke-width="2"' if row.get("seed") else ""
    return (
        f'<g><title>{_text(title)}</title><circle cx="{x}" cy="{y}" r="{radius}" fill="{colour}" '
        f'fill-opacity="{opacity}"{rim}/>{label}</g>'
    )


# The table


def _table(nodes: Sequence[Row]) -> str:
    """A table with a row for each of the first entities."""
    heads = "".join(f"<th>{head}</th>" for head in ("id", "entity_type", "name", "more"))
    more = len(nodes) - MAX_ROWS
    rest = f"<p>{more:,} more are not shown here; to_pandas() has all.</p>" if more > 0 else ""
    return (
        f"<table><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(map(_table_row, nodes[:MAX_ROWS]))}</tbody></table>{rest}"
    )


def _table_row(row: Row) -> str:
    named = ("id", "entity_type", "name")
    more = {name: value for name, value in row.items() if name not in (*named, "seed")}
    cells = [*(row.get(name, "") for name in named), more or ""]
    return f"<tr>{''.join(f'<td>{_value(cell)}</td>' for cell in cells)}</tr>"


def _fields(content: Mapping[str, Any]) -> str:
    """The fields of an answer without entities, such as the schema."""
    rows = "".join(
        f"<tr><th>{_text(name)}</th><td>{'<br/>'.join(_values(value))}</td></tr>"
        for name, value in content.items()
        if name != "notes"
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        yield from map(_value, value[:MAX_ROWS])
        yield from ["..."] if len(value) > MAX_ROWS else []
    else:
        yield _value(value)


def _value(value: Any) -> str:
    return _text(value if isinstance(value, str) else encode(value).decode())


def _name(row: Row) -> str:
    name = row.get("name")
    return name if isinstance(name, str) else str(row["id"])


def _text(text: str, most: int = 120) -> str:
    """Escaped and shortened text; characters that hide or reorder it are shown as escapes."""
    short = text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
    return escape(escaped(short))
