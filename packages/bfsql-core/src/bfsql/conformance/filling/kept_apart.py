"""Near misses: what only looks like an id or a triple that is there."""

from __future__ import annotations

from bfsql.conformance.rule import Broken, expect, rule
from bfsql.conformance.trial import Trial
from bfsql.models import Edge, EdgeRecord, NodeRecord

PATTERNS = ("%", "pat:%", "pat:a_", "pat:*", "pat:a?", "pat:.*", "pat:[a]b", "*")
"""Ids that match `pat:ab` in one language of patterns or another."""

JOINS = (":", "|", "/", "\t", "->")
"""What careless stores put between the parts of a triple to make one key of it."""


@rule(
    "ids-no-patterns",
    "an id is no pattern",
    source="protocol 24: a near miss is an error with candidates",
    mode="filling",
)
async def ids_no_patterns(trial: Trial) -> None:
    """What matches a node's id in LIKE, a glob or a regular expression is unknown."""
    nodes = [NodeRecord("pat:ab", "Thing", {"name": "one"}), NodeRecord("pat:cd", "Thing", {})]
    async with trial.filled([*nodes, EdgeRecord("pat:ab", "near", "pat:cd")]) as db:
        for pattern in PATTERNS:
            for ask in (db.get_node, db.edges_from, db.edges_to, db.metadata_for_node):
                try:
                    answer = await ask(pattern)
                except KeyError:
                    continue
                raise Broken(f"{ask.__name__}({pattern!r}) gave {answer!r}; that id is unknown.")
        found = [node.id for node in await db.get_nodes_batch(PATTERNS)]
        expect(not found, f"get_nodes_batch of patterns gave {found}; those ids are unknown.")
        expect(not list(await db.edges_batch(PATTERNS)), "edges_batch of patterns gave edges.")


@rule(
    "triples-apart",
    "triples that join to the same text are different edges",
    source="protocol 7: an edge's identity is (subject, predicate, object)",
    mode="filling",
)
async def triples_apart(trial: Trial) -> None:
    """`a:b` - `c` - `d` and `a` - `b:c` - `d`, with all that is used to join."""
    for join in JOINS:
        one, other = Edge(f"a{join}b", "c", "d"), Edge("a", f"b{join}c", "d")
        ids = (one.subject, other.subject, "d")
        records = trial.kept(
            [
                *(NodeRecord(i, "Thing", {"name": i}) for i in ids),
                EdgeRecord(*one, {"mark": "one"}),
                EdgeRecord(*other, {"mark": "other"}),
            ]
        )
        wanted = [r.metadata.get("mark") for r in records if isinstance(r, EdgeRecord)]
        async with trial.filled(records) as db:
            marks = [(await db.metadata_for_edge(e)).get("mark") for e in (one, other)]
            expect(marks == wanted, f"{one} and {other} have the marks {marks}; right: {wanted}.")
            batch = {
                tuple(e): m for e, m in (await db.metadata_for_edges_batch([one, other])).items()
            }
            marks = [batch.get(tuple(e), {}).get("mark") for e in (one, other)]
            expect(marks == wanted, f"In a batch, {one} and {other} have the marks {marks}.")
