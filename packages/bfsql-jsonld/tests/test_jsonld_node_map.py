"""Node maps of our own are those of the JSON-LD library, of which the time grows with a square."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pyld import jsonld

from bfsql_jsonld.node_map import nodes_of

EX = "http://ex.org/"
IRIS = st.sampled_from([f"{EX}a", f"{EX}b", f"{EX}c"])
IDS = st.one_of(IRIS, st.sampled_from(["_:x", "_:y"]))
KEYS = st.sampled_from([f"{EX}p", f"{EX}q"])
VALUES = st.one_of(
    st.sampled_from([1, True, "a", "1", 1.5]).map(lambda one: {"@value": one}),
    st.sampled_from(["en", "de"]).map(lambda one: {"@value": "a", "@language": one}),
    st.just({"@value": "a", "@type": f"{EX}T"}),
    IDS.map(lambda one: {"@id": one}),
)


def nodes(items):
    """Nodes whose properties have some items as values, in lists, or reversed."""
    several = st.lists(items, max_size=3)
    return st.builds(
        lambda known, statements: {**known, **statements},
        st.fixed_dictionaries({}, optional={"@id": IDS, "@type": st.lists(IRIS, max_size=2)}),
        st.dictionaries(KEYS, st.one_of(several, several.map(lambda one: [{"@list": one}]))),
    )


TREES = st.recursive(VALUES, lambda inner: st.one_of(inner, nodes(inner)), max_leaves=12)


def graph(document):
    """A document with a part of itself in a named graph, and as the subject of a relation."""
    part = {key: one for key, one in document.items() if key != "@graph"}
    return {
        "@id": f"{EX}g",
        "@graph": [part],
        f"{EX}p": [part],
        "@reverse": {f"{EX}q": [{"@id": f"{EX}a", f"{EX}p": [{"@value": 1}]}]},
    }


def flattened(expanded):
    """What the library makes of a document: the nodes of all graphs that have statements."""
    found: list[dict[str, Any]] = []

    def add(flat):
        for node in flat:
            found.append({key: one for key, one in node.items() if key != "@graph"})
            add(node.get("@graph", []))

    add(jsonld.flatten(expanded))
    return [node for node in found if len(node) > 1]


@settings(max_examples=150)
@given(st.lists(nodes(TREES), max_size=3), st.booleans())
def test_the_nodes_are_those_that_the_library_finds(documents, named):
    expanded = jsonld.expand([graph(one) if named else one for one in documents])
    assert nodes_of(expanded) == flattened(expanded)
