"""Patterns and relation conditions in all spellings that models use, and invalid ones."""

import sys
from contextlib import suppress

import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from bfsql.errors import ToolError
from bfsql.models import Pattern, PropertyCondition, RelationCondition, Step
from bfsql.query.patterns import PatternReader
from bfsql.query.vocabulary import Schema, Vocabulary

SCHEMA = Schema(
    ("Cell-Line", "Compound", "Disease", "Trial", "owl:Class"),
    ("member_of", "studies", "tests", "treats"),
    True,
)
JORVE = {"Jorve disease": frozenset({"d:1"}), "a->b": frozenset({"d:2"})}


def reader(argument="seeds"):
    return PatternReader(Vocabulary(SCHEMA), JORVE, argument)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Trial:*", "Trial:*"),
        ("trial : *", "Trial:*"),
        ("Trial|Compound", "Compound|Trial:*"),
        ("*:*", "*:*"),
        ("owl:Class[year]", "owl:Class[year]"),
        ("Trial[phase=3]", "Trial[phase=3]"),
        ("Trial [phase = 3] [status=terminated]", "Trial[phase=3][status=terminated]"),
        ("Trial|Disease[year>=2010]", "Disease|Trial[year>=2010]"),
        ("Trial[not year]", "Trial[no year]"),
        ('Trial[no "a=b"]', 'Trial[no "a=b"]'),
        ('Trial["no year"=3]', 'Trial["no year"=3]'),
        ('Trial{surname: "Wilson"}', "Trial[surname=Wilson]"),
        ("Trial{surname: 'Wilson', age: 3}", "Trial[surname=Wilson][age=3]"),
        ("Trial(surname=Wilson and age>30)", "Trial[surname=Wilson][age>30]"),
        ("Trial[phase=3, status=a|b]", "Trial[phase=3][status=a|b]"),
        ("Trial[name=Salt and Pepper]", 'Trial[name="Salt and Pepper"]'),
        ('Trial[name="a and b=c"]', 'Trial[name="a and b=c"]'),
        ('Trial[name="a]b"]', 'Trial[name="a]b"]'),
        ("Trial[name='say \"x|y\"']", "Trial[name='say \"x|y\"']"),
        ("Trial[name~a->b]", "Trial[name~a->b]"),
        ("Trial.phase=3", "Trial[phase=3]"),
        ("Cell-Line[no <-tests- Trial]", "Cell-Line[no <-tests- Trial]"),
        ("Compound[<-tests- Trial >= 3]", "Compound[<-tests- Trial >= 3]"),
        ("Compound[<-tests- Trial>=1]", "Compound[<-tests- Trial]"),
        ("Compound[!<-tests- Trial]", "Compound[no <-tests- Trial]"),
        ("Compound[<-tests- Trial (12)]", "Compound[<-tests- Trial]"),
        ("Compound[<-tests- Trial[phase=3]]", "Compound[<-tests- Trial[phase=3]]"),
        ("Compound[<-tests[w>2]- Trial]", "Compound[<-tests[w>2]- Trial]"),
        ("Compound[no -treats-> Jorve disease]", "Compound[no -treats-> d:1]"),
        ('Compound[-treats-> "a->b" = 2]', "Compound[-treats-> d:2 = 2]"),
        ('Compound[-treats-> Jorve disease | "a->b" > 1]', "Compound[-treats-> d:1|d:2 > 1]"),
        ("Compound[-treats-> <-studies- Trial]", "Compound[-treats-> <-studies- Trial]"),
    ],
)
def test_every_spelling_that_can_mean_one_thing_is_taken(text, wanted):
    found = reader().pattern(text)
    assert found is not None
    assert found.text == wanted
    again = PatternReader(Vocabulary(SCHEMA), {i: frozenset({i}) for i in ("d:1", "d:2")}).pattern(
        wanted
    )
    assert again is not None
    assert again.text == wanted


