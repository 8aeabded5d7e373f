"""`verify`: how claims are read, what is said of each, and what is never decided."""

from typing import Any

import pytest

from bfsql import MemoryBackend, ToolError, open_graph
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.tools.verify import REASONS, Verifier
from bfsql_test_support.case_table import case_table
from bfsql_test_support.hooks import Hiding

ITEMS = [{"document_id": f"d{n}", "text_span": f"They met {n}."} for n in (1, 2)]
RECORDS = [
    NodeRecord("p:1", "Person", {"name": "Tom Hanks", "age": 60}),
    NodeRecord("p:2", "Person", {"name": "Meg Ryan", "synonyms": ["Margaret"]}),
    *(NodeRecord(f"t:{n}", "Person", {"name": "Twin"}) for n in (1, 2)),
    NodeRecord("f:1", "Film", {"name": "You've Got Mail", "year": 1998}),
    NodeRecord("f[2]", "Film", {"name": "A - B -x- c"}),
    NodeRecord("f:3", "Film", {"name": "Room #1 @ home"}),
    EdgeRecord("p:1", "ACTED_IN", "f:1", {"since": 1997, "provenance": ITEMS}),
    *(EdgeRecord("p:1", "ACTED_IN", film) for film in ("f[2]", "f:3")),
    *(EdgeRecord(person, "knows", "p:1") for person in ("p:1", "p:2")),
    *(EdgeRecord("p:2", "ACTED_IN", "f:1"), EdgeRecord("p:1", "is a", "t:1")),
]


async def verdicts(text: str, **options: Any) -> list[Any]:
    async with open_graph(MemoryBackend(RECORDS), **options) as graph:
        return await graph.verify(text)


STORED = """Tom Hanks -ACTED_IN-> You've Got Mail; f:1 <-ACTED_IN- Margaret; p:1 -knows-> p:1
p:1 -is a-> t:1; p:1 -`is a`-> t:1; p:1 -knows|ACTED_IN-> f:1; p:1 --> f:1; p:1 -acted_in-> f[2]
"Tom Hanks" -ACTED_IN-> "A - B -x- c"; A - B -x- c <-ACTED_IN- Tom Hanks; f:1 <-- p:1
Tom Hanks -ACTED_IN-> Room #1 @ home; p:1 -ACTED_IN-> f:1 #2; p:1 -ACTED_IN-> Film[year=1998]
p:1[age>50] -ACTED_IN[since=1997]-> f:1[year<2000, year>1990]
p:1[-knows-> Person[no age] = 0] -ACTED_IN-> You've Got Mail"""
UNREADABLE = """p:1 -ACTED_IN-> f:1[no -nothing-> Person]; p:1 -ACTED_IN-> f:1 <-ACTED_IN- p:2
Tom Hanks acted in You've Got Mail - twice -; -ACTED_IN-> f:1; p:1 -ACTED_IN->
p:1 -ACTED_IN-> #1; " " -ACTED_IN-> f:1; p:1 -ACTED_IN-> f:1[year="""


async def test_a_claim_that_is_stored_has_its_edge_and_evidence():
    found = await verdicts(STORED.replace("; ", "\n"))
    assert {(one.verdict, one.reason) for one in found} == {("stored", "")}
    [evidence] = [one.evidence for one in found if "#2" in one.claim]
    assert evidence == [{"subject": "p:1", "predicate": "ACTED_IN", "object": "f:1", **ITEMS[1]}]
    assert {one.evidence_count for one in found} == {0, 2}


async def test_what_is_no_claim_cannot_be_read():
    long = f"p:1 -ACTED_IN-> {'x[' * 5_000}", f"{'x' * 20_000} -knows-> p:1"
    text = "\n".join([*long, UNREADABLE.replace("; ", "\n")])
    assert [one.claim for one in await verdicts(text) if one.verdict != "unreadable"] == []


