"""A small graph, and calls about sets, relations, groups, measures and walks: right and wrong ones.

Every way in has to answer them alike.
"""

from __future__ import annotations

from typing import Any

from bfsql.models import EdgeRecord, GraphRecord, NodeRecord

TRIALS = [
    ("Alpha", 3, "completed", 2010, "c:1", "d:1"),
    ("Beta", 3, "terminated", 2012, "c:1", "d:1"),
    ("Gamma", 2, "terminated", 2012, "c:2", "d:2"),
    ("Delta", 1, "completed", 2020, "c:2", "d:3"),
]
"""Name, phase, status, year, compound and disease."""
RECORDS: list[GraphRecord] = [
    NodeRecord("c:1", "Compound", {"name": "Aspirin", "synonyms": ["ASA"]}),
    NodeRecord("c:2", "Compound", {"name": "Metformin"}),
    NodeRecord("c:3", "Compound", {"name": "Placebo"}),
    NodeRecord("d:1", "Disease", {"name": "Influenza"}),
    NodeRecord("d:2", "Disease", {"name": "Diabetes"}),
    NodeRecord("d:3", "Disease", {"name": "Type 2 diabetes"}),
    EdgeRecord("d:3", "is_a", "d:2"),
    EdgeRecord("c:1", "treats", "d:1", {"confidence": 0.9}),
    EdgeRecord("c:2", "treats", "d:2", {"confidence": 0.7}),
]
for number, (name, phase, status, year, compound, disease) in enumerate(TRIALS, 1):
    one = f"t:{number}"
    RECORDS += [
        NodeRecord(one, "Trial", {"name": name, "phase": phase, "status": status, "year": year}),
        EdgeRecord(one, "tests", compound, {"dose": number / 2}),
        EdgeRecord(one, "studies", disease),
    ]