@pytest.mark.parametrize("text", ["Trial 3", "Trail[phase=3]", "RxNorm:3251", "[phase=3]", "*"])
def test_other_texts_are_no_patterns(text):
    assert reader().pattern(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Trial[phase=3", "seeds: the bracket before .* is not closed. Close it with"),
        ("Trial[]", 'seeds: "" is empty'),
        ("Trial[phase=]", "has no value after ="),
        ("Trial[name=~x.*]", "asks for a regular expression"),
        ("Trial[phase=1 or phase=2]", "joins several conditions"),
        ("Compound[<-test- Trial]", 'names a predicate that this graph does not have: "test"'),
        ("Compound[<-tests- Tril]", 'names a type that this graph does not have: "Tril"'),
        ("Compound[no <-tests- Trial >= 3]", 'both "no" and a number'),
        ("Trial[-tests-> *[-tests-> *[-tests-> *[a=1]]]]", "nested more than 3 deep"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(text, message):
    with pytest.raises(ToolError, match=message) as refused:
        reader().pattern(text)
    assert refused.value.argument == "seeds"


@pytest.mark.parametrize(
    ("text", "step", "types", "condition"),
    [
        ("no <-tests- Trial", None, None, "no <-tests- Trial"),
        ("Compound <-tests- Trial = 0", None, {"Compound"}, "no <-tests- Trial"),
        ("1 <-tests- Trial >= 3", 1, None, "<-tests- Trial >= 3"),
        ("no 2 -treats->", 2, None, "no -treats->"),
        ("Trial|Compound -treats-> > 1", None, {"Compound", "Trial"}, "-treats-> > 1"),
    ],
)
def test_a_relation_in_where_has_a_scope(text, step, types, condition):
    [found] = reader("where").where([text]).relations
    assert (found.step, found.types, found.condition.text) == (step, types, condition)


def test_where_is_sorted_by_kind():
    texts = ["year>=2010", "2 != 0", "name~a->b", "3=1", "Trial.no-show=1", "no -treats->"]
    found = reader("where").where(texts)
    assert found.properties == ["year>=2010", "name~a->b", "Trial.no-show=1"]
    compared = [(one.step, one.other, one.equal) for one in found.comparisons]
    assert compared == [(2, 0, False), (3, 1, True)]
    assert [one.text for one in found.relations] == ["no -treats->"]


def test_an_unknown_type_in_front_of_a_relation_is_an_error():
    with pytest.raises(ToolError, match=r'"Compund".*The nearest: Compound'):
        reader("where").where(["Compund <-tests- Trial = 0"])


TEXTS = st.text("ab |[]{}()=<>~'\"`\\.,-:*no12", min_size=1, max_size=8).map(str.strip)
KEYS = st.sampled_from(
    ["year", "a b", "x.y", "a=b", "no x", "not x", "[k]", "a,b", "x and y", "-k", "k-", "(k)", "^k"]
)
CONDITIONS = st.builds(
    PropertyCondition,
    KEYS,
    st.sampled_from(["=", "!=", "<=", "~"]),
    st.tuples(TEXTS) | st.tuples(TEXTS, TEXTS),
) | st.builds(PropertyCondition, KEYS, st.sampled_from(["has", "lacks"]))
ENDS = st.builds(
    Pattern,
    st.none() | st.frozensets(st.sampled_from(SCHEMA.entity_types), min_size=1),
    st.lists(CONDITIONS, max_size=2, unique=True).map(tuple),
)
STEPS = st.builds(
    Step,
    st.frozensets(st.sampled_from(SCHEMA.predicates), min_size=1),
    st.sampled_from(["out", "in", None]),
    ENDS,
    conditions=st.lists(CONDITIONS, max_size=1).map(tuple),
)
RELATIONS = st.builds(
    RelationCondition,
    st.lists(STEPS, min_size=1, max_size=2).map(tuple),
    st.sampled_from([">=", "<", "="]),
    st.integers(0, 20),
)


def expressible(one):
    """Whether every key and value of a condition can be written in quotes."""
    odd = [set(text) & {*"'`\\"} == {*"'`\\"} and '"' not in text for text in one.values]
    return all((one.key, *one.values)) and not any(odd)


@settings(max_examples=200)
@given(ENDS, st.lists(RELATIONS, max_size=1))
@example(Pattern(None, (PropertyCondition("year", "<=", ("1<a",)),)), [])
def test_a_pattern_is_read_back(pattern, relations):
    conditions = [
        *pattern.conditions,
        *(c for r in relations for s in r.steps for c in (*s.conditions, *s.end.conditions)),
    ]
    if not all(map(expressible, conditions)):
        return
    wanted = Pattern(pattern.types, pattern.conditions, tuple(relations))
    note(wanted.text)
    found = PatternReader(Vocabulary(SCHEMA)).pattern(wanted.text)
    assert found == wanted, wanted.text


HOSTILE = [
    "[a]" * 5_000,
    "Trial" + "[a]" * 5_000,
    "Trial[" + " " * 16_000 + "]",
    "Trial" + " " * 16_000 + "x",
    "Trial" + "[" * 3_000,
    "Trial[x=" + "'\"" * 7_000 + "]",
    "Trial[-" + " -" * 8_000 + "]",
    "Trial[" + "-tests-> " * 1_500 + "]",
    ":" * 16_000 + "*",
    "Trial[a" + "*a" * 8_000 + ">1]",
    "Trial[a" + " (a" * 5_000 + " > 1]",
    "Trial[a -" + " -a" * 5_000 + " > 1]",
]


@pytest.mark.parametrize("text", HOSTILE, ids=[text[:9] for text in HOSTILE])
def test_a_long_text_costs_no_more_than_its_length(text):
    """In calls of functions, of which a reader that tries every place again makes millions."""
    calls = 0

    def count(*_):
        nonlocal calls
        calls += 1

    for read in (
        reader().pattern,
        lambda text: reader("path").path([f"-tests-> {text}"]),
        lambda text: reader("where").where([text]),
    ):
        sys.setprofile(count)
        try:
            with suppress(ToolError):
                read(text)
        finally:
            sys.setprofile(None)
    assert calls < 2_000_000


def test_conditions_in_brackets_are_as_many_as_where_takes():
    with pytest.raises(ToolError, match="more than 200 conditions are in brackets"):
        reader().pattern("Trial" + "[a=1]" * 201)
    with pytest.raises(ToolError, match="more than 200 conditions are in brackets"):
        reader().pattern("Trial[" + ", ".join(f"a={n}" for n in range(201)) + "]")
    with pytest.raises(ToolError, match="more than 200 conditions are in brackets"):
        reader("path").path(["-tests" + "[a=1]" * 201 + "->"])
