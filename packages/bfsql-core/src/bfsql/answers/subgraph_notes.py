"""Notes on the result of a traversal: its pages, conditions, properties and budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bfsql import call
from bfsql.answers.clean import clean_text
from bfsql.answers.notes import (
    TOKEN_BUDGET,
    Missing,
    NextPage,
    Note,
    SizeBound,
    counted,
    dangling,
    left_out,
    not_compared,
    ways_on,
    were,
)
from bfsql.errors import listing
from bfsql.models import (
    MAX_ALONG,
    MOST_PATHS,
    AnswerGaps,
    BfsResult,
    ConditionTally,
    DeadEnd,
    IntersectionResult,
)
from bfsql.models.comparison import is_unordered, number_in
from bfsql.models.expression import Computed
from bfsql.models.facet import MOST_VALUES
from bfsql.models.quotation import SHOWN, listed, plain, quoted

_TYPES = 'Types are chosen by patterns, "TYPE:*", and by exclude_node_types.'
_PROPERTIES = "describe_entity shows which properties an entity has."
_HINTS = {"entity_type": _TYPES, "type": _TYPES}


def subgraph_notes(
    result: BfsResult | IntersectionResult, bound: SizeBound = TOKEN_BUDGET
) -> list[Note]:
    """The notes on the answer to a traversal; `bound` is what cuts an answer that is too large."""
    facts = result.facts
    if isinstance(result, BfsResult):
        own: list[Note] = [*_traversal(facts, "max_hops"), *_walks(result, bound)]
        own += _pages(result, bound)
    else:
        own = [*_traversal(facts, "k"), *_cut_by_type(facts, bound)]
    own += [*_conditions(facts), *_comparisons(facts), *_order(facts)]
    if result.facets or facts.measures:
        own += [*_measures(facts), *_facets(result, bound)]
    return [*own, *_detail(facts, bound), *left_out(facts.omissions)]


def _traversal(facts: AnswerGaps, depth: str) -> Iterator[str]:
    if facts.unknown_seeds:
        yield f"No such entity: {listed(facts.unknown_seeds)}."
    if facts.finished_depth is not None:
        why = (
            "this call reached its time limit"
            if facts.stopped_by == "deadline"
            else f"the next ring exceeds the server's limit on {facts.stopped_by}"
        )
        yield Missing(
            f"Stopped at {depth}={facts.finished_depth} of {facts.asked_depth}, because {why}. The "
            f"answer is complete for {depth}={facts.finished_depth}; go on from its outermost "
            "nodes."
        )
    elif facts.farthest == 0:
        yield "along found nothing: none of its steps matches an edge of the seeds."
    elif facts.farthest is not None and not facts.outermost:
        yield f"along was followed to its end, {counted(facts.farthest, 'edge')} away."
    elif facts.farthest is not None:
        more = f"raise {depth}, or " if facts.farthest < MAX_ALONG else ""
        yield (
            f"along may lead further from the {counted(facts.outermost, 'node')} at {depth}="
            f"{facts.farthest}: {more}start from these."
        )
    if facts.removed_seeds:
        yield (
            f"{listed(facts.removed_seeds)} {were(len(facts.removed_seeds))} removed from the "
            "answer by exclude_node_types, min_mentions or where, although it started there."
        )
    yield from dangling(facts.dangling_edges, facts.dangling_ids)


def _walks(result: BfsResult, bound: SizeBound) -> Iterator[str]:
    shown = result.shown
    if shown is None:
        is_removed = result.seed_count and not result.max_hops and not result.node_count
        if is_removed and all(one.met for one in result.facts.conditions):
            yield "exclude_node_types, min_mentions or where removed all of the seeds."
        return
    if not result.node_count and result.seed_count != 0:
        yield from _nothing_found(result, shown.dead_end)
    if result.facts.lost and not result.offset:
        step = 0 if shown.rows is not None else shown.step
        lost, every = result.facts.lost
        yield f"Step {step}: {lost} of {counted(every, 'node')} on no walk."
    if shown.walks == "too large":
        cure = "Raise max_tokens, or name" if bound.cure else "Name"
        yield Missing(
            f"The walks of even one shown node did not fit {bound.name}, so only the nodes "
            f"are shown. {cure} a node in to for its walks."
        )
    if shown.many:
        count = "paths" if shown.rows is None else "walk_count"
        yield Missing(f"{count}={MOST_PATHS} stands for that many walks or more.")


def _nothing_found(result: BfsResult, end: DeadEnd | None) -> Iterator[str]:
    if end is None or end.apart:
        yield "No complete walk: those from the seeds and those to the nodes of to do not meet."
    elif end.compared:
        yield "Walks were found, but none of them meets the comparisons of steps in where."
    elif not end.step:
        yield (
            "No seed meets the conditions of where on step 0."
            if end.removed
            else "No seed has the type before the first step."
        )
    elif not end.nodes:
        yield (
            f"No node of to meets the conditions of where on step {end.step}."
            if end.removed
            else "No node of to has the type after the last step."
        )
    elif end.backwards:
        yield (
            f"Step {end.step} ({plain(end.text)}) reaches none of the "
            f"{counted(end.nodes, 'node')} from which walks lead on to a node of to."
        )
    elif end.misses_targets:
        yield (
            f"Step {end.step} ({plain(end.text)}) leads from {counted(end.nodes, 'node')}, but "
            "not to a node of to."
        )
    else:
        yield (
            f"Step {end.step} ({plain(end.text)}) found nothing from {counted(end.nodes, 'node')}."
        )
    if end is not None:
        yield from _why_it_ended(end)
    if result.facts.omissions or call.omissions():
        yield Missing("The store left out edges, so there may be matches nevertheless.")


def _why_it_ended(end: DeadEnd) -> Iterator[str]:
    if end.step and end.nodes and end.removed:
        yield "What it found was removed by exclude_node_types, min_mentions or a condition."
    if end.turned_back:
        yield (
            "Only walks that turn back would be complete, and two consecutive edges of a walk are "
            "never the same edge."
        )
    yield from ways_on(end)


def _pages(result: BfsResult, bound: SizeBound) -> Iterator[Note]:
    facts, what = result.facts, "node" if result.shown is None else result.shown.noun
    total = result.node_count if result.shown is None else result.shown.count
    shown = len(result.page.ids) if result.shown is None else result.shown.length
    end = result.offset + shown
    if facts.past_the_end:
        yield Missing(
            f"offset={result.offset} is past the end: there are {total} {what}s. "
            "Use a smaller offset."
        )
    if facts.cut_nodes:
        yield Missing(
            f"{counted(facts.cut_nodes, what)} did not fit {bound.name}. Continue with "
            f"offset={end}, limit={shown}."
        )
    elif shown and end < total:
        yield NextPage(what, result.offset + 1, end, total, result.limit or shown)
    if facts.tied and facts.order is not None:
        key, have = facts.order.key, "has" if facts.tied == 1 else "have"
        same = quoted(key) if " " in key else plain(key)
        yield f"sort_by: the next {facts.tied} {have} the same {same}."
    if facts.edges_to_earlier:
        yield Missing(
            f"{counted(facts.edges_to_earlier, 'edge')} "
            f"{'joins' if facts.edges_to_earlier == 1 else 'join'} this page to earlier ones; to "
            "see them: bfs_query with this page's ids as seeds (at most 100 a call), max_hops=1."
        )


def _cut_by_type(facts: AnswerGaps, bound: SizeBound) -> Iterator[str]:
    if facts.cut_nodes:
        by_type = ", ".join(f"{count} {plain(name)}" for name, count in facts.cut_types.items())
        yield Missing(
            f"{counted(facts.cut_nodes, 'node')} did not fit {bound.name} and "
            f"{were(facts.cut_nodes)} left out, with their edges: {by_type}. This answer has no "
            f"pages: use a smaller k, exclude_node_types or min_mentions{bound.cure}."
        )


def _conditions(facts: AnswerGaps) -> Iterator[str]:
    told = [sentence for one in facts.conditions for sentence in _condition(one)]
    yield from told[:SHOWN]
    if len(told) > SHOWN:
        yield f"where: {counted(len(told) - SHOWN, 'further note')} of this kind left out."


def _condition(facts: ConditionTally) -> Iterator[str]:
    one = facts.condition
    scope = None if one.scope is None else plain(one.scope)
    if one.scope is not None and one.scope != one.written_scope:
        yield f"where: read {quoted(one.written_scope or '')} as {quoted(one.scope)}."
    yield from _effect(facts, scope)
    texts = filter(is_unordered, one.values if one.operator in ("<", "<=", ">", ">=") else ())
    if (text := next(texts, None)) is not None and number_in(text) is None:
        yield f"where: {one.excerpt}{_as_text(text)}"
    if facts.unlike:
        computed = isinstance(one.key, Computed)
        yield f"where: {not_compared(facts.unlike, one.text, computed=computed)}"


def _effect(facts: ConditionTally, scope: str | None) -> Iterator[str]:
    """A note on a condition that nothing meets, or that removed nothing."""
    one = facts.condition
    if not facts.applied:
        thing = "node" if one.predicate is None else "edge"
        of = "" if scope is None else f" of {scope}"
        yield f"where: {one.excerpt} removed nothing, since no {thing}{of} was reached."
    elif isinstance(one.key, Computed):
        if facts.had and not facts.met:
            yield f"where: nothing reached meets {one.excerpt}."
    elif not facts.had and facts.hidden:
        yield (
            f"where: traversals leave {quoted(one.key)} out of edges, so {one.excerpt} counts it "
            "as absent. describe_entity shows it."
        )
    elif not facts.had:
        of = "nothing reached" if scope is None else f"no {scope} reached"
        result = "removed nothing" if facts.keeps_absent or facts.met else "removed them all"
        hint = _HINTS.get(one.key, _PROPERTIES)
        if "." in one.key and scope is None:
            hint = f"No type or predicate {quoted(one.key.rpartition('.')[0])} is known."
        if facts.predicate is not None:
            hint = f'A relation has an arrow: "{plain(f"no -{facts.predicate}->")}".'
        yield f"where: {of} has the property {quoted(one.key)}, so {one.excerpt} {result}. {hint}"
    elif not facts.met:
        values = ", ".join(quoted(clean_text(value)) for value in facts.values)
        further = f" and {facts.further_values} more" if facts.further_values else ""
        found = f" Values found: {values}{further}." if values else ""
        yield f"where: nothing reached meets {one.excerpt}.{found}"


def _comparisons(facts: AnswerGaps) -> Iterator[str]:
    """Notes on expressions over two steps, and on conditions on measures."""
    for text, count in facts.valueless:
        if count:
            yield (
                f"where: {quoted(text)} has no value for {counted(count, 'pair')} of nodes on "
                "walks, which do not meet it: a part is missing, is no number, or is divided by 0."
            )
    if facts.below is not None:
        gone, every = facts.below
        yield (
            f"where: {gone} of {counted(every, 'shown node')} {were(gone)} removed, whose measures "
            "do not meet it; counts of nodes, edges and walks are those before."
        )


def _order(facts: AnswerGaps) -> Iterator[str]:
    order = facts.order
    if order is None:
        return
    key = quoted(order.key)
    if order.key == "degree":
        yield "sort_by: degree counts the edges of this answer."
    elif not order.had:
        near = f"The nearest: {listed(order.known)}." if order.known else _PROPERTIES
        yield (
            f"sort_by: no node of the answer has the property {key}, so they are sorted by id. "
            f"{near}"
        )
    if order.mixed:
        yield f"sort_by: {key} is a number in some nodes and text in others; numbers come first."
    if order.unordered is not None:
        yield f"sort_by: {key}{_as_text(order.unordered)}"


def _as_text(example: str) -> str:
    return f" is sorted as text: {quoted(clean_text(example))} is neither a number nor an ISO date."


def _measures(facts: AnswerGaps) -> Iterator[str]:
    for one in facts.measures:
        text = quoted(one.text)
        if not one.had:
            known = _properties(one.known)
            yield f"measure: nothing at that step has the property of {text}.{known}"
        if one.texts:
            yield f"measure: {text} leaves out {counted(one.texts, 'value')} stored as text."
        if one.unordered is not None:
            yield f"measure: {text}{_as_text(one.unordered)}"
        elif one.by_text:
            yield f"measure: {text} goes by the order of text."
        if one.cut:
            yield (
                f"measure: {text} leaves out nodes with the last of its values for "
                f"{counted(one.cut, 'shown node')}."
            )


def _properties(properties: Sequence[str]) -> str:
    return f" Available: {listed(properties)}." if properties else ""


def _facets(result: BfsResult | IntersectionResult, bound: SizeBound) -> Iterator[str]:
    for label, one in result.facets.items():
        key = quoted(label)
        if not one.count and (one.missing or result.node_count):
            counted_anyway = label.split(".")[-1] in ("entity_type", "type", "predicate")
            known = " schema_summary counts types." if counted_anyway else _properties(one.known)
            yield f"facets: nothing of the answer has {key}.{known}"
        if one.unordered is not None:
            yield f"facets: {key}{_as_text(one.unordered)}"
        shown = len(one.common)
        if shown < one.distinct and not one.cut:
            most = min(one.distinct, MOST_VALUES)
            all_or_more = "all" if most == one.distinct else "more"
            yield Missing(
                f"facets: {key} shows {shown} of {one.distinct} values; "
                f"{quoted(f'{label}:{most}')} shows {all_or_more}."
            )
    cut = [
        f"{quoted(label)} ({len(one.common)} of {one.distinct} values)"
        for label, one in result.facets.items()
        if one.cut
    ]
    if cut:
        which = listing(cut, SHOWN)
        yield Missing(f"facets: fewer values than requested fit {bound.name} for {which}.")


def _detail(facts: AnswerGaps, bound: SizeBound) -> Iterator[str]:
    if facts.absent_fields:
        yield (f"fields: nothing on this page has {listed(facts.absent_fields)}. {_PROPERTIES}")
    if facts.stripped_fields:
        yield (
            f"fields: traversals leave {listed(facts.stripped_fields)} out of edges. "
            "describe_entity shows it."
        )
    if facts.edge_properties:
        yield f"fields: edges have: {listed(facts.edge_properties)}."
    if facts.bare_nodes or facts.bare_edges:
        parts = [
            counted(count, thing)
            for count, thing in ((facts.bare_nodes, "node"), (facts.bare_edges, "edge"))
            if count
        ]
        total = facts.bare_nodes + facts.bare_edges
        yield Missing(
            f"{' and '.join(parts)} {were(total)} left without metadata by {bound.name}. For "
            "nodes use describe_entities; for edges a smaller query with node_types and "
            f"predicates{bound.cure}."
        )
    for things in facts.late:
        yield Missing(
            f"The metadata of all {things} is missing, because this call reached its time limit. "
            "Ask again, or use describe_entities for the nodes that matter."
        )
