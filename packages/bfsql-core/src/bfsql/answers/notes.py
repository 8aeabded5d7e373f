"""Notes on a call: its names, what the store left out, how its entities are connected.

A note says what makes an answer incomplete or inexact, and which call would get it (`protocol.md`
11). One that answers in lines write in another form is data, whose sentence is its text (`str`);
every other note is a sentence. `bfsql.answers.subgraph_notes` has those on the result of a
traversal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from bfsql import call
from bfsql.answers.clean import clean_text
from bfsql.errors import listing
from bfsql.models import COMPARE, DeadEnd, Omission, Outline, RelationCondition, ScopedRelation
from bfsql.models.expression import Computed
from bfsql.models.quotation import SHOWN, excerpt, listed, plain, quoted


class SizeBound(NamedTuple):
    """The bound on the size of an answer, as sentences name it."""

    name: str = "the token budget"
    cure: str = ", or a larger max_tokens"
    """Advice to get a larger answer, appended to other advice; empty if the call cannot get one."""


TOKEN_BUDGET = SizeBound()
"""The bound of a call that may request more tokens."""


class Substitution(NamedTuple):
    """A name that was resolved to an entity.

    Attributes:
        name: The name, as the call contains it.
        id: The id of the entity.
        entity_type: The type of the entity.
        full: Whether the search for the name was full, so that other entities may have it.
        similar: The entity's own name, if the given one is a misspelling of it.
    """

    name: str
    id: str
    entity_type: str
    full: bool = False
    similar: str = ""

    def __str__(self) -> str:
        others, entity = "", f"{plain(self.id)} ({plain(self.entity_type)})"
        if self.similar:
            own = quoted(clean_text(self.similar))
            return f"The only name like {excerpt(self.name)} is {own}: {entity} was taken."
        if self.full:
            typed = excerpt(f"{self.entity_type}: {self.name}")
            others = (
                "; the search reached its limit, so others may have this name, too: "
                f"{typed} searches this type alone"
            )
        return f"{excerpt(self.name)} was taken as {entity}{others}."


class NextPage(NamedTuple):
    """The place of a page among all nodes, and the call for the next page.

    Attributes:
        noun: What is counted, such as `node`.
        first: The number of the first node of the page, from 1.
        last: The number of its last node, which is the offset of the next page.
        total: The number of all nodes.
        limit: The limit of the next page.
    """

    noun: str
    first: int
    last: int
    total: int
    limit: int

    def __str__(self) -> str:
        return (
            f"{self.noun.capitalize()}s {self.first} to {self.last} of {self.total}. Continue with "
            f"offset={self.last}, limit={self.limit}."
        )


class ShortestLengths(NamedTuple):
    """The lengths of the shortest connections that were found.

    Attributes:
        lengths: Numbers of edges, ascending, at least one.
        along: Whether connections follow some steps only.
        tied: Whether some are equally short.
    """

    lengths: tuple[int, ...]
    along: bool
    tied: bool

    def __str__(self) -> str:
        *first, last = map(str, self.lengths)
        edges = " or ".join(filter(None, [", ".join(first), last]))
        what = "chains along these steps" if self.along else "connections"
        more = ", and several are equally short" if self.tied else ""
        return f"Shortest {what}: {edges} {'edge' if self.lengths == (1,) else 'edges'}{more}."


class Missing(str):
    """A sentence about something that is not in the answer, or is there in a part."""

    __slots__ = ()


Note: TypeAlias = str | Substitution | NextPage | ShortestLengths


MISSING = (Missing, NextPage)
"""The notes that say that the answer lacks something."""


def left_out(known: Iterable[Omission] = ()) -> Iterator[Missing]:
    """Notes on what the backend left out of the current call, and on withheld metadata.

    `known` are omissions that a result carries from an earlier call.
    """
    yield from map(Missing, _left_out(known))


def _left_out(known: Iterable[Omission]) -> Iterator[str]:
    under_way = call.current()
    every = dict.fromkeys([*known, *(under_way.omissions if under_way else ())])
    yield from omissions(every)
    records = sum(one.direction == "metadata" for one in every)  # withheld by a remote server
    records += len(under_way.withheld) if under_way else 0
    if records:
        yield (
            f"The metadata of {counted(records, 'record')} read for this answer is "
            "withheld, because the server's redaction of it failed. No call can show it until the "
            "operator has fixed that."
        )


def omissions(left_out: Iterable[Omission]) -> Iterator[str]:
    """Notes on what the backend left out, in an order independent of the cache."""
    ways = {"out": "outgoing edges", "in": "incoming edges", "both": "edges"}
    left_out = list(left_out)
    if not left_out:
        return
    searches = [one for one in left_out if one.direction == "search"]
    for why in sorted({one.reason for one in searches if one.reason}):
        yield (
            f"The search did not finish ({clean_text(why)}): entities whose names only contain "
            "its text may be missing. Give a whole name or an id, or try again later."
        )
    if any(one.reason is None for one in searches):
        yield (
            "The search compared only names, because its text could not be compared by meaning "
            "just now: what it describes in other words is missing. Give a name, or try again "
            "later."
        )
    if values := [one for one in left_out if one.direction == "values"]:
        yield _large_values(values)
    yield from _never_shown([one for one in left_out if one.lasting])
    unlisted = {(one.id, one.reason or "") for one in left_out if one.direction == "nodes"}
    for text, reason in sorted(unlisted):
        why = f" ({clean_text(reason)})" if reason else ""
        yield (
            f"The store did not list all entities of {plain(text)}{why}: every set and count "
            "made of them is a lower bound. Add conditions, or start from names."
        )
    silent = {(one.id, one.reason or "") for one in left_out if one.direction == "graph"}
    for name, reason in sorted(silent):
        yield (
            f"The graph {plain(name)} did not answer ({clean_text(reason)}): what only it has is "
            "missing. Ask again later."
        )
    edges = [one for one in left_out if one.direction in ways and not one.lasting]
    every = sorted(edges, key=lambda o: (o.id, o.direction, o.at_least or 0, o.reason or ""))
    for one in every[:SHOWN]:
        number = "Some" if one.at_least is None else f"At least {one.at_least}"
        node = plain(one.id)
        why = f" ({clean_text(one.reason)})" if one.reason else ""
        yield (
            f"{number} {ways[one.direction]} of {node} are missing{why}. Start from one of its "
            "neighbours to see more of them."
        )
    more = list(dict.fromkeys(one.id for one in every[SHOWN:]))
    if more:
        yield f"Edges of {counted(len(more), 'further node')} are missing too: {listed(more)}."


def _large_values(left_out: Sequence[Omission]) -> str:
    ordered = sorted(left_out, key=lambda o: (o.id, o.reason or "", o.at_least or 0))
    values = [
        f"{clean_text(one.reason or 'all metadata')} of {plain(one.id)}"
        f" (at least {one.at_least or 0:,} bytes)"
        for one in ordered
    ]
    return (
        "Left out, because a call of this server may not read so much of one record "
        f"(max_call_memory): {listing(values, SHOWN)}. For conditions, sorting and facets these "
        "values are absent."
    )


def _never_shown(left_out: Sequence[Omission]) -> Iterator[str]:
    for why in sorted({one.reason or "" for one in left_out}):
        alike = [one for one in left_out if (one.reason or "") == why]
        number = sum(one.at_least or 1 for one in alike)
        nodes = sorted({one.id for one in alike})
        reason = f" ({clean_text(why)})" if why else ""
        yield (
            f"{counted(number, 'edge')} of {listed(nodes)} {were(number)} left out{reason}. No "
            "call can show them."
        )


def dangling(edges: int, ids: int) -> tuple[str, ...]:
    """A note on edges to ids that are not nodes, if there are any."""
    sentence = (
        f"{counted(edges, 'edge')} {were(edges)} left out: the graph has no node for "
        f"{counted(ids, 'id')} at the other end. No call can show them."
    )
    return (Missing(sentence),) if edges else ()


def connection_notes(
    pairs: Sequence[tuple[str, str, int | None]], most: int, edges: int, *, along: bool = False
) -> Iterator[Note]:
    """Notes on the lengths of the shortest connections, and on pairs without one.

    Args:
        pairs: Seed, target, and the number of edges between them.
        most: The largest number of edges of a connection.
        edges: The number of edges on all of them.
        along: Whether connections follow some steps only.
    """
    lengths = [length for _, _, length in pairs if length is not None]
    if lengths:
        yield ShortestLengths(tuple(sorted({*lengths})), along, edges > sum(lengths))
    apart = [f"{plain(seed)} and {plain(to)}" for seed, to, length in pairs if length is None]
    if apart:
        shown = listing(apart, SHOWN, "; ", " pairs")
        way = " along these steps" if along else ""
        yield f"Not connected{way} within {counted(most, 'edge')}: {shown}."


def relation_notes(
    unmatched: Mapping[RelationCondition, DeadEnd | None],
    idle: Collection[ScopedRelation],
    undecided: int,
    outline: Outline | None = None,
    unlike: Mapping[str, int | None] = MappingProxyType({}),
) -> Iterator[str]:
    """Notes on conditions on relations.

    Args:
        unmatched: The conditions at whose end nothing was found, with the step that found nothing.
        idle: The conditions on types of which no node was reached.
        undecided: Number of nodes for which left-out edges could change the result.
        outline: The counts of the whole graph, if they are known.
        unlike: By condition on a property in brackets: the number of values that cannot be
            compared with it, as in `not_compared`.
    """
    if undecided:
        yield Missing(
            f"{counted(undecided, 'node')} {'carries' if undecided == 1 else 'carry'} "
            "undecided=true: the store left out edges that "
            "could change whether a relation condition holds. They are in the answer, so its "
            "counts are upper bounds."
        )
    for one, end in unmatched.items():
        has_edges = [(outline or Outline(sampled=True)).has_edges(step) for step in one.steps]
        plain_step = len(one.steps) == 1 and one.steps[0] == one.steps[0].unconditional
        all_or_none = "all" if COMPARE[one.comparison](0, one.number) else "none"
        if plain_step and has_edges == [True] and all_or_none == "all":
            continue  # The relation stands elsewhere in the graph, so this is an answer.
        hints = [*(ways_on(end) if end else ())]
        if not (plain_step and has_edges == [True]):
            hints.append("Check the names and values in it.")
        where = "anywhere" if False in has_edges else "from the nodes read here"
        nodes = "the nodes" if False in has_edges else "them"
        sentence = f"Nothing was found at the end of {excerpt(one.text)} {where}, so it holds for "
        yield " ".join([f"{sentence}{all_or_none} of {nodes}.", *hints])
    for scoped in sorted(idle, key=lambda one: one.text):
        of = listed(sorted(scoped.types or ()))
        yield f"where: {excerpt(scoped.text)} removed nothing, since no node of {of} was reached."
    for text, count in unlike.items():
        yield not_compared(count, text, computed=isinstance(text, Computed))


def not_compared(count: int | None, text: str, *, computed: bool = False) -> str:
    """The note on values of another kind than a condition's, or on expressions without a value.

    Their number is None if it is unknown, and negative if it is unknown whether there are any.
    """
    if computed:
        some = "some" if count is None or count < 0 else f"{count:,}"
        return (
            f"{quoted(text)} has no value for {some} of what was compared, which do "
            "not meet it: a part is missing, is no number, or is divided by 0."
        )
    if count is not None and count < 0:
        return (
            f"Values that cannot be compared with {quoted(text)} were not counted, because the "
            "store could not do that in time; if there are any, they do not meet it."
        )
    values = "Some values" if count is None else counted(count, "value")
    return (
        f"{values} cannot be compared with {quoted(text)} and {'does' if count == 1 else 'do'} not "
        "meet it; numbers compare with numbers, ISO dates with dates, other text with text."
    )


def ways_on(end: DeadEnd) -> Iterator[str]:
    """Notes on the relations where the longest walks ended."""
    if end.turned is not None:
        yield f"The opposite direction has matches: {plain(end.turned)}."
    if end.relations:
        yield f"Relations there: {listing(list(map(excerpt, end.relations)), SHOWN)}."


def shared_notes(
    edges: Sequence[tuple[str, str, str]], k: int, shared: int, *, smallest: bool, bare: bool
) -> list[str]:
    """Notes on the relations between the seeds of an intersection.

    Args:
        edges: The edges between two seeds.
        k: The radius of the answer.
        shared: Number of nodes of the answer that are not seeds.
        smallest: Whether the smallest radius was searched for.
        bare: Whether there are no edges among the nodes, and their connections are left out.
    """
    notes = []
    if smallest and shared:
        notes.append(f"k={k} is the smallest radius with another node in common.")
    elif not shared:
        up_to = f"up to k={k}" if smallest else f"within k={k}"
        notes.append(
            f"The seeds have no other node in common {up_to}. bfs_query with to looks for the "
            "shortest connections of two entities."
        )
    if shared and bare:
        notes.append("connect=true adds the seeds' own edges to these nodes.")
    if edges:
        steps = [f"{plain(s)} -{plain(p)}-> {plain(o)}" for s, p, o in edges]
        notes.append(f"Seeds connected by an edge: {listing(steps, SHOWN)}.")
    return notes


def counted(count: int, thing: str, form: str = "") -> str:
    """A number, in a form such as `,`, with its noun in the singular or plural."""
    return f"{count:{form}} {thing}" if count == 1 else f"{count:{form}} {thing}s"


def were(count: int) -> str:
    """`was` or `were`, for this many things."""
    return "was" if count == 1 else "were"
