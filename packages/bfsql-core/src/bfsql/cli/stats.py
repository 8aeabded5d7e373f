"""`bfsql stats`: counts of what a graph contains.

Types and relations come from the backend's outline. Degrees of single nodes come from its columns,
which only backends that number their nodes have, such as the embedded store. Any other store would
have to be read as a whole, so for these the mean by type is computed from the outline's counts.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from bfsql import call
from bfsql.answers.notes import counted
from bfsql.cli.configuration import Configuration
from bfsql.cli.configured import ConfiguredCommand, opened
from bfsql.models import Outline

if TYPE_CHECKING:
    from bfsql.graph import Graph
    from bfsql.integers import IntegerGraph

HUBS = 10
"""Number of nodes with the most edges to show."""


@dataclass(frozen=True, slots=True)
class Hub:
    """A node with many edges."""

    id: str
    entity_type: str
    name: str | None
    degree: int


@dataclass(frozen=True, slots=True)
class Degrees:
    """The numbers of edges of nodes; a loop counts once."""

    mean: float
    median: int
    percentile_90: int
    percentile_99: int
    largest: int
    isolated: int
    """Nodes without an edge."""
    dangling_edges: int
    """Edges with an end that is not a node; answers do not contain them."""
    hubs: tuple[Hub, ...]


@dataclass(frozen=True, slots=True)
class Stats:
    """The counts of a graph."""

    outline: Outline
    degrees: Degrees | None
    """None if the backend has no columns."""
    counted: bool = True
    """Whether the backend has an outline."""

    @property
    def nodes(self) -> dict[str, int]:
        """The number of nodes by type, the most frequent first; empty if they are not counted."""
        return dict(Counter(self.outline.node_counts).most_common())

    def document(self) -> dict[str, Any]:
        """The counts as JSON."""
        outline = self.outline
        return {
            "nodes": self.nodes,
            "edges": outline.edge_counts,
            "relations": [relation.fields() for relation in outline.relations],
            "relations_from": outline.relations_from,
            "mean_degrees": outline.mean_degrees,
            "degrees": self.degrees and asdict(self.degrees),
        }


@click.command("stats", cls=ConfiguredCommand, graph=True, examples=("bfsql stats films.db",))
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def stats(configuration: Configuration, *, as_json: bool) -> None:
    """Count the types, predicates, degrees and hubs of a graph.

    GRAPH is a graph's file: one made by `bfsql load`, or RDF. For other stores,
    use the options.
    """
    found = asyncio.run(_counted(configuration))
    if as_json or not sys.stdout.isatty():
        click.echo(json.dumps(found.document(), ensure_ascii=False, indent=2))
        return
    show_stats(found)


async def _counted(configuration: Configuration) -> Stats:
    async with opened(configuration) as graph:
        with call.scope():
            return await stats_of(graph)


async def stats_of(graph: Graph) -> Stats:
    """The counts of an open graph."""
    outline = await graph.shown.outline()
    return Stats(outline or Outline(), await degrees_of(graph), counted=outline is not None)


async def degrees_of(graph: Graph) -> Degrees | None:
    """The numbers of edges of the nodes of an open graph; None if the backend has no columns."""
    import numpy as np

    from bfsql.integers import NO_NODE

    columns = graph.shown.columns()
    if columns is None:
        return None
    every = np.arange(columns.size, dtype=np.int32)
    types = await columns.types(every)
    is_node = types != NO_NODE
    degrees = np.zeros(columns.size, dtype=np.int64)
    dangling = 0
    async for ring in columns.rings(every[is_node]):
        whole = is_node[ring.subjects] & is_node[ring.objects]
        dangling += len(whole) - int(whole.sum())
        subjects, objects = ring.subjects[whole], ring.objects[whole]
        degrees += np.bincount(subjects, minlength=columns.size)
        degrees += np.bincount(objects[objects != subjects], minlength=columns.size)
    of_nodes = degrees[is_node] if is_node.any() else np.zeros(1, dtype=np.int64)
    largest = np.lexsort((every, -degrees))[:HUBS]
    median, high, highest = (int(value) for value in np.percentile(of_nodes, (50, 90, 99)))
    return Degrees(
        mean=round(float(of_nodes.mean()), 2),
        median=median,
        percentile_90=high,
        percentile_99=highest,
        largest=int(of_nodes.max()),
        isolated=int((of_nodes == 0).sum()) if is_node.any() else 0,
        dangling_edges=dangling,
        hubs=await _hubs(graph, columns, largest, degrees),
    )


async def _hubs(graph: Graph, columns: IntegerGraph, handles: Any, degrees: Any) -> tuple[Hub, ...]:
    handles = handles[degrees[handles] > 0]
    ids = await columns.ids(handles)
    types = await columns.types(handles)
    metadata = await graph.shown.metadata_for_nodes_batch(ids, keys=["name"])
    return tuple(
        Hub(id_, columns.type_names[type_], metadata.get(id_, {}).get("name"), int(degree))
        for id_, type_, degree in zip(ids, types, degrees[handles], strict=True)
    )


def size_text(outline: Outline) -> str:
    """The numbers of nodes and edges in words, as far as they are counted."""
    nodes, edges = sum(outline.node_counts.values()), sum(outline.edge_counts.values())
    unknown = not outline.node_counts and (outline.relations or outline.sampled)
    of_nodes = "nodes not counted" if unknown else counted(nodes, "node", ",")
    if not outline.sampled:
        return f"{of_nodes}, {counted(edges, 'edge', ',')}"
    return f"{of_nodes}, edges not counted: the relations come from a sample of the graph"


def show_stats(found: Stats) -> None:
    """Print the counts as tables."""
    from bfsql.cli.render import print_table

    outline = found.outline
    not_counted = "Nodes and edges are not counted: the backend has no outline of its graph."
    click.echo(size_text(outline) if found.counted else not_counted)
    tables = (("type", "nodes"), found.nodes), (("predicate", "edges"), outline.edge_counts)
    for heads, counts in tables:
        if counts:
            print_table(heads, [(name, f"{n:,}") for name, n in counts.items()])
    shown = outline.relations[:20]  # the first only; JSON has all of them
    rows = [(*relation[:3], f"{relation.edges or 0:,}") for relation in shown]
    columns = 3 if outline.sampled else 4
    print_table(("from", "predicate", "to", "edges")[:columns], [row[:columns] for row in rows])
    if len(outline.relations) > len(shown):
        click.echo(f"{len(outline.relations) - len(shown):,} more relations; --json has all.")
    if found.degrees is None:
        if outline.mean_degrees:
            means = list(outline.mean_degrees.items())[:HUBS]
            print_table(("type", "edges per node"), [(name, f"{mean:g}") for name, mean in means])
        click.echo(
            "The degrees of single nodes and the largest hubs are not counted, because this "
            "backend would have to read every edge. `bfsql describe-entity ID` counts the edges of "
            "one node."
        )
        return
    degrees = found.degrees
    click.echo(
        f"Edges per node: {degrees.mean:g} on average, median {degrees.median:,}, 90th percentile "
        f"{degrees.percentile_90:,}, 99th percentile {degrees.percentile_99:,}, largest "
        f"{degrees.largest:,}. {degrees.isolated:,} nodes have no edges; "
        f"{degrees.dangling_edges:,} edges dangle."
    )
    hubs = [(hub.id, hub.entity_type, hub.name or "", f"{hub.degree:,}") for hub in degrees.hubs]
    print_table(("hub", "type", "name", "edges"), hubs)