TO_COMPOUNDS = ["<-studies- Trial", "-tests-> Compound"]
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    label: ("bfs_query", arguments)
    for label, arguments in {
        "a set": {"seeds": ["Trial[phase=3]"], "sort_by": "-year", "fields": ["year"]},
        "a set of several types": {"seeds": ["Trial|Compound[name~a]"], "limit": 0},
        "a set of any type": {"seeds": ["*[status=completed]"], "offset": 1, "limit": 1},
        "a set of nothing": {"seeds": ["Trial[phase=7]"], "facets": ["phase"]},
        "a type alone": {"seeds": ["trial"], "limit": 1},
        "a set and an entity": {"seeds": ["Trial[year>=2012]", "asa"], "max_hops": 1},
        "sets at both ends": {
            "seeds": ["Disease:*"],
            "path": TO_COMPOUNDS,
            "to": ["Compound[name~met]"],
        },
        "conditions in a step": {
            "seeds": ["Trial:*"],
            "path": ["-tests[dose>=1]-> Compound[name~m]"],
        },
        "an entity at the end of a step": {"seeds": ["Trial:*"], "path": ["-studies-> Influenza"]},
        "a connection with a set": {"seeds": ["d:3"], "to": ["Compound:*"]},
        "not the seed": {
            "seeds": ["Trial:*"],
            "path": ["-tests->", "<-tests-"],
            "where": ["2 != 0"],
            "show": "ends",
        },
        "no relation": {"seeds": ["Compound[no <-tests- Trial]"]},
        "at least so many relations": {
            "seeds": ["Compound:*"],
            "where": ["<-tests- Trial[phase=3] >= 2"],
        },
        "relations of a step": {
            "seeds": ["Disease:*"],
            "path": TO_COMPOUNDS[:1],
            "where": ["1 -tests-> Aspirin"],
        },
        "relations that nothing has": {
            "seeds": ["Compound:*"],
            "where": ["no <-tests- Trial[phase=9]"],
            "limit": 0,
        },
        "no relation without an arrow": {"seeds": ["Trial:*"], "where": ["no tests Compound"]},
        "an arrow without its dash": {"seeds": ["Trial:*"], "where": ["->tests Compound >= 1"]},
        "a set that is removed as a whole": {"seeds": ["Trial:*"], "exclude_node_types": ["Trial"]},
        "a condition on an unknown type": {"seeds": ["Trial:*"], "where": ["Trail.phase=3"]},
        "a type as a property": {"seeds": ["Trial:*"], "where": ["entity_type=Trial"]},
        "a comparison without blanks": {"seeds": ["Trial:*"], "where": ["-tests->>=1"], "limit": 0},
        "a condition that nothing meets": {"seeds": ["Trial:*"], "where": ["year>=twenty"]},
        "a facet of nothing": {"seeds": ["Trial:*"], "facets": ["Tril.year"], "limit": 0},
        "a facet in a call of a function": {"seeds": ["Trial:*"], "facets": ["count(year)"]},
        "a measure of nothing": {
            "seeds": ["Trial:*"],
            "path": ["-tests->"],
            "measure": ["sum 1.dose"],
        },
        "an order of nothing": {"seeds": ["Trial:*"], "sort_by": "Trial.year", "limit": 1},
        "a page past the end": {"seeds": ["Trial:*"], "offset": 100},
        "fields that nothing has": {"seeds": ["Trial:*"], "fields": ["*"], "limit": 1},
        "a space of no width": {"seeds": ["\u200baspirin"], "limit": 1},
        "types of no entity": {"seeds": ["Trial:*"], "node_types": ["Tril"], "limit": 1},
        "a number of times": {"seeds": ["Trial:*"], "path": ["--{2}"], "limit": 0},
        "walks without end": {
            "seeds": ["Trial:*"],
            "path": ["--{1,8}"],
            "show": "walks",
            "limit": 2,
        },
        "a relation that nothing has in this direction": {
            "seeds": ["Trial:*"],
            "path": ["Trial -tests-> Compound <-treats- Disease"],
        },
        "a relation like a property": {"seeds": ["Trial:*"], "where": ["no Treatss"]},
        "a relation of a type that is not reached": {
            "seeds": ["Disease:*"],
            "path": TO_COMPOUNDS[:1],
            "where": ["Compound -treats->"],
        },
        "facets of a set": {"seeds": ["Trial:*"], "facets": ["phase", "status:1"], "limit": 0},
        "facets of steps and of edges": {
            "seeds": ["Disease:*"],
            "path": TO_COMPOUNDS,
            "facets": ["1.year", "tests.dose", "Disease.name:0"],
            "limit": 1,
        },
        "measures": {
            "seeds": ["Disease:*"],
            "path": TO_COMPOUNDS,
            "measure": ["count 1", "max 1.year", "mean 2.tests.dose"],
            "sort_by": "-measure",
            "show": "ends",
        },
        "relations in any order": {"seeds": ["Influenza"], "along": ["-studies-", "-tests->"]},
        "the shortest chain": {"seeds": ["d:3"], "to": ["c:2"], "along": ["-studies-", "-tests-"]},
        "walks": {
            "seeds": ["Disease:*"],
            "path": ["<-studies|treats- Trial|Compound", "--"],
            "show": "walks",
            "sort_by": "-1.year",
            "limit": 3,
            "offset": 1,
        },
        "groups of walks": {
            "seeds": ["Disease:*"],
            "path": TO_COMPOUNDS,
            "show": "walks",
            "facets": ["1.status"],
            "limit": 0,
        },
    }.items()
} | {
    "facets of an intersection": (
        "intersect_subgraphs",
        {"seeds": ["Aspirin", "Influenza"], "k": 1, "facets": ["year"], "where": ["no -is_a->"]},
    ),
    "the schema": ("describe_schema", {}),
    "the schema around an entity": ("describe_schema", {"seeds": ["Metformin"]}),
    "a record": ("describe_entity", {"id": "Metformin"}),
    "records": ("describe_entities", {"ids": ["t:1", "Aspirin", "nothing"]}),
    "a pattern as a query": ("search_entities", {"query": "*"}),
    "a pattern among ids": ("describe_entities", {"ids": ["Trial:*"]}),
    "a misspelt name": ("search_entities", {"query": "apsirin"}),
    "lost spaces": ("search_entities", {"query": "type2diabtes"}),
}
"""Calls that are answered, by what they show."""

