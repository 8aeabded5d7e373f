"""Outcomes of rules, and how they are reported as text, as JSON and to pytest."""

import asyncio
import json
from contextlib import asynccontextmanager, nullcontext

import pytest

from bfsql.abc import GraphDbInterface
from bfsql.errors import StoreUnavailable
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_testing.conformance import (
    RULES,
    Trial,
    judge,
    judge_all,
    never,
    notimpl,
    notyet,
    report,
    rules,
)
from bfsql_testing.conformance.graphs import dangling, parallel, village
from bfsql_testing.suite import raise_outcome

RULE = RULES["both-directions"]


class OneWay(MemoryBackend):
    async def edges_to(self, entity_id):
        return []


class Gone(MemoryBackend):
    async def get_node(self, entity_id):
        raise StoreUnavailable("The machine is off. Turn it on.")


class Hanging(MemoryBackend):
    async def edges_from(self, entity_id):
        await asyncio.Event().wait()


def trial_of(backend, **ways) -> Trial:
    @asynccontextmanager
    async def fill(records):
        yield backend(records)

    return Trial(fill=fill, **ways)


async def test_a_rule_that_holds_holds():
    finding = await judge(RULE, trial_of(MemoryBackend))
    assert finding.outcome == "holds"
    raise_outcome(finding)


async def test_a_broken_rule_tells_what_was_asked_and_what_came():
    finding = await judge(RULE, trial_of(OneWay))
    assert finding.outcome == "broken"
    assert "but edges_to('s:1') does not" in finding.reason
    with pytest.raises(pytest.fail.Exception, match="rule both-directions; the backend contract"):
        raise_outcome(finding)


@pytest.mark.parametrize("word", [notimpl, notyet, never])
async def test_an_opt_out_shows_its_word_and_its_reason(word):
    finding = await judge(RULE, trial_of(OneWay), word("Nobody asks backwards."))
    assert finding.outcome == "excused"
    with pytest.raises(pytest.xfail.Exception, match=f"{word.__name__}: Nobody asks backwards."):
        raise_outcome(finding)
    assert f"{word.__name__}: Nobody asks backwards." in report.text([finding])


async def test_an_opt_out_from_a_rule_that_holds_is_reported():
    finding = await judge(RULE, trial_of(MemoryBackend), notyet("Some day."))
    assert finding.outcome == "needless"
    with pytest.raises(pytest.fail.Exception, match="Remove the opt-out"):
        raise_outcome(finding)


def test_an_opt_out_needs_a_reason():
    with pytest.raises(ValueError, match="needs a reason"):
        never(" ")


async def test_a_rule_that_nobody_gives_a_way_to_is_not_tried():
    finding = await judge(RULES["query-text"], trial_of(MemoryBackend))
    assert finding.outcome == "untried"
    with pytest.raises(pytest.skip.Exception, match="does not define queries_of"):
        raise_outcome(finding)


async def test_a_store_that_is_gone_is_distinguished_from_a_broken_backend():
    finding = await judge(RULES["own-identity"], trial_of(Gone))
    assert finding.outcome == "unreachable"
    assert not report.passed([finding])
    assert report.verdict([finding]).startswith("The store stopped answering")
    with pytest.raises(pytest.fail.Exception, match="The machine is off"):
        raise_outcome(finding)


async def test_a_backend_that_hangs_breaks_the_rule_in_the_rules_time():
    open_ = lambda: nullcontext(Hanging(parallel()))
    finding = await judge(RULE, Trial(open=open_, sample=["p:1"], rule_seconds=0.05))
    assert (finding.outcome, finding.reason) == ("broken", "No answer within 0.05 s.")


async def test_a_whole_check_keeps_its_time():
    trial = Trial(open=lambda: nullcontext(Hanging(parallel())), sample=["p:1"])
    findings = await judge_all(rules("reading"), trial, seconds=0.5)
    assert len(findings) == len(rules("reading"))
    late = [f for f in findings if f.reason == "The time limit of the whole check was reached."]
    assert late
    assert {finding.outcome for finding in late} == {"untried"}


async def test_a_store_with_unusual_data_is_distinguished_from_a_broken_backend():
    trial = Trial(open=lambda: nullcontext(MemoryBackend(dangling())), sample=["d:1", "d:2"])
    findings = await judge_all(rules("reading"), trial)
    assert report.passed(findings)
    document = json.loads(json.dumps(report.document(findings)))
    assert document["passed"]
    assert document["oddities"] == ["Ends of examined edges that are not nodes: 2."]
    assert document["verdict"].startswith(
        "The backend satisfies the rules; its store has unusual data."
    )
    assert [one["id"] for one in document["rules"]] == [known.id for known in rules("reading")]


async def test_a_store_without_nodes_passes_nothing_off_as_right():
    trial = Trial(open=lambda: nullcontext(MemoryBackend()))
    finding = await judge(RULE, trial)
    assert (finding.outcome, "No node to examine was found" in finding.reason) == ("untried", True)
    findings = await judge_all(rules("reading"), trial)
    assert not report.passed(findings)
    [broken] = [finding for finding in findings if finding.outcome == "broken"]
    assert "search_entities returned none for 'a', 'e', 'the' and" in broken.reason


class Numbered(MemoryBackend):
    async def search_entities(self, query, node_types=None):
        return [hit._replace(id=7) for hit in await super().search_entities(query, node_types)]


class TextsAsMetadata(MemoryBackend):
    async def metadata_for_node(self, entity_id):
        return "name"

    metadata_for_nodes_batch = GraphDbInterface.metadata_for_nodes_batch


class Unreadable(MemoryBackend):
    async def get_nodes_batch(self, ids):
        return []


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        (Numbered, "search_entities('a') returned EntityStub(id=7, "),
        (TextsAsMetadata, "returned 'name' (str); right is Mapping[str, Any], in which ids, "),
        (Unreadable, "get_nodes_batch returned none for 'doc:1', "),
    ],
)
async def test_a_wrong_type_is_named_in_every_rule_that_fails_by_it(backend, reason):
    trial = Trial(open=lambda: nullcontext(backend(village())), words=["a", "s:0"])
    for rule in (RULES["return-types"], RULES["tools-answer"]):
        finding = await judge(rule, trial)
        assert reason in finding.reason


async def test_a_sample_has_nodes_of_all_types():
    records = [NodeRecord(f"a:{n}", "Many", {"name": f"a {n}"}) for n in range(40)]
    records += [NodeRecord("z:1", "Few", {"name": "Zeno"}), NodeRecord("z:2", "Rare", {})]
    trial = Trial(open=lambda: nullcontext(MemoryBackend(records)), size=5)
    async with trial.sampled() as (_, ids):
        assert {entity_id[0] for entity_id in ids} == {"a", "z"}
        assert len(ids) == 5


async def test_a_store_whose_edges_all_lead_nowhere_is_broken():
    records = [NodeRecord("a", "T"), EdgeRecord("a", "p", "x"), EdgeRecord("y", "p", "a")]
    trial = Trial(open=lambda: nullcontext(MemoryBackend(records)), sample=("a",))
    finding = await judge(RULES["ends-exist"], trial)
    assert finding.outcome == "broken"
    assert "none of the 2 other ends has one" in finding.reason
