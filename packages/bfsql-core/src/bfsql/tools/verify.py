"""Claims about a graph, one by one: stored, not stored or undecided.

    claim = end ("-" predicate "->" | "<-" predicate "-") end [" @" time] [" #" item of evidence]
    end   = (name | id) ("[" condition "]")*

A claim is not stored only where the answer of `bfs_query` is `complete`, whatever hooks may hide.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal, NamedTuple

from pydantic import Field, JsonValue

from bfsql import call
from bfsql.abc import each
from bfsql.answers import Answer, evidence_item
from bfsql.answers.clean import clean_text
from bfsql.answers.notes import MISSING, Substitution, left_out
from bfsql.answers.shapes import SearchHit, StrictModel, StubEdge
from bfsql.call import Caller, Limits
from bfsql.errors import ToolError, bad_value
from bfsql.models import evidence_items
from bfsql.models.matching import EXACT
from bfsql.models.quotation import excerpt
from bfsql.tools.operations import Operations, translate_errors
from bfsql.tools.parameters import MAX_TEXT_BYTES
from bfsql.tools.redaction import RedactedGraphDb

GRAMMAR = (
    'A claim is "A -predicate-> B" or "B <-predicate- A" with names or ids; a name with a bracket, '
    'an arrow, " @" or " #" stands in "quotes". In prose, claims stand in [[ ]] within a paragraph.'
)
REASONS = {
    "conditions": "The graph has this relation, but it does not meet all that the claim asks for.",
    "direction": "The graph has this relation in the other direction.",
    "predicate": "The graph has other relations between the two.",
    "nothing": "The graph has no such relation.",
    "name": "No entity has the id or the name {}.",
    "hidden": "This server may hide properties that the claim depends on, such as names. Claims "
    "with ids and without conditions can be decided.",
}
"""Why a claim is not stored, or is undecided for a reason that no answer states."""
_QUOTE, _BRACKET = "\1", "\2"  # each stands for a character in quotes, and in brackets
_ARROW = re.compile(
    r"(?<=\s)(?=(-([^\s<>-][^<>]{0,200}?)?->|<-([^\s<>-][^<>]{0,200}?)?-)(?:\s|\Z))"
)
_TAIL = re.compile(r"(?:\s@([^@#]+?))?(?:\s#([1-9][0-9]{0,8}))?\Z")
_ABSENCE = re.compile(r"\[\s*(?i:not?)\s|!|->|<-|--")  # may hold for want of a property


class Verdict(StrictModel):
    """What the graph says of one claim; fields without a value are left out."""

    line: int = Field(description="The line on which the claim begins, from 1.")
    claim: str
    verdict: Literal["stored", "not stored", "undecided", "unreadable"]
    reason: str = Field("", description="Why it is not stored, or what would decide.")
    edges: list[StubEdge] = Field([], description="Those that it states, or the first.")
    evidence_count: int = Field(0, description="Number of items of evidence of these edges.")
    evidence: list[dict[str, JsonValue]] = Field([], description="The first, or that of `#`.")
    nearest: list[StubEdge] = Field([], description="Those between the two, or the first.")
    entities: list[SearchHit] = Field([], description="Those with a similar or the same name.")


class Claim(NamedTuple):
    """A claim as a call asks for it."""

    ends: dict[str, Any]  # the arguments that name the ends
    near: str  # what the first of them is of the edge: `subject` or `object`
    names: Sequence[str]  # what the arrow may name; an empty text is any predicate
    may_be: bool  # whether the graph may have such predicates
    arguments: dict[str, Any]  # the path, and the time
    conditions: str
    number: int  # that of an item of evidence; 0 for none


def claims_of(text: str) -> Iterator[tuple[int, str]]:
    """The claims of a text, each with its line: what is in `[[ ]]`, or else all lines."""
    before, *parts = text.split("[[")
    for number, line in enumerate(() if parts else text.splitlines(), 1):
        if claim := re.sub(r"^[*-] ", "", line.strip()).strip():
            yield number, claim
    number = 1 + before.count("\n")
    for part in parts:
        inside, closed, _ = re.split(r"\n\s*\n", part, maxsplit=1)[0].rpartition("]]")
        yield number, " ".join(inside.split()) if closed else "[["
        number += part.count("\n")


class Verifier:
    """Decides claims for a caller, by the operations of a graph with these limits."""

    MOST = 10_000
    """Maximum number of claims of a call."""

    def __init__(self, operations: Operations, limits: Limits, caller: Caller | None) -> None:
        self._db, self._schema = operations.db, operations.graph_schema
        self._ask = partial(operations.run, caller=caller)
        self._scope = partial(operations.scope, caller, None)
        self._errors = partial(translate_errors, limits, "verify")
        self._redacted = self._db if isinstance(self._db, RedactedGraphDb) else None

    async def verify(self, text: str) -> list[Verdict]:
        """The verdicts on all claims of a text; a `ToolError` if it has none, or too many."""
        claims = list(claims_of(text))
        if not claims:
            raise bad_value(f"The text has no claim. {GRAMMAR}", "text")
        if len(claims) > self.MOST:
            few = f"The text has {len(claims)} claims, more than {self.MOST}. Make several calls."
            raise ToolError(few, kind="too_large", argument="text")
        with self._scope(), self._errors():
            self._vocabulary = await call.within(self._schema.vocabulary(again=True))
            return [one for one in await each(claims, self._verdict) if one is not None]

    async def _verdict(self, claim: tuple[int, str]) -> Verdict:
        await asyncio.sleep(0)  # a graph in memory may answer without a turn for other calls
        line, text = claim
        try:
            with self._scope(), self._errors():
                facts = await self._facts(await self._claim(text))
        except ToolError as error:
            # Nobody has said when facts hold, which no other spelling of the claim would change.
            timeless = error.argument == "at" and not self._db.time_keys
            is_wrong = error.kind == "bad_value" and not timeless
            outcome = "unreadable" if is_wrong else "undecided"
            facts = {"verdict": outcome, "reason": str(error)}
        return Verdict(line=line, claim=clean_text(text), **facts)

    async def _claim(self, text: str) -> Claim:
        masked, known = _masked(text[:MAX_TEXT_BYTES]), self._vocabulary.predicates.spellings
        arrows = []
        for found in _ARROW.finditer(masked):
            start, stop = found.span(2 if found[2] else 3)
            name = text[start : start + len(masked[start:stop].partition(_BRACKET)[0])].strip()
            names = [name.strip('"`'), *name.split("|")]
            arrows.append((any(not one or known(one) for one in names), *found.span(1), names))
        # A dash in front of an arrow may be read as the beginning of a longer one.
        arrows = [one for one in arrows if one[0]] or arrows
        wrong = bad_value(f"{excerpt(text)} is not one claim. {GRAMMAR}", "text")
        if len({stop for _, _, stop, _ in arrows}) != 1 or len(text) > MAX_TEXT_BYTES:
            raise wrong
        is_known, start, stop, names = arrows[-1]
        left, arrow, right = text[:start].strip(), text[start:stop], text[stop:].rstrip()
        tail = next(_TAIL.finditer(_masked(right)))
        at, number = right[slice(*tail.span(1))].strip(), int(tail[2] or 0)
        (seed, front), (to, end) = _end(left), _end(right[: tail.start()])
        if seed != left and await self._is_name(left):
            seed, front = left, ""
        if to != right.strip() and await self._is_name(right.strip()):
            to, end, at, number = right.strip(), "", "", 0
        if not (seed.strip() and to.strip()):
            raise wrong
        path = (f"*{front} " if front else "") + arrow + (f" *{end}" if end else "")
        arguments = {"path": [path]} | ({"at": at} if at else {})
        ends, near = {"seeds": [seed], "to": [to]}, "object" if arrow[0] == "<" else "subject"
        conditions = "".join([front, *re.findall(r"\[.*\]", arrow), end])
        may_be = is_known or not self._vocabulary.schema.comprehensive
        return Claim(ends, near, names, may_be, arguments, conditions, number)

    async def _is_name(self, text: str) -> bool:
        hits = (await self._ask("search_entities", {"query": text})).document["result"]
        return any(hit["match"] in EXACT for hit in hits)

    async def _edges(self, claim: Claim, arguments: dict[str, Any]) -> Answer:
        own: dict[str, Any] = {"path": ["--"], "limit": 5, "topology_only": True}
        return await self._ask("bfs_query", own | claim.ends | arguments)

    async def _facts(self, claim: Claim) -> dict[str, Any]:
        """The outcome for a claim, and the other fields of its verdict."""
        try:
            answer = await self._edges(claim, claim.arguments if claim.may_be else {})
        except ToolError as error:
            if error.kind not in ("unknown_entity", "ambiguous_name"):
                raise
            return await self._unresolved(claim.ends[error.argument or ""][0], error)
        taken = [one for one in answer.note_data if isinstance(one, Substitution)]
        if similar := [one.name for one in taken if one.similar]:
            return await self._unresolved(similar[0])
        gaps, edges = [], answer.document["edges"]
        if claim.may_be:
            gaps = [str(one) for one in taken if one.full]
            by_absence = self._redacted and _ABSENCE.search(claim.conditions)
            is_open = by_absence or any("undecided" in one for one in answer.document["nodes"])
            if edges and not gaps and not is_open:
                return await self._stored(claim.number, edges)
            if self._redacted and (taken or claim.conditions):
                gaps = [REASONS["hidden"]]
            gaps += [str(one) for one in answer.note_data if isinstance(one, MISSING)]
            with suppress(ToolError):
                edges = (await self._edges(claim, {})).document["edges"]
        names = {name.casefold() for name in claim.names}
        same = [one for one in edges if "" in names or one["predicate"].casefold() in names]
        kind = "direction" if same else "predicate" if edges else "nothing"
        if any(one[claim.near] == answer.document["seeds"][0] for one in same):
            kind = "conditions"
        return _refutation(kind, gaps, nearest=sorted(edges, key=lambda one: one not in same))

    async def _stored(self, number: int, edges: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """The same of a claim that states these edges, or an item of their evidence."""
        triples = [(one["subject"], one["predicate"], one["object"]) for one in edges]
        metadata = await call.within(self._db.metadata_for_edges_batch(triples, ["provenance"]))
        may_leave = self._redacted.evidence_item if self._redacted else dict
        items = [may_leave(i) for one in triples for i in evidence_items(one, metadata.get(one))]
        gaps: list[str] = [*left_out()]
        if number > len(items):
            gaps += [REASONS["hidden"]] if self._redacted else []
            return _refutation("conditions", gaps, nearest=edges)
        shown = [evidence_item(item) for item in items[max(number - 1, 0) :][:1]]
        evidence = {"evidence_count": len(items), "evidence": shown}
        return {"verdict": "stored", "reason": " ".join(gaps), "edges": edges, **evidence}

    async def _unresolved(self, name: str, error: ToolError | None = None) -> dict[str, Any]:
        """The same of a claim with a name that no entity has, or several."""
        answer = await self._ask("search_entities", {"query": name})
        hits = [SearchHit.model_validate(one, strict=False) for one in answer.document["result"]]
        if error is not None and error.kind == "ambiguous_name":
            same = [hit for hit in hits if hit.match in EXACT]
            return _refutation("name", [str(error).partition(": ")[2]], entities=same)
        gaps = [str(one) for one in answer.note_data if isinstance(one, MISSING)]
        gaps += [REASONS["hidden"]] if self._redacted else []
        return _refutation("name", gaps, excerpt(name), entities=hits[:5])


def _masked(text: str) -> str:
    """A text of the same length, with other letters for what stands in quotes and in brackets."""
    text = re.sub(r'"[^"]*"|`[^`]*`', lambda one: _QUOTE * len(one[0]), text)
    for _ in range(4):  # as deep as conditions may be nested
        text = re.sub(r"\[[^\[\]]*\]", lambda one: _BRACKET * len(one[0]), text)
    return text


def _end(text: str) -> tuple[str, str]:
    """A name without its quotes, and the conditions behind it."""
    masked = _masked(text).rstrip(f"{_BRACKET} ")
    cut = len(masked) or len(text)
    name = text[:cut].strip()
    return (name if masked.strip(f"{_QUOTE} ") else name[1:-1]), text[cut:].strip()


def _refutation(kind: str, gaps: Sequence[str], name: str = "", **facts: Any) -> dict[str, Any]:
    """The fields of a verdict on a claim that is not stored, or undecided because of gaps."""
    reason = " ".join(gaps) or REASONS[kind].format(name)
    return {"verdict": "undecided" if gaps else "not stored", "reason": reason, **facts}