STEPS = {"path": ["-tests-> Compound"]}
SET = {"seeds": ["Trial:*"]}
WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "an unknown type": ({"seeds": ["Tril:*"]}, "seeds", 'no type "Tril". The nearest: Trial'),
    "an unknown type in to": (
        {**SET, "to": ["Compund[name=x]"]},
        "to",
        'no type "Compund". The nearest: Compound',
    ),
    "no type": ({"seeds": ["[phase=3]"]}, "seeds", '"*[phase=3]"'),
    "a star alone": ({"seeds": ["*"]}, "seeds", 'All entities are "*:*"'),
    "a name with a star": ({"seeds": ["Aspirin*"]}, "seeds", "c:1 (Aspirin, Compound)"),
    "an unclosed bracket": ({"seeds": ["Trial[phase=3"]}, "seeds", 'Close it with "]"'),
    "a bracket too many": ({"seeds": ["Trial[phase=3]]"]}, "seeds", "nothing after them"),
    "a path in seeds": ({"seeds": ["Trial[phase=3] -tests->"]}, "seeds", "belong in path"),
    "an empty bracket": ({"seeds": ["Trial[]"]}, "seeds", '"" is empty'),
    "four brackets deep": (
        {"seeds": ["Trial[-tests-> *[<-tests- *[-tests-> *[a=1]]]]"]},
        "seeds",
        "nested more than 3 deep",
    ),
    "no operator": ({"seeds": ["Trial[phase in (1, 2)]"]}, "seeds", "has no operator"),
    "an unknown operator": ({"seeds": ["Trial[phase=!3]"]}, "seeds", "operators are = != <"),
    "two conditions joined by or": (
        {"seeds": ["Trial[phase=1 or phase=2]"]},
        "seeds",
        '"a|b" is one of two values',
    ),
    "no and an operator": ({"seeds": ["Trial[no phase=3]"]}, "seeds", "!= is the opposite of ="),
    "an unknown predicate in a relation": (
        {**SET, "where": ["no -test->"]},
        "where",
        'does not have: "test". The nearest: tests',
    ),
    "an unknown predicate without an arrow": (
        {**SET, "where": ["no TREATSS drug"]},
        "where",
        'does not have: "TREATSS". The nearest: treats',
    ),
    "an unknown type in a relation": (
        {**SET, "where": ["-tests-> Compond >= 2"]},
        "where",
        'does not have: "Compond". The nearest: Compound',
    ),
    "an unknown type before a relation": (
        {**SET, "where": ["Compond <-tests-"]},
        "where",
        'does not have: "Compond". The nearest: Compound',
    ),
    "a number that is none": ({**SET, "where": ["-tests-> >= two"]}, "where", "a whole number"),
    "no and a number": ({**SET, "where": ["no -tests-> >= 2"]}, "where", 'both "no" and a number'),
    "steps without a path": ({**SET, "where": ["2 != 0"]}, "where", "this call has no path"),
    "a relation of a step without a path": (
        {**SET, "where": ["1 -tests->"]},
        "where",
        "this call has no path",
    ),
    "a step that the path has not": (
        {**SET, **STEPS, "where": ["2 != 0"]},
        "where",
        "it has 0 to 1",
    ),
    "steps compared with two others": (
        {**SET, "path": ["--"] * 3, "where": ["0 = 1", "2 = 3"]},
        "where",
        "all of them name one step in common",
    ),
    "a step compared with itself": ({**SET, **STEPS, "where": ["1 != 1"]}, "where", "with itself"),
    "steps compared by size": (
        {**SET, **STEPS, "where": ["1 > 0"]},
        "where",
        "compares by >, and steps have only = and !=",
    ),
    "a number without a comparison": ({**SET, "where": ["-tests-> 2"]}, "where", '"2"'),
    "a comparison that is part of an arrow": (
        {**SET, "where": ["-tests->=2"]},
        "where",
        "A step is",
    ),
    "words in front of a relation": (
        {**SET, "where": ["at least 2 -tests->"]},
        "where",
        '"no -p->" or "-p-> >= 2"',
    ),
    "half an arrow": ({**SET, "where": ["tests -> Compound"]}, "where", '"-p-> TYPE"'),
    "an arrow that does not end": ({**SET, "where": ["-tests > Compound"]}, "where", "A step is"),
    "a count of a relation in another language": (
        {**SET, "where": ["COUNT(-tests->) >= 1"]},
        "where",
        '"no <-tests- Trial"',
    ),
    "brackets in where": ({**SET, "where": ["[phase=3]"]}, "where", '"year>=2010"'),
    "a pattern in where": (
        {**SET, "where": ["Trial[phase=3]"]},
        "where",
        '"Trial.status=terminated|completed"',
    ),
    "no behind a type": ({**SET, "where": ["Trial no -tests->"]}, "where", '"no Trial -p->"'),
    "a negated step": (
        {**SET, "path": ["no -tests-> Compound"]},
        "path",
        '"no -tests-> Compound" in where',
    ),
    "a misspelt name in a step": (
        {**SET, "path": ["-studies-> Influenca"]},
        "path",
        "Entities of a similar name: d:1 (Influenza, Disease)",
    ),
    "a relation of another place": (
        {**SET, "path": ["-treats->", "-tets->"]},
        "path",
        "The nearest: tests",
    ),
    "a direction that may be both": (
        {"seeds": ["Disease:*"], "along": ["is_a"]},
        "along",
        '"-is_a->" (leaving) or "<-is_a-" (entering)',
    ),
    "along with path": (
        {**SET, **STEPS, "along": ["-tests->"]},
        "along",
        "cannot be combined with",
    ),
    "two steps in along": ({**SET, "along": ["-tests-> <-tests-"]}, "along", "more than one step"),
    "too many hops along": (
        {**SET, "along": ["-tests->"], "max_hops": "21"},
        "max_hops",
        "from 1 to 20",
    ),
    "walks without a path": ({**SET, "show": "walks"}, "show", "Give path as well"),
    "measures of walks": (
        {**SET, **STEPS, "show": "walks", "measure": "count 0"},
        "measure",
        "Leave one of the two out",
    ),
    "a measure without a path": ({**SET, "measure": "count 0"}, "measure", "Give path as well"),
    "an unknown measure": (
        {**SET, **STEPS, "measure": "median 0.year"},
        "measure",
        "none of count, min, max, sum and mean",
    ),
    "a measure without a step": (
        {**SET, **STEPS, "measure": "count"},
        "measure",
        "needs the number of a step",
    ),
    "a sum of text": ({**SET, **STEPS, "measure": "sum 0.status"}, "measure", "only text, such as"),
    "six measures": ({**SET, **STEPS, "measure": ["count 0"] * 6}, "measure", "the limit is 5"),
    "an order by what is not measured": (
        {**SET, **STEPS, "sort_by": "-measure"},
        "sort_by",
        "needs measure",
    ),
    "a facet of a step without a path": (
        {**SET, "facets": ["1.year"]},
        "facets",
        "this call has no path",
    ),
    "a facet of nothing": ({**SET, "facets": ["Trial."]}, "facets", "names no property"),
    "a facet of too many values": ({**SET, "facets": ["year:1001"]}, "facets", "at most 1,000"),
    "a thousand facets": (
        {**SET, "facets": [f"p{n}" for n in range(1_000)]},
        "facets",
        "the limit is 20",
    ),
    "the plural of a type": ({"seeds": ["trials"]}, "seeds", 'are a pattern: "Trial:*"'),
    "a misspelt seed": ({"seeds": ["apsirin"]}, "seeds", "c:1 (Aspirin, Compound)"),
    "a blank seed": ({"seeds": ["  "]}, "seeds", "a string that is not blank"),
    "a query language in seeds": ({"seeds": ["MATCH (n) RETURN n"]}, "seeds", "search_entities"),
    "a node of a query language": ({"seeds": ["(t:Trial {phase:3})"]}, "seeds", '"Trial:*"'),
    "a sentence as a pattern": ({"seeds": ["Trial where phase=3"]}, "seeds", "Trial[year>=2010]"),
    "a regular expression as a pattern": ({"seeds": ["Trial.*"]}, "seeds", '"Trial:*"'),
    "a NUL": ({"seeds": ["\0"]}, "seeds", "Nothing similar was found"),
    "a regular expression": ({**SET, "where": ["name=~'(?i)a'"]}, "where", '"name~desmo"'),
    "a range in words": ({**SET, "where": ["year between 1 and 2"]}, "where", "has no operator"),
    "a list of values": ({**SET, "where": ["year in [1,2]"]}, "where", "has no operator"),
    "conditions with a comma": ({**SET, "where": ["year>1, phase=3"]}, "where", "joins several"),
    "a negated condition": ({**SET, "where": ["not phase=3"]}, "where", "!= is the opposite of ="),
    "no value": ({**SET, "where": ["phase=3|"]}, "where", 'empty text is written ""'),
    "no property": ({**SET, "where": ["~a"]}, "where", "names no property"),
    "a measure of no step": ({**SET, **STEPS, "measure": "avg year"}, "measure", "names no step"),
    "an unknown step of a measure": (
        {**SET, **STEPS, "measure": "count 9"},
        "measure",
        "its steps are 1 to 1",
    ),
    "an order by nothing": ({**SET, "sort_by": "-"}, "sort_by", "names no property"),
    "an order by paths of no path": ({**SET, "sort_by": "paths"}, "sort_by", "needs path"),
    "nine steps": ({**SET, "path": ["--"] * 9}, "path", "the limit is 8"),
    "nine times a step": ({**SET, "path": ["--{1,9}"]}, "path", "at most 8 steps in all"),
    "no number of times": ({**SET, "path": ["--{0,2}"]}, "path", '"{1,3}" is once to three times'),
    "a step of a property path": ({**SET, "path": ["tests/studies"]}, "path", "A step is"),
    "arrows of another alphabet": ({**SET, "path": ["-tests\u2192"]}, "path", "A step is"),
    "a step that starts elsewhere": (
        {**SET, "path": ["-tests-> Compound", "Disease -treats->"]},
        "path",
        "Make them agree",
    ),
    "an unknown step to show": ({**SET, **STEPS, "show": "2"}, "show", "path has 1 step"),
    "an unknown thing to show": ({**SET, **STEPS, "show": "rows"}, "show", 'must be "all"'),
    "an unknown end": ({**SET, "to": ["nothing"]}, "to", "search_entities finds them"),
}
"""Calls of `bfs_query` that are refused: arguments, the one at fault, and part of the sentence."""
