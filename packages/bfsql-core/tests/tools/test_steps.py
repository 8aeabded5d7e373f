"""Steps of a path in all spellings that models use, and invalid ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql.errors import ToolError
from bfsql.models import Outline, Pattern, Relation, Step
from bfsql.query.patterns import PatternReader
from bfsql.query.properties import condition, sorted_step
from bfsql.query.vocabulary import Names, Schema, Vocabulary
from bfsql_test_support import tool_calls

IRI = "http://ex.org/a-b->c#d"
SCHEMA = Schema(
    ("Cell-Line", "Disease", "Protein", "Trial", "a b"),
    ("interacts_with", "is_a", "odd name|x", "studies", "tests", "works", "works-at", IRI),
    True,
)
RELATIONS = (
    Relation("Trial", "studies", "Disease", 9),
    Relation("Trial", "tests", "Protein", 8),
    Relation("Protein", "interacts_with", "Protein", 7),
    Relation("Disease", "is_a", "Disease", 6),
)


def read(*texts, at="Trial", schema=SCHEMA, relations=RELATIONS, whole=True):
    reader = PatternReader(Vocabulary(schema, Outline(relations=relations, sampled=not whole)))
    return reader.path(texts, {at}), reader.replaced, reader.doubts


def steps(*texts, **known):
    return [step.text for step in read(*texts, **known)[0].steps]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("-studies-> Disease", "-studies-> Disease"),
        ("  -studies->Disease ", "-studies-> Disease"),
        ("-studies-> Disease:*", "-studies-> Disease"),
        ("-studies-> [phase=3]", "-studies-> *[phase=3]"),
        ("<-tests- Trial", "<-tests- Trial"),
        ("<-tests Trial", "<-tests- Trial"),
        ("-interacts_with- Protein", "-interacts_with- Protein"),
        ("-tests|studies->", "-studies|tests->"),
        ("-tests | studies-> Disease | Protein", "-studies|tests-> Disease|Protein"),
        ("-->", "-->"),
        ("--", "--"),
        ("-->Disease", "--> Disease"),
        ("-is_a->{1,3}", "-is_a->{1,3}"),
        ("-is_a->{1,3} Disease", "-is_a->{1,3} Disease"),
        ("-is_a-> Disease{2,3}", "-is_a->{2,3} Disease"),
        ("-is_a->{2}", "-is_a->{2,2}"),
        ("-is_a->{,2}", "-is_a->{1,2}"),
        ("-is_a->{1}", "-is_a->"),
        (">studies", "-studies->"),
        ("->studies Disease", "-studies-> Disease"),
        ("<tests", "<-tests-"),
        ("^tests Trial", "<-tests- Trial"),
        ("-[:STUDIES]->(Disease)", "-studies-> Disease"),
        ("-[r:studies|tests]->(d:Disease)", "-studies|tests-> Disease"),
        ("<-[:tests]-(:Trial)", "<-tests- Trial"),
        ("-[:is_a*1..3]->", "-is_a->{1,3}"),
        ("-[]->()", "-->"),
        ("studies", "-studies->"),
        ("studies Disease", "-studies-> Disease"),
        ("Trial -studies-> Disease (2087)", "-studies-> Disease"),
        ("-`odd name|x`->", "-odd name|x->"),
        ("-works-> a b", "-works-> a b"),
        (f"-{IRI}-> a b", f"-{IRI}-> a b"),
        (f"<-{IRI}|works-at- Cell-Line", f"<-{IRI}|works-at- Cell-Line"),
    ],
)
def test_every_spelling_that_can_mean_one_thing_is_taken(text, wanted):
    assert steps(text) == [wanted]


async def test_a_bare_predicate_has_its_direction_from_the_seeds_of_its_own_call(graph):
    await graph.counted()
    for seed in ("7", "MeSH:D003480"):
        answer = await tool_calls.read(graph, "bfs_query", seeds=[seed], path=["CAUSES"])
        assert {node["id"] for node in answer["nodes"]} == {"7", "MeSH:D003480"}


def test_one_string_may_hold_several_steps():
    wanted = ["-studies-> Disease", "<-studies- Trial", "-tests-> Protein"]
    assert steps("-studies-> Disease <-studies- Trial -tests-> Protein") == wanted
    assert steps("-studies->Disease<-studies-Trial-tests->Protein") == wanted
    assert steps("-studies-> Disease, <-studies- Trial, -tests-> Protein") == wanted
    assert steps("(:Trial)-[:studies]->(:Disease)<-[:studies]-(:Trial)-[:tests]->(:Protein)") == (
        wanted
    )


def test_a_number_of_a_step_may_begin_with_zeros():
    assert condition("0000000003.year>1", Names((), ()), 3).step == 3
    assert sorted_step("-0000000003.year") == (3, "-year")


def test_a_type_in_front_is_a_condition_on_the_step_before():
    path, _, _ = read("Trial -studies-> Disease (12)", "Disease -is_a-> Disease")
    assert path.start.types == {"Trial"}
    assert [step.types for step in path.steps] == [{"Disease"}, {"Disease"}]
    path, _, _ = read("-studies->", "Disease -is_a->")
    assert path.steps[0].types == {"Disease"}
    with pytest.raises(ToolError, match="starts at Protein, but the step before it ends at Dis"):
        read("-studies-> Disease", "Protein -interacts_with-> Protein")


def test_a_bare_predicate_has_the_direction_that_the_types_allow():
    assert steps("studies", at="Disease") == ["<-studies-"]
    assert steps("-studies-> Disease", "studies Trial") == [
        "-studies-> Disease",
        "<-studies- Trial",
    ]
    for known in ({"at": "Disease"}, {"at": "Protein"}):
        name = "is_a" if known["at"] == "Disease" else "interacts_with"
        with pytest.raises(ToolError) as caught:
            steps(name, **known)
        assert f'"-{name}->" (leaving) or "<-{name}-" (entering)' in str(caught.value)
    with pytest.raises(ToolError, match="both are possible"):
        steps("studies", relations=())
    with pytest.raises(ToolError, match="both are possible"):
        steps("studies", at="Disease", whole=False)


def test_another_case_is_taken_with_a_note():
    path, taken, _ = read("-STUDIES-> disease")
    assert path.steps[0].text == "-studies-> Disease"
    assert taken == ['path: read "STUDIES" as "studies".', 'path: read "disease" as "Disease".']


def test_a_name_that_a_sample_lacks_is_asked_as_written():
    sample = Schema(SCHEMA.entity_types, SCHEMA.predicates, False)
    path, taken, doubts = read("-studied-> Nothing", schema=sample)
    assert path.steps[0].text == "-studied-> Nothing"
    assert taken == []
    assert len(doubts) == 2
    assert "The nearest: studies." in doubts[0]


@pytest.mark.parametrize(
    ("texts", "parts"),
    [
        (["-study->"], ['"study"', "The nearest: studies.", '"-studies-> Disease"']),
        (["-nope-at-> Trial"], ['"nope-at"', "Relations at Trial"]),
        (["-studies-> Diseas"], ['a type that this graph does not have: "Diseas"']),
        (["-studies-> Disease", "-test->"], ["step 2", "Relations at Disease", "<-studies- Trial"]),
        (["->"], ["step 1", "cannot be read"]),
        (["<-tests->"], ["cannot be read"]),
        (["-studies"], ["cannot be read"]),
        (["Trial"], ["Trial"]),
        (["Disease[x=1]"], ['Disease[x=1]" lacks a relation', '"-studies-> Disease[x=1]".']),
        (["Disease[x=1]", "<-studies-"], ['Write "-studies-> Disease[x=1] <-studies-".']),
        (["Disease where x > 1"], ['a condition. Write "-studies-> Disease[x>1]".']),
        (["studies where x=1"], ['a condition. Write "-studies-> *[x=1]".']),
        (["-studies-> Disease Where d.x<=1"], ['Write "-studies-> Disease[x<=1]".']),
        (["-studies-> Disease", "x=1"], ['Write "-studies-> Disease[x=1]".']),
        (["-studies-> Disease where x=1 and y=2 <-studies-"], ["Disease[x=1][y=2] <-studies-"]),
        (["x=1"], ['"x=1" lacks a relation, or brackets around a condition. A step is']),
        (["-study-> Disease where x=1"], ['"study"', "The nearest: studies."]),
        (["-study-> Disease[x=1 and y > 2]"], ['"study"', "The nearest: studies."]),
        (["studies tests"], ['"tests"']),
        (['Ship[name="I [2]"]'], ["step 1", "predicate that this graph does not have"]),
        (["-is_a->{1,}"], ["{1,}", "upper bound"]),
        (["-is_a->*"], ["upper bound"]),
        (["-is_a->{0,2}"], ["at least 1"]),
        (["-is_a->{3,2}"], ["{3,2}"]),
        (["-is_a->{1,9}"], ["9 times", "at most 8"]),
        (["-is_a->{1,5}", "-is_a->{1,5}"], ["10 steps in all", "the limit is 8"]),
        (["--> " * 9], ["9 steps", "the limit is 8"]),
        (["MATCH (n) RETURN n"], ["MATCH"]),
        (["\x00\u202e"], ["step 1"]),
    ],
)
def test_what_cannot_be_read_shows_the_grammar_and_what_is_near(texts, parts):
    with pytest.raises(ToolError) as caught:
        read(*texts)
    sentence = str(caught.value)
    assert caught.value.argument == "path"
    assert 'A step is "-predicate-> Type" (leaving)' in sentence
    assert all(part in sentence for part in parts), sentence
    assert sentence.isprintable()


NAMES = st.text("ab-<>|{}()[]: /#'\"*^,1.", min_size=1, max_size=6).filter(
    lambda name: name == name.strip()
)


@given(st.text("ab-<>|{}()[]: ^*,1", max_size=12))
def test_any_text_is_read_or_refused(text):
    schema = Schema(("a", "b a"), ("b", "a-b"), True)
    try:
        found = steps(text, schema=schema, at="a")
    except ToolError:
        return
    assert steps(*found, schema=schema, at="a") == found


@given(
    predicates=st.sets(NAMES, min_size=1, max_size=2),
    kinds=st.sets(NAMES.map("a".__add__), max_size=1),
    direction=st.sampled_from(["out", "in", None]),
    least=st.integers(1, 3),
    more=st.integers(0, 2),
)
def test_a_step_of_odd_names_is_read_back(predicates, kinds, direction, least, more):
    schema = Schema(tuple(sorted(kinds)), tuple(sorted(predicates)), True)
    name = min(predicates)
    step = Step(
        frozenset({name}), direction, Pattern(frozenset(kinds) or None), least, least + more
    )
    path, _, _ = read(step.text, schema=schema, at="a", relations=())
    assert path.steps == (step,)
