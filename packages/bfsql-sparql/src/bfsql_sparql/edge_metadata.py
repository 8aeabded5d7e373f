"""Metadata of edges from statements about them (`protocol.md` 7 and 16).

Wikibase (used by Wikidata) has its own form: beside `item wdt:P value` stands
`item p:P statement`, `statement ps:P value`, and the statement has qualifiers, a rank, and
references.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeAlias

from bfsql import call
from bfsql.models import Metadata, Omission, Triple, evidence_items
from bfsql.models.merge import merge_metadata, merged_from
from bfsql.models.rdf import Literal, value_of
from bfsql.models.rdf_statements import (
    DIRECT,
    REFERENCE,
    is_metadata,
    reference_item,
    statement_metadata,
)
from bfsql_sparql.batches import NOWHERE, Batches, Question, has_row_each, rows_question
from bfsql_sparql.dataset import Blank, Term, gather_or_cancel, rows
from bfsql_sparql.queries import graph as texts
from bfsql_sparql.queries.graph import End, Lead
from bfsql_sparql.store import Store

CHECKED = 100
"""Number of edges up to which their existence is checked; more come only from a ring, and exist."""
_GRAPHS = frozenset({"graphs"})
"""The key made of the names of graphs, and not of statements."""
_ENDS: tuple[End, ...] = ("s", "o", "document")
_ORDER = ("rdf-1.2", "reification", "rdf-star", "wikibase")

Values: TypeAlias = dict[str, list[str | Literal]]
"""Values of one statement, by property."""

Records: TypeAlias = dict[Triple, list[dict[str, Any]]]
"""Metadata by triple, one record per statement."""


class EdgeMetadata:
    """Reads the metadata of edges, from statements about them."""

    def __init__(self, store: Store, batches: Batches) -> None:
        forms = store.capabilities.statements
        # In stores with reifiers, the syntax of quoted triples is an abbreviation for them.
        sugar = {"rdf-star"} if "rdf-1.2" in forms else set()
        self.forms = [form for form in _ORDER if form in forms and form not in sugar]
        self._batches = batches
        self._mapping = store.mapping
        self._limit = store.settings.page_size + 1
        self._time_keys = store.settings.time_keys

    async def of(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        """Metadata by triple of ids; edges that do not exist are left out.

        Their existence is checked only for few edges: a ring has checked all others.

        Args:
            edges: Ids of subject, predicate and object.
            keys: The requested keys; None for all. Others may be returned as well.
        """
        triples = self._triples(edges)
        asked = list(dict.fromkeys(triple for some in triples.values() for triple in some))
        forms = self.forms if keys is None or not _GRAPHS.issuperset(keys) else []
        names = self._read_for(keys)
        checked = len(asked) <= CHECKED
        there, *found = await gather_or_cancel(
            self._existing(asked if checked else []),
            *(self._of_form(form, asked, names) for form in forms),
            *([self._graphs(asked)] if self._has_graphs(keys) else []),
        )
        metadata: dict[Triple, Metadata] = {}
        for edge, some in triples.items():
            if checked and not any(triple in there for triple in some):
                continue
            records = [
                record for form in found for triple in some for record in form.get(triple, ())
            ]
            metadata[edge] = self._time_keys.merge(edge[1])(records) if records else {}
        return metadata

    async def evidence(self, node: str) -> list[dict[str, Any]] | None:
        """All evidence that touches a node or that it supplied as a document; None if unknown."""
        if self._mapping.inverse or "wikibase" in self.forms:
            return None
        found = await gather_or_cancel(
            *(self._evidence(form, node, end) for form in self.forms for end in _ENDS)
        )
        by_edge: dict[Triple, dict[Literal, None]] = defaultdict(dict)
        for several in found:
            if several is None:
                return None
            for edge, value in several:
                by_edge[edge][value] = None
        id_ = self._mapping.ids.id(node)
        items = [
            item
            for edge in sorted(by_edge)
            for item in evidence_items(
                edge, merge_metadata([{"provenance": value_of(one)} for one in by_edge[edge]])
            )
        ]
        return [one for one in items if id_ in (one["subject"], one["object"], one["document_id"])]

    # --- parts --------------------------------------------------------------

    def _triples(self, edges: Iterable[Triple]) -> dict[Triple, list[Triple]]:
        """The triples, in IRIs, that may represent each edge."""
        mapping = self._mapping
        inverses = defaultdict(list)
        for predicate, other in mapping.inverse.items():
            inverses[other].append(predicate)
        found = {}
        for edge in edges:
            s, p, o = (mapping.ids.iri(id_) for id_ in edge)
            if s and p and o and mapping.is_node(s) and mapping.is_node(o):
                straight = [(s, p, o)] if p not in mapping.inverse else []
                turned = [(o, other, s) for other in inverses.get(p, ())]
                some = [triple for triple in straight + turned if mapping.is_walked(triple[1])]
                if some:
                    found[edge[0], edge[1], edge[2]] = some
        return found

    async def _existing(self, triples: Sequence[Triple]) -> Records:
        text = lambda some: texts.existing_edges(some, self._mapping, self._limit)
        return {triple: [] for triple, _ in await self._rows(triples, text)}

    async def _graphs(self, triples: Sequence[Triple]) -> Records:
        text = lambda some: texts.named_graphs(some, self._limit)
        found: dict[Triple, set[str]] = defaultdict(set)
        for triple, (graph,) in await self._rows(triples, text):
            if isinstance(graph, str):
                found[triple].add(self._mapping.ids.id(graph))
        return {triple: [{"graphs": sorted(names)}] for triple, names in found.items()}

    def _has_graphs(self, keys: Collection[str] | None) -> bool:
        return self._mapping.statement_graph and (keys is None or not _GRAPHS.isdisjoint(keys))

    def _read_for(self, keys: Collection[str] | None) -> texts.Names:
        """The properties of statements that these keys depend on; None for all.

        Some keys depend on the number of statements, including those that have none of the keys.
        """
        if keys is None or merged_from(["confidence"]).intersection(keys):
            return None
        mapping = self._mapping
        names = {iri for key in keys if (iri := mapping.ids.iri(key))}
        if "source_documents" in keys:
            names.update(mapping.sources)
        return tuple(sorted(names))

    async def _of_form(self, form: str, triples: Sequence[Triple], names: texts.Names) -> Records:
        """The metadata in the statements of one form."""
        if form == "wikibase":
            return await self._claims(triples)

        def text(lead: Lead) -> Callable[[Sequence[Triple]], str]:
            return lambda some: texts.statements(
                form, some, self._mapping, self._limit, lead, names=names
            )

        groups = _by_lead(form, triples)
        found = await gather_or_cancel(
            *(self._rows(some, text(lead)) for lead, some in groups.items())
        )
        by_statement = _grouped(row for group in found for row in group)
        return _by_triple(
            (triple, self._metadata(values)) for (triple, _), values in by_statement.items()
        )

    async def _claims(self, triples: Sequence[Triple]) -> Records:
        claims = {triple: found for triple in triples if (found := _claim_of(triple))}
        text = lambda some: texts.wikibase_statements(
            [claims[one] for one in some], self._mapping, self._limit
        )
        by_statement = _grouped(await self._rows(list(claims), text))
        names = {v for values in by_statement.values() for v in values.get(REFERENCE, ())}
        items = await self._references([name for name in names if isinstance(name, str)])
        records = []
        for (triple, _), values in by_statement.items():
            references = values.pop(REFERENCE, [])
            metadata = self._metadata({key: v for key, v in values.items() if is_metadata(key)})
            evidence = [items[name] for name in references if name in items]
            records.append((triple, metadata | ({"provenance": evidence} if evidence else {})))
        return _by_triple(records)

    async def _references(self, names: Sequence[str]) -> dict[Term, dict[str, Any]]:
        question = rows_question(lambda some: texts.all_values(some, self._mapping, self._limit))
        by_name: dict[Term, Values] = {}
        for part in await self._batches.read(sorted(names), question):
            for resource, key, value in part.rows:
                if resource is None or not isinstance(value, str | Literal):
                    continue
                if is_metadata(str(key)):
                    by_name.setdefault(resource, {}).setdefault(str(key), []).append(value)
        return {
            name: reference_item(values, self._metadata(values), self._mapping.ids.id)
            for name, values in by_name.items()
        }

    async def _rows(
        self, triples: Sequence[Triple], text: Callable[[Sequence[Triple]], str]
    ) -> list[tuple[Triple, Sequence[Term | None]]]:
        """The rows of a query about triples, with the triple instead of its position."""
        question = Question(text, rows, len, (NOWHERE,) * 3, has_row_each)
        found: list[tuple[Triple, Sequence[Term | None]]] = []
        for part in await self._batches.read(triples, question):
            if part.cut:
                id_ = self._mapping.ids.id(part.keys[0][0])
                reason = "metadata of an edge that has too much of it"
                call.omitted(Omission(id_, "out", None, reason))
            found += [(part.keys[int(getattr(row[0], "text", 0))], row[1:]) for row in part.rows]
        return found

    def _metadata(self, statement: Values) -> dict[str, Any]:
        """The values of one statement, with the settings' properties under the protocol's names."""
        mapping = self._mapping
        return statement_metadata(statement, mapping.ids.id, mapping.sources, mapping.confidences)

    async def _evidence(
        self, form: str, node: str, end: End
    ) -> list[tuple[Triple, Literal]] | None:
        """Triples of ids and their evidence; None if the answer was cut."""
        mapping, id_ = self._mapping, self._mapping.ids.id
        text = lambda some: texts.evidence(form, some[0], end, mapping, self._limit)
        found: list[tuple[Triple, Literal]] = []
        for part in await self._batches.read([node], rows_question(text)):
            if part.cut:
                return None
            for s, p, o, value in part.rows:
                if isinstance(value, Literal):
                    found.append(((id_(str(s)), id_(str(p)), id_(str(o))), value))
        return found


def _by_lead(form: str, triples: Sequence[Triple]) -> dict[Lead, list[Triple]]:
    """The triples by the end with fewer of them, so that those of a hub need not be searched."""
    leaving = Counter(triple[0] for triple in triples)
    entering = Counter(triple[2] for triple in triples)
    groups: dict[Lead, list[Triple]] = {"s": [], "o": []}
    for triple in triples:
        hub = form == "reification" and leaving[triple[0]] > entering[triple[2]]
        groups["o" if hub else "s"].append(triple)
    return {lead: some for lead, some in groups.items() if some}


def _grouped(
    found: Iterable[tuple[Triple, Sequence[Term | None]]],
) -> dict[tuple[Triple, Term | None], Values]:
    """Values by statement and property, without blank nodes."""
    by_statement: dict[tuple[Triple, Term | None], Values] = {}
    for triple, (*statement, key, value) in found:
        values = by_statement.setdefault((triple, statement[0] if statement else None), {})
        if value is not None and not isinstance(value, Blank):
            values.setdefault(str(key), []).append(value)
    return by_statement


def _by_triple(records: Iterable[tuple[Triple, dict[str, Any]]]) -> Records:
    found: Records = defaultdict(list)
    for triple, record in records:
        found[triple].append(record)
    return found


# --- Wikibase ---------------------------------------------------------------


def _claim_of(triple: Triple) -> tuple[str, ...] | None:
    """Item, property to the statement node, property to the value, value; None if no claim."""
    item, predicate, value = triple
    if DIRECT not in predicate:
        return None
    before, _, name = predicate.rpartition(DIRECT)
    return item, f"{before}/prop/{name}", f"{before}/prop/statement/{name}", value
