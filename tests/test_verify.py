"""Claims about drawn graphs over each kind of store: what is decided is right."""

import random
from collections import Counter

import pytest

from bfsql import MemoryBackend
from bfsql.models import PropertyCondition, evidence_items
from bfsql.models.matching import folded
from bfsql_test_support.drawn_answers import KINDS, served
from bfsql_test_support.drawn_graphs import DrawnGraph, drawn_graph


class Oracle:
    def __init__(self, drawn: DrawnGraph) -> None:
        self.drawn = drawn
        self.db = MemoryBackend(KINDS[kind](*values) for kind, *values in drawn.records)
        self.types, self.edges = self.db._types, self.db._edge_metadata
        self.names = {i: m.get("name") or i for i, m in self.db._node_metadata.items()}
        self.stored = [t for t in sorted(self.edges) if {t[0], t[2]} <= self.types.keys()]

    def claims(self, draw: random.Random) -> dict[str, tuple[bool, tuple[str, str, str], bool]]:
        """Claims, each with whether it is stored, its triple, and whether it has only ids."""
        ids, predicates = sorted(self.types), [*self.drawn.predicates, "unheard of"]
        stored = draw.sample(self.stored, min(len(self.stored), 40))
        made = [(draw.choice(ids), draw.choice(predicates), draw.choice(ids)) for _ in stored]
        shared, claims = Counter(map(folded, self.names.values())), {}
        for triple in [*stored, *made, *((o, p, s) for s, p, o in stored)]:
            subject, predicate, other = triple
            claims[f"{subject} -{predicate}-> {other}"] = (triple in self.edges, triple, True)
            if draw.random() < 0.3:
                text = f"{self.names[other]} <-{predicate}- {self.names[subject]}"
                if all(shared[folded(self.names[one])] == 1 for one in (subject, other)):
                    claims[text] = (triple in self.edges, triple, False)
            if draw.random() < 0.3:
                year = draw.choice(("2010", "1998", "2004"))
                holds = PropertyCondition("year", "=", (year,)).holds(self.db._node_metadata[other])
                text = f"{subject} -{predicate}-> {other}[year={year}]"
                claims[text] = (triple in self.edges and holds, triple, False)
        return claims


@pytest.mark.slow
async def test_claims_of_drawn_graphs_are_decided_right():
    counts, draw = Counter[str](), random.Random("claims")
    for number in range(40):
        drawn = drawn_graph(number)
        oracle = Oracle(drawn)
        if not (claims := oracle.claims(draw)):
            continue
        async with served(drawn.form, drawn.limits, drawn.records) as graph:
            verdicts = await graph.verify("\n".join(claims))
        assert [one.claim for one in verdicts] == list(claims)
        whole = not {"max_tokens", "max_nodes", "max_edges", "max_answer_bytes"} & {*drawn.limits}
        for one in verdicts:
            is_stored, triple, ids = claims[one.claim]
            right = {"stored"} if is_stored else {"not stored"}
            hides = drawn.form in ("redacted", "hidden") and not ids
            if not whole or drawn.form == "lossy" or hides:
                right.add("undecided")
            if drawn.form == "lossy" and triple[0][-1] not in "3469" and triple[2][-1] in "3469":
                continue  # it says of the other end alone that it left this edge out
            assert one.verdict in right, (number, drawn.form, drawn.limits, one)
            counts[one.verdict] += 1
            if one.verdict == "stored":
                [edge] = one.edges
                assert (edge.subject, edge.predicate, edge.object) == triple
                items = evidence_items(triple, oracle.edges[triple])
                first = [item["document_id"] for item in items[:1]]
                assert [item.get("document_id") for item in one.evidence] == first
                assert one.evidence_count == len(items)
    assert min(counts["stored"], counts["not stored"]) > 1_000
