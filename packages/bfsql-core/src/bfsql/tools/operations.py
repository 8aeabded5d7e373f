"""The six operations: one call from raw arguments to an answer or an error.

Errors that the model can act on reach it as a sentence. Other errors are logged
with an id, and the model receives only that id (`protocol.md` 12).
"""

from __future__ import annotations

import asyncio
import copy
import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from bfsql import answers, call
from bfsql.abc import GraphDbInterface, normalized
from bfsql.answers import Answer
from bfsql.answers.notes import Missing, Note, counted, left_out
from bfsql.call import Caller, Estimator, Limits
from bfsql.errors import (
    NARROWER,
    BoundMet,
    CircuitOpen,
    StoreDamaged,
    StoreError,
    StoreOutOfMemory,
    StoreUnavailable,
    ToolError,
    bad_value,
    in_time,
)
from bfsql.memory_account import (
    LARGE,
    MemoryAccount,
    default_of_a_call,
    default_of_all_calls,
    give_back,
)
from bfsql.models import Metadata
from bfsql.models.quotation import excerpt, listed
from bfsql.observer import NO_OBSERVERS, ObservedCall, Observer, Observers
from bfsql.plugins import NO_HOOKS, CallOutcome, Hooks
from bfsql.tools.budget import Budget, refuse_if_too_large, without_large_values
from bfsql.tools.describe_schema import directions, schema_around, whole_schema
from bfsql.tools.graph_view import GraphView
from bfsql.tools.hits import classified_search
from bfsql.tools.namesakes import contexts, namesakes
from bfsql.tools.parameters import TRAVERSALS
from bfsql.tools.redaction import RedactedGraphDb
from bfsql.tools.resolve import NameResolver, of_patterns
from bfsql.tools.schema import GraphSchema
from bfsql.tools.time_judge import TimeJudge
from bfsql.tools.traversals import EntityPage, Traversal
from bfsql.tools.validate import checked, without_doubts
from bfsql.workers import off_loop

log = logging.getLogger("bfsql")

EVIDENCE_ITEMS = 20
"""Maximum number of items of evidence in a description (`protocol.md` 16)."""
_LATER, _LINE = 1.0, 300
"""Seconds after a call in which its work in threads has ended; bytes of a line about a time."""
_LISTS = {
    "nodes": "nodes",
    "edges": "edges",
    "result": "items",
    "entity_types": "entity_types",
    "predicates": "predicates",
}
"""The lists of an answer whose lengths are reported, and their names in the report."""


