"""How many statements an answer costs, according to the server's log.

One for the seeds, and one for each ring, which includes the types of its ends; then one for
metadata of nodes, and one for that of edges with evidence.
"""

import pytest

from bfsql.graph import open_graph
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql_postgres import PostgresBackend, PostgresSettings, load_graph
from bfsql_test_support.case_table import case_table

BRANCHES, LEVELS = 6, 4
EDGES = sum(BRANCHES**level for level in range(1, LEVELS + 1))
TOPOLOGY = 1
"""Statements of an answer in addition to its rings: one for the seeds."""
FULL = 3
"""The same with metadata of nodes and of edges."""


def tree():
    """Each node has `BRANCHES` children; every edge has evidence, and some edges are parallel."""
    level = ["n"]
    yield NodeRecord("n", "T")
    for _ in range(LEVELS):
        below = []
        for above in level:
            for branch in range(BRANCHES):
                node = f"{above}{branch}"
                below.append(node)
                yield NodeRecord(node, "TU"[branch % 2], {"name": node, "x": branch})
                yield EdgeRecord(above, "p", node, {"confidence": 0.5})
                yield EvidenceRecord(above, "p", node, {"document_id": "d", "text_span": node})
        level = below
    yield EdgeRecord("n", "p", "n0", {"confidence": 0.75})


class Log:
    """The server's log of the statements that a role sends."""

    def __init__(self, path, database):
        self._path = path
        self._database = database

    async def begin(self):
        """Log everything that the reader runs from now on."""
        await self._database.run(f"ALTER ROLE {self._database.reader} SET log_statement = 'all'")
        self.skip()

    def skip(self):
        """Ignore everything logged so far."""
        self._read = self._path.stat().st_size

    def statements(self):
        """The statements logged since then, each by its first line."""
        text = self._path.read_bytes()[self._read :].decode()
        marks = ("LOG:  execute ", "LOG:  statement: ")
        return [line for line in text.splitlines() if any(mark in line for mark in marks)]


@pytest.fixture(params=["bundle_evidence", "evidence"])
async def counted(request, postgres):
    """The tree in each layout of evidence, and the log of its statements."""
    async with postgres.database() as database:
        owner = PostgresSettings(dsn=database.owner_url, evidence_layout=request.param)
        await load_graph(owner, tree())
        log = Log(postgres.process.log, database)
        # A role may not change what is logged, but the superuser may change it for the role.
        await log.begin()
        backend = await PostgresBackend.create(database.reader_url)
        yield backend, log
        await backend.close()
        await database.run(f"ALTER ROLE {database.reader} RESET log_statement")


async def test_opening_a_graph_is_a_statement_or_two(counted):
    _, log = counted
    assert 1 <= len(log.statements()) <= 2


@case_table("topology_only", {"topology": True, "full": False})
async def test_an_answer_needs_few_statements_whatever_the_size_of_its_rings(
    counted, topology_only
):
    backend, log = counted
    nodes = 1
    for hops in (1, 2, 3):
        nodes += BRANCHES**hops
        async with open_graph(backend) as graph:  # each with an empty cache
            log.skip()
            answer = await graph.bfs_query(
                ["n"], max_hops=hops, topology_only=topology_only, max_tokens=0
            )
        sent = log.statements()
        assert answer.content["node_count"] == nodes
        assert answer.content["edge_count"] == nodes - 1
        most = hops + (TOPOLOGY if topology_only else FULL)
        # If the first ring arrives within 0.1 s, the look-up of the seeds is unnecessary.
        assert most - 1 <= len(sent) <= most, "\n".join(sent)


async def test_a_filtered_answer_and_an_intersection_need_no_more(counted):
    backend, log = counted
    async with open_graph(backend) as graph:
        log.skip()
        await graph.bfs_query(["n"], max_hops=3, node_types=["U"], predicates=["p"], max_tokens=0)
        assert 3 + FULL - 1 <= len(log.statements()) <= 3 + FULL
    async with open_graph(backend) as graph:
        log.skip()
        await graph.intersect_subgraphs(["n00", "n01"], k=2)
        # One more ring than hops, for the edges between the outermost nodes.
        assert 2 + FULL <= len(log.statements()) <= 2 + 1 + FULL


async def test_details_of_one_node_or_many_are_as_many_statements(counted):
    backend, log = counted
    ids = [f"n{a}{b}" for a in range(BRANCHES) for b in range(BRANCHES)]
    found = []
    for asked in (ids[:1], ids):
        async with open_graph(backend) as graph:
            log.skip()
            await graph.describe_entities(asked)
            found.append(len(log.statements()))
    assert found[0] == found[1] <= FULL
    log.skip()
    assert (await backend.provenance_for_node("n", 20))["total"] == BRANCHES
    assert (await backend.provenance_for_node("d", 20))["total"] == EDGES
    assert len(log.statements()) <= 4
