"""What all seeds share: the part of a traversal within reach of each (`protocol.md` 6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.engine.traverse import Reach
from bfsql.errors import FirstRingUnfinished
from bfsql.models import Triple


async def intersect(db: GraphDbInterface, reach: Reach) -> Reach:
    """Narrow a traversal to the nodes within its depth of every seed, and the edges among them.

    One store call: the edges of the outermost common nodes, which no expansion
    has read. When the deadline leaves no time for it, the result is that of one
    hop less, whose edges are all known.

    Args:
        db: The graph.
        reach: A traversal from all seeds.

    Raises:
        FirstRingUnfinished: The deadline passed, and there is no depth below the first.
    """
    if not reach.nodes:
        return reach
    common = _within_every(reach.edges, reach.seeds, reach.depth)
    outermost = [i for ring in reach.rings[reach.depth :] for i in ring if i in common]
    if not outermost:
        return _narrowed(reach, common)
    try:
        ring = list(await call.within(db.edges_batch(outermost)))
    except TimeoutError as late:
        if reach.depth == 1:
            raise FirstRingUnfinished(reach.seeds, call.seconds(), None) from late
        shallower = replace(reach, depth=reach.depth - 1, stopped_by="deadline")
        return _narrowed(shallower, _within_every(reach.edges, reach.seeds, shallower.depth))
    return _narrowed(reach, common, ring)


def _within_every(edges: Iterable[Triple], seeds: Sequence[str], hops: int) -> set[str]:
    """The nodes that are within so many hops of every seed.

    One bit a seed: in each round every node takes over the bits of its
    neighbours, so all seeds are followed at once.
    """
    reached = {seed: 1 << position for position, seed in enumerate(seeds)}
    pairs = {(subject, object_) for subject, _, object_ in edges}
    for _ in range(hops):
        before = dict(reached)
        for one, other in pairs:
            of_one, of_other = before.get(one, 0), before.get(other, 0)
            if of_one != of_other:
                reached[one] = reached.get(one, 0) | of_other
                reached[other] = reached.get(other, 0) | of_one
    everyone = (1 << len(seeds)) - 1
    return {entity_id for entity_id, bits in reached.items() if bits == everyone}


def _narrowed(reach: Reach, common: set[str], further: Iterable[Triple] = ()) -> Reach:
    """The reach without all but the common nodes; dangling edges stay where they touch one."""
    dangling = {
        end: touching
        for end, ends in reach.dangling.items()
        if (touching := [e for e in ends if e[0] in common or e[2] in common])
    }
    edges = {e for e in reach.edges if e[0] in common and e[2] in common}
    edges.update((s, p, o) for s, p, o in further if s in common and o in common)
    return replace(
        reach,
        seeds=[seed for seed in reach.seeds if seed in common],
        rings=[[i for i in ring if i in common] for ring in reach.rings],
        nodes={i: node for i, node in reach.nodes.items() if i in common},
        edges=edges,
        dangling=dangling,
    )