class Operations:
    """The six operations over one graph; `run` checks the arguments that the others take.

    Args:
        db: The graph.
        description: The operator's description of the graph.
        limits: The limits of one call.
        hooks: The plugins that audit and refuse calls, redact metadata and rerank candidates.
        observers: The observers of the graph, in addition to the audit hooks.

    Attributes:
        db: The graph without what the hooks redact.
        graph_schema: The types, predicates and relations of the graph, as far as they are known.
    """

    def __init__(
        self,
        db: GraphDbInterface,
        description: str,
        limits: Limits,
        hooks: Hooks = NO_HOOKS,
        observers: Observers = NO_OBSERVERS,
    ) -> None:
        self.db = RedactedGraphDb(db, hooks) if hooks.redacts else normalized(db)
        self._hooks = hooks
        self._description = description
        self._limits = limits
        self._observers = (
            Observers([*observers.all, _WatchingHooks(hooks)]) if hooks.watches else observers
        )
        of_all_calls = limits.max_memory or default_of_all_calls()
        self.memory = MemoryAccount(of_all_calls, limits.account)
        self._call_memory = min(limits.max_call_memory or default_of_a_call(), of_all_calls)
        # An outline shows which properties there are: it reads no long values of many nodes.
        outline = partial(self.memory.of_call, self._call_memory, share=4_000)
        self.graph_schema = GraphSchema(self.db, outline)
        self._checked = partial(checked, has_name=self.graph_schema.has_name)
        self._is_observed, self._is_guarded = bool(self._observers), bool(hooks)

    async def run(
        self,
        tool: str,
        arguments: Any = None,
        *,
        caller: Caller | None = None,
        request_id: str | None = None,
    ) -> Answer:
        """Check the raw arguments of a call and run it; see `bfsql.graph.Graph.call`.

        Raises:
            ToolError: The call cannot be answered.
        """
        with self.scope(caller, request_id) as scope:
            if not self._is_observed:
                return await self._answered(tool, self._checked(tool, arguments))
            with self._observers.observed(tool, arguments, scope) as seen:
                seen.arguments = values = self._checked(tool, arguments)
                answer = await self._answered(tool, values)
                _record(seen, answer, self._limits.estimator)
                return answer

    @contextmanager
    def scope(self, caller: Caller | None, request_id: str | None) -> Iterator[call.Scope]:
        """A call within the limits; after one that took much memory, it is given back."""
        memory = self.memory.of_call(self._call_memory)
        try:
            with call.scope(
                seconds=self._limits.deadline,
                caller=caller,
                request_id=request_id,
                part=True,
                memory=memory,
            ) as scope:
                yield scope
        finally:
            if memory.account.peak > LARGE:
                loop = asyncio.get_running_loop()
                loop.call_later(_LATER, loop.run_in_executor, None, give_back)

    async def _answered(self, tool: str, values: dict[str, Any]) -> Answer:
        if (may := self._limits.tools) is not None and tool not in may:
            known = ", ".join(may) or "none"
            raise ToolError(f"Your role may not call {tool}, but: {known}.", kind="refused")
        if self._is_guarded and (refusal := await self._hooks.refusal(tool, values)):
            raise ToolError(refusal, kind="refused")
        with translate_errors(self._limits, tool):
            at, values = values.get("at"), {k: v for k, v in values.items() if k != "at"}
            if at is None:
                answer: Answer = await getattr(self, tool)(**values)
            elif values.get("seeds") == []:
                raise bad_value("at: describe_schema takes it with seeds; give some.", "at")
            else:
                judge = TimeJudge(self.db.time_keys, at)
                limits, of_view, most = self._limits, copy.copy(self), self._limits.max_answer_bytes
                of_view.db = view = GraphView(self.db, judge)
                of_view._limits = replace(  # noqa: SLF001 - its own, with room for a line
                    limits,
                    estimator=lambda text: limits.estimator(text) + _LINE // 3,
                    max_answer_bytes=most and most - _LINE,
                )
                answer = await getattr(of_view, tool)(**values)
            self.graph_schema.saw(tool, answer.document)
            if self._limits.answer_format == "lines" and tool not in TRAVERSALS:
                answer = replace(answer, text=answers.in_lines(answer.document, answer.note_data))
            if at is not None:
                answer = answers.headed(answer, "at", judge.line(view.visible.verdicts))
            if self._limits.max_answer_bytes is not None:
                refuse_if_too_large(self._limits, tool, len(_text(answer)))
            return answer

    async def entity_page(
        self, types: Sequence[str], conditions: Sequence[str], after: str | None, limit: int
    ) -> EntityPage:
        """A page of the entities of some types that meet conditions; see `Traversal`.

        Hooks that watch and refuse calls see it as the call of `bfs_query` with the same entities
        as seeds.
        """
        brackets = "".join(f"[{text}]" for text in conditions) or ":*"
        arguments = {"seeds": [f"{'|'.join(types) or '*'}{brackets}"], "limit": limit}
        traversal = Traversal(self.db, self._limits, self.graph_schema, None)
        if not self._is_guarded:
            return await traversal.entity_page(types, conditions, after, limit)
        hooks, scope = self._hooks, call.current()
        assert scope is not None
        watching = Observers([_WatchingHooks(hooks)] if hooks.watches else [])
        with watching.observed("bfs_query", arguments, scope) as seen:
            seen.arguments = values = checked("bfs_query", arguments)
            with translate_errors(self._limits, "bfs_query"):
                if refusal := await hooks.refusal("bfs_query", values):
                    raise ToolError(refusal, kind="refused")
                page = await traversal.entity_page(types, conditions, after, limit)
            seen.rows = {"nodes": len(page.nodes)}
            return page

    async def describe_schema(self, seeds: Sequence[str] = ()) -> Answer:
        """Orientation: the contents of the graph, or the relations around some entities."""
        if seeds:
            names = NameResolver(self.db, self.graph_schema.lists)
            return await schema_around(names, seeds, self._limits)
        return await whole_schema(self.db, self.graph_schema, self._description, self._limits)

    async def search_entities(self, query: str, node_types: Sequence[str]) -> Answer:
        """Resolution: from a name to ids."""
        types, notes = await self.graph_schema.spelled("node_types", node_types)
        found = await classified_search(self.db, query, types)
        stubs = await self._hooks.reranked(query, types, [hit.stub for hit in found.hits])
        if not found.hits:
            among = f" among {listed(types)}" if types else ""
            notes.append(
                f"Nothing{among} matches {excerpt(query)}. Try a shorter or another form of the "
                f"name, or leave out node_types.{of_patterns([query])}"
            )
        matches = {hit.stub.id: hit.match.kind.value for hit in found.hits}
        facts = await contexts(self.db, namesakes(stubs))
        records = answers.search_document(stubs, matches, facts)
        notes = without_doubts(notes, {stub.entity_type for stub in stubs})
        notes = [*found.notes(query), *notes]
        budget = Budget.for_records(self._limits)

        def answer(count: int) -> Answer:
            cut = len(records) - count
            left = Missing(
                f"{counted(cut, 'hit')} did not fit {budget.bound.name}. Search for a longer form "
                "of the name."
            )
            return _list_answer(records[:count], [*notes, left] if cut else notes)

        return answer(budget.longest(len(records), lambda n: _text(answer(n))))

    async def bfs_query(self, max_tokens: int | None, **arguments: Any) -> Answer:
        """Traversal: the union of neighbourhoods, walks along a path, or shortest connections."""
        traversal = Traversal(self.db, self._limits, self.graph_schema, max_tokens)
        return await traversal.bfs_query(**arguments)

    async def intersect_subgraphs(self, max_tokens: int | None, **arguments: Any) -> Answer:
        """Intersection: the nodes that all seeds share."""
        traversal = Traversal(self.db, self._limits, self.graph_schema, max_tokens)
        return await traversal.intersect_subgraphs(**arguments)

    async def describe_entity(self, id: str) -> Answer:  # noqa: A002 - the protocol's name
        """Expansion: the full record of one entity, with the evidence that touches it."""
        names = NameResolver(self.db, self.graph_schema.lists)
        node = await names.node("id", id)
        metadata = {**node.metadata, **await call.within(self.db.metadata_for_node(node.id))}
        evidence = await call.within(self.db.provenance_for_node(node.id, EVIDENCE_ITEMS))
        items = list(evidence.get("items", ()))[:EVIDENCE_ITEMS]
        total = evidence.get("total")
        edges, uncounted = await directions(self.db, node.id, self._limits)
        own = _evidence_notes(evidence, len(items))
        notes = [*names.notes, *own, *uncounted, *left_out()]

        budget, record = Budget.of(self._limits), Budget.for_records(self._limits)

        def document(count: int, known: Metadata = metadata) -> dict[str, Any]:
            cut = len(items) - count
            left = [Missing(f"{counted(cut, 'item')} of evidence did not fit {budget.bound.name}.")]
            return answers.entity_document(
                node.id,
                node.entity_type,
                known,
                edges=edges,
                provenance={"total": total, "items": items[:count]} if items or total else None,
                notes=[*notes, *(left if cut else ()), *_cut_values(metadata, known, record)],
            )

        def description() -> Answer:
            count = budget.longest(len(items), lambda n: answers.encode(document(n)))
            known = without_large_values(
                metadata, record, lambda part: answers.encode(document(count, part))
            )
            return answers.document_answer(document(count, known), names.notes)

        return await off_loop(call.held_values(), description)

    async def describe_entities(self, ids: Sequence[str]) -> Answer:
        """Batch expansion: many records in one call, in the requested order."""
        names = NameResolver(self.db, self.graph_schema.lists)
        nodes = await names.nodes(ids)
        metadata = (
            await call.within(self.db.metadata_for_nodes_batch([n.id for n in nodes]))
            if nodes
            else {}
        )
        own = [{**n.metadata, **metadata.get(n.id, {})} for n in nodes]
        records: list[dict[str, Any]] = []
        budget, record = Budget.of(self._limits), Budget.for_records(self._limits)

        def answer(count: int, notes: Sequence[Note] = names.notes) -> Answer:
            cut = [node.id for node in nodes[count:]]
            left = Missing(
                f"{counted(len(cut), 'record')} did not fit {budget.bound.name}; ask for the rest "
                f"in another call: {listed(cut)}."
            )
            return _list_answer(records[:count], [*notes, left] if cut else notes)

        def first(known: Metadata) -> Answer:
            records[0] = answers.entity_document(nodes[0].id, nodes[0].entity_type, known)
            return answer(1, [*names.notes, *_cut_values(own[0], known, record)])

        def descriptions() -> Answer:
            records.extend(
                answers.entity_document(n.id, n.entity_type, known)
                for n, known in zip(nodes, own, strict=True)
            )
            count = budget.longest(len(records), lambda n: _text(answer(n)))
            if count or not records:
                return answer(count)
            return first(without_large_values(own[0], record, lambda known: _text(first(known))))

        return await off_loop(call.held_values(), descriptions)


