"""Rules as tables of calls: a backend answers them over graphs of the kit as the reference does.

    compared(
        "whole-hub",
        "a hub gives all of its edges",
        source="protocol 11: nothing is cut silently",
        over=(hub,),
        calls=lambda ids, edges: {"edges_from edges_to": ["hub"], "get_nodes_batch": [ids]},
    )

A KeyError of the reference is an answer like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from bfsql.answers.clean import clean, clean_metadata
from bfsql.masking import shorten
from bfsql.models import Edge, EdgeRecord, GraphRecord, Metadata
from bfsql_testing.conformance.graphs import node_ids
from bfsql_testing.conformance.harness import (
    Trial,
    answered,
    beside_reference,
    discrepancy,
    expect,
    rule,
)

Calls: TypeAlias = Mapping[str, Iterable[Any]]
"""By methods, between whose names are spaces: for each call its argument, or a tuple of several."""

CallsOf: TypeAlias = Callable[[list[str], list[Edge]], Calls]
"""The calls over a graph, of whose nodes it takes the ids, and of whose edges the triples."""

IDENTITY = ("id", "entity_type")
"""Keys that a backend may or may not repeat in the metadata it returns."""


class Form(NamedTuple):
    """How the answers of a method are compared."""

    of: Callable[[Any], Any] = lambda answer: answer
    """Takes an answer, and gives what is compared of it."""
    fault: Callable[[Any, Any], str] = discrepancy
    """Takes that of the backend and of the reference; says what is wrong, or nothing."""


def each(calls: Calls) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Method and arguments of each call."""
    for methods, keys in calls.items():
        for key, method in product(keys, methods.split()):
            yield method, key if type(key) is tuple else (key,)


def compared(  # noqa: D417 - id, behaviour and source are those of `rule`
    id: str,  # noqa: A002 - the rule's own word
    behaviour: str,
    *,
    source: str,
    over: Iterable[Callable[[], list[GraphRecord]]],
    calls: CallsOf,
    **forms: Form,
) -> None:
    """Register a rule that compares the answers of calls with those of the reference.

    Args:
        over: The graphs.
        calls: The calls over each.
        **forms: By method, how its answers are compared, if otherwise than in `FORMS`.
    """
    of_rule = rule(
        id, behaviour, source=source, mode="filling", over=over, calls=calls, forms=forms
    )
    of_rule(same_answers)


async def same_answers(
    trial: Trial,
    *,
    over: Iterable[Callable[[], list[GraphRecord]]],
    calls: CallsOf,
    forms: Mapping[str, Form],
) -> None:
    """The answers of calls over graphs of the kit, and the KeyError for what is unknown."""
    for graph in over:
        async with beside_reference(trial, graph) as (db, reference, records):
            for method, given in each(calls(node_ids(records), edge_keys(records))):
                form = forms.get(method) or FORMS[method]
                have, want = [await answered(of, method, *given) for of in (db, reference)]
                fault = _fault(form, have, want)
                request = shorten(", ".join(map(repr, given)), 80)
                expect(not fault, f"Over the graph {graph.__name__}, {method}({request}) {fault}.")


def _fault(form: Form, have: Any, want: Any) -> str:
    if want is KeyError:
        return "" if have is want else f"gave {shorten(repr(have), 300)}; no record describes it"
    if have is KeyError:
        return f"raised KeyError for what exists; right is {shorten(repr(want), 300)}"
    return form.fault(form.of(have), form.of(want))


def edge_keys(records: Sequence[GraphRecord]) -> list[Edge]:
    """The triples of edges, each once."""
    edges = (r for r in records if isinstance(r, EdgeRecord))
    return list(dict.fromkeys(Edge(r.subject, r.predicate, r.object) for r in edges))


def metadata_fault(have: Metadata, want: Metadata, *, exactly: bool = False) -> str:
    """What is wrong with metadata, as answers show it, numbers and booleans told apart.

    Args:
        have: Of the backend.
        want: Of the reference.
        exactly: Whether text has to be the same also where answers do not show it: line breaks.
    """
    shown, right = clean_metadata(have), clean_metadata(want)
    for key in sorted({*shown, *right}):
        if key not in right:
            if key not in IDENTITY:
                return f"has {key!r}, which no record contains"
            continue
        if key not in shown:
            return f"has lost {key!r}"
        one, other = shown[key], right[key]
        if exactly and isinstance(have.get(key), str) and isinstance(want.get(key), str):
            one, other = have[key], want[key]
        if repr(one) != repr(other):
            return f"gives {key!r} as {one!r}"[:300] + f"; right is {other!r}"[:300]
    return ""


def _batch_fault(have: Mapping[Any, Metadata], want: Mapping[Any, Metadata]) -> str:
    faults = {key: metadata_fault(have.get(key, {}), want[key]) for key in want}
    return next((f"{fault}, of {key!r}" for key, fault in faults.items() if fault), "")


def _count_fault(have: dict[str, Any], want: dict[str, Any]) -> str:
    items, right = len(have["items"]), len(want["items"])
    fits = items <= right and have["total"] in (None, want["total"])
    total = f"{have['total']}; right is {right} of {want['total']}"
    return "" if fits else f"gave {items} items of {total}"


def _evidence_fault(have: dict[str, Any], want: dict[str, Any]) -> str:
    whole = len(want["items"]) == want["total"]
    wrong = f"gave {have['items']}; right is {want['items']}"
    return wrong if whole and have["items"] != want["items"] else _count_fault(have, want)


EXACT = Form(fault=lambda have, want: metadata_fault(have, want, exactly=True))
EVIDENCE = Form(lambda of: (clean(of.get("provenance"), "provenance"),))
TOTAL = Form(fault=_count_fault)
KNOWN = Form(lambda _: True)

FORMS = {
    "get_node": Form(lambda node: (node.id, node.entity_type)),
    "get_nodes_batch": Form(lambda nodes: {(node.id, node.entity_type) for node in nodes}),
    "edges_from": Form(lambda edges: sorted(map(tuple, edges))),
    "edges_to": Form(lambda edges: sorted(map(tuple, edges))),
    "edges_batch": Form(lambda edges: {(s, p, o) for s, p, o in edges}),
    "metadata_for_node": Form(fault=metadata_fault),
    "metadata_for_edge": Form(fault=metadata_fault),
    "metadata_for_edges_batch": Form(lambda of: {tuple(e): of[e] for e in of}, _batch_fault),
    "provenance_for_node": Form(fault=_evidence_fault),
    "entity_types": Form(list),
    "predicates": Form(list),
}
"""How the answers of each method are compared."""