@case_table(
    ("claim", "reason", "near"),
    [
        ("f:1 -ACTED_IN-> p:1", "direction", "p:1 ACTED_IN f:1"),
        ("p:1 -knows-> p:2", "direction", "p:2 knows p:1"),
        ("p:2 -DIRECTED-> f:1", "predicate", "p:2 ACTED_IN f:1"),
        ("p:1 -ACTED_IN-> f:1[year=1999]", "conditions", "p:1 ACTED_IN f:1"),
        ("p:1 -ACTED_IN-> f:1 #3", "conditions", "p:1 ACTED_IN f:1"),
        ("p:2 -ACTED_IN-> f:3", "nothing", ""),
        ("Tom Hnks -ACTED_IN-> f:1", "name", "p:1"),
        ("p:1 -DIRECTED-> You Got Mail", "name", "f:1"),
        ("p:9 -knows-> p:1", "name", ""),
        ("\x00\ud800 -knows-> p:1", "name", ""),
    ],
)
async def test_a_claim_that_is_not_stored_has_what_is_nearest(claim, reason, near):
    [one] = await verdicts(claim)
    assert one.verdict == "not stored"
    assert one.reason.startswith(REASONS[reason].partition("{")[0])
    edges = [f"{e.subject} {e.predicate} {e.object}" for e in one.nearest]
    assert near == [*edges, *(e.id for e in one.entities), ""][0]


async def test_a_name_that_several_share_and_a_time_decide_nothing():
    shared, quoted, at = await verdicts("Twin -knows-> p:1\np:1 -is a-> `Twin`\np:1 --> f:1 @ 2024")
    assert {one.verdict for one in (shared, quoted, at)} == {"undecided"}
    assert [entity.id for entity in shared.entities] == ["t:1", "t:2"]
    assert shared.reason == quoted.reason
    assert at.reason.startswith("at: nobody has said which properties of this graph have the dates")


@case_table(
    ("text", "claims"),
    [
        ("a -b-> c\n\n  - d -e-> f\r\n* g -h-> i", {1: "a -b-> c", 3: "d -e-> f", 4: "g -h-> i"}),
        ("So\n[[a -b-> c]], and\n[[ d -e->\nf[x=1]]].", {2: "a -b-> c", 3: "d -e-> f[x=1]"}),
        ("[[a -b-> c[no -d-> E[x=1]] ]] [[x", {1: "[["}),
        ("[[a -b-> c\n\n]] [[a -b-> c]]", {1: "[[", 3: "a -b-> c"}),
    ],
)
async def test_claims_stand_on_lines_or_in_double_brackets(text, claims):
    found = await verdicts(text)
    assert {one.line: one.claim for one in found} == claims


@case_table("text", ["", " \n\t\n", "a\n" * (Verifier.MOST + 1)])
async def test_a_text_has_some_claims_and_not_too_many(text):
    with pytest.raises(ToolError, match="The text has"):
        await verdicts(text)


async def test_ten_thousand_claims_are_one_call():
    found = await verdicts("p:1 -knows-> p:1\n" * 50 + "What?\n" * (Verifier.MOST - 50))
    assert len(found) == Verifier.MOST
    assert [one.verdict for one in found[48:52]] == ["stored"] * 2 + ["unreadable"] * 2


HIDDEN = ("age", "year", "since", "provenance")


@case_table(
    ("claim", "verdict"),
    [
        ("p:1 -ACTED_IN-> f:1[year=1998]", "undecided"),
        ("p:1 -ACTED_IN-> f:1[no year]", "undecided"),
        ("p:1[-knows-> *[no age]] -ACTED_IN-> f:1", "undecided"),
        ("p:1 -ACTED_IN-> f:1 #1", "undecided"),
        ("Nobody -ACTED_IN-> f:1", "undecided"),
        ("Meg Ryan -knows-> p:2", "undecided"),
        ("p:2 -knows-> p:2", "not stored"),
        ("Tom Hanks[name~Tom] -ACTED_IN-> f:1", "stored"),
    ],
)
async def test_what_is_hidden_decides_nothing(claim, verdict):
    less = Hiding(lambda _, __, of: {k: of[k] for k in of if k not in HIDDEN})
    [one] = await verdicts(claim, hooks=[less])
    assert (one.verdict, bool(one.reason)) == (verdict, verdict != "stored")
    assert not one.evidence