def _text(answer: Answer) -> bytes:
    return "".join(answer.blocks).encode()


def _cut_values(metadata: Metadata, known: Metadata, budget: Budget) -> list[str]:
    """A note on metadata of a record that was left out; empty if the record is complete."""
    cut = sorted(metadata.keys() - known.keys())
    if not cut:
        return []
    note = Missing(
        f"{listed(cut)} did not fit {budget.bound.name}. Where one value alone fits, bfs_query "
        "shows it, with this id as the seed, max_hops=1, limit=1 and its name in fields."
    )
    return [note]


def _list_answer(records: Sequence[dict[str, Any]], notes: Sequence[Note]) -> Answer:
    return answers.list_answer(records, [*notes, *left_out()])


def _evidence_notes(evidence: dict[str, Any], count: int) -> list[str]:
    total, read = evidence.get("total"), evidence.get("edges_read")
    if read is not None:
        return [Missing(f"provenance: only the first {read} edges were examined.")]
    if isinstance(total, int) and total > count:
        return [Missing(f"provenance: the first {count} of {total} items.")]
    return []


@contextmanager
def translate_errors(limits: Limits, what: str) -> Iterator[None]:
    """Convert every error raised inside into a `ToolError` that the caller may read.

    Args:
        limits: The limits, whose deadline the message names.
        what: The operation in progress, such as the name of a tool.

    Raises:
        ToolError: The error with a sentence for the model; details of a fault are logged.
    """
    try:
        yield
    except ToolError:
        raise
    except BoundMet as full:
        raise ToolError(
            f"{what} would have to read more than this server's limit of {full.most:,} "
            f"{full.bound}. Ask bfs_query with topology_only=true, or for a neighbour with fewer "
            "edges.",
            kind="too_large",
        ) from full
    except TimeoutError as late:
        within = in_time(limits.deadline)
        message = f"The call did not finish {within}. Try again, or ask for less."
        raise ToolError(message, kind="deadline") from late
    except CircuitOpen as gone:  # the breaker logs when it opens, not for each call
        raise ToolError(
            "The graph's store does not answer, and this call did not wait for it. It is tried "
            f"again in {max(1, math.ceil(gone.seconds))} s; try again then. Cached answers "
            "are still available.",
            kind="store",
        ) from gone
    except StoreUnavailable as gone:
        sentence = "The graph's store does not answer; try again later."
        raise _incident(sentence, "store", gone) from gone
    except StoreOutOfMemory as full:
        log.warning("%s", full)
        message = f"The graph's store does not have enough memory for this call. {NARROWER}"
        raise ToolError(message, kind="too_large") from full
    except StoreError as broken:
        damaged = isinstance(broken, StoreDamaged)
        what = "is damaged, and has to be loaded again" if damaged else "refused this call"
        raise _incident(f"The graph's store {what}.", "store", broken) from broken
    except Exception as fault:
        raise _incident(f"{what} failed.", "internal", fault) from fault


