"""The server gives the same answers as the reference in memory, whatever the records."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bfsql.answers.clean import clean_metadata
from bfsql.models import EvidenceRecord, NodeRecord
from bfsql_neo4j import Neo4jBackend
from bfsql_neo4j.load.loader import load_graph
from bfsql_test_support.suites.agreement import assert_agreed, graphs, values, without_dangling

IDS = st.sampled_from(["a", "b", "B", "ä", "c d", "e'\"`", "42", "007", "4.20", "true", "🜁", ""])
KEPT_CASE = st.sampled_from(["TREATS", "treats", "is\na", "a`b\\u0060"])
LOWER = st.sampled_from(["treats", "is\na", "näher `an`"])
# Each example needs a load, which takes seconds: the embedded store is tested with eighty such
# examples. Shrinking would take minutes.
WITHOUT_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]
VALUES = values(null=False)


def drawn(predicates):
    types = st.sampled_from(["drug", "Disease", "two words", ""])
    return graphs(IDS, predicates, types, any_value=VALUES, node={"entity_id": VALUES})


async def agree(settings, records, upper):
    # Neo4j has no relationships without both of their nodes.
    able = without_dangling(records)
    stored = [in_capitals(record) for record in able] if upper else able
    await load_graph(settings, stored)
    backend = await Neo4jBackend.open(settings)
    try:
        await assert_agreed(backend, able, cleaned=clean_metadata)
    finally:
        await backend.close()


def in_capitals(record):
    if isinstance(record, NodeRecord):
        return record
    kind, rest = type(record), (record.subject, record.predicate.upper(), record.object)
    return kind(*rest, record.item if isinstance(record, EvidenceRecord) else record.metadata)


class TestAgreement:
    @pytest.fixture(autouse=True)
    def _on_the_server(self, settings):
        type(self).settings = settings

    @given(drawn(KEPT_CASE))
    @settings(max_examples=3, phases=WITHOUT_SHRINKING, suppress_health_check=list(HealthCheck))
    async def test_the_server_and_the_reference_tell_the_same_of_every_graph(self, records):
        kept = self.settings.model_copy(update={"preserve_case": True})
        await agree(kept, records, upper=False)

    @given(drawn(LOWER))
    @settings(max_examples=2, phases=WITHOUT_SHRINKING, suppress_health_check=list(HealthCheck))
    async def test_types_in_capitals_are_predicates_in_lower_case(self, records):
        await agree(self.settings, records, upper=True)