def _incident(message: str, kind: str, cause: Exception) -> ToolError:
    """Log the cause of an error under an id, and create the error, which names the id alone."""
    incident = call.current_request_id() or call.new_request_id()
    if isinstance(cause, StoreError):  # its sentence has the reason; a traceback hides it
        level, what = logging.ERROR, "refused the call"
        if isinstance(cause, StoreUnavailable):
            level, what = logging.WARNING, "does not answer"
        traceback = cause if log.isEnabledFor(logging.DEBUG) else None
        log.log(level, "incident %s: the store %s: %s", incident, what, cause, exc_info=traceback)
    else:
        log.error("incident %s: %s", incident, message, exc_info=cause)
    return ToolError(
        f"{message} The arguments are not the cause; report to the operator: incident {incident}.",
        kind=kind,
    )


# --- observing ------------------------------------------------------------------


class _WatchingHooks(Observer):
    """Passes finished calls to the hook `watch_call`, inside the scope of the call."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    def call_ended(self, seen: ObservedCall) -> None:
        outcome = CallOutcome(seen.size, seen.rows, seen.error)
        self._hooks.watch(seen.tool, seen.arguments, outcome, seen.seconds)


def _record(seen: ObservedCall, answer: Answer, estimator: Estimator) -> None:
    """Record the answer of a call and its size."""
    text = answer.text.encode()
    seen.answer = "\n".join(answer.blocks)
    seen.content = None if answer.is_json else answer.document
    seen.size, seen.tokens = len(text), estimator(text)
    if seen.tool == "describe_entity":
        seen.rows = {"items": 1}
        return
    lists = {key: answer.document.get(key) for key in _LISTS}
    seen.rows = {_LISTS[key]: len(items) for key, items in lists.items() if items is not None}
