"""Finds the entities that a typed text may mean, the likeliest first."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from urllib.parse import quote

from bfsql import call
from bfsql.models.json_values import is_text
from bfsql.models.matching import NameQuery
from bfsql.models.merge import fold, without_accents
from bfsql.models.rdf import WELL_KNOWN, is_iri
from bfsql.models.records import EntityStub, Omission
from bfsql_sparql.dataset import Row, Rows, Term, TimeBudget, gather_or_cancel
from bfsql_sparql.dialects import DIALECTS, search_terms
from bfsql_sparql.mapping import CLASSES, RdfMapping
from bfsql_sparql.nodes import take_names, texts_of
from bfsql_sparql.queries import search as texts
from bfsql_sparql.store import Store

LIMIT = 20
"""Most candidates of a search."""
LOOKED_AT = 200
"""Nodes that a look returns; the best of them are ranked here."""
LONGEST = 1_000
"""Most characters of a text that is searched in names."""
LONGEST_LOCAL = 200
"""Most characters of a text that may be the last part of an id."""
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]()|\-]")
_LETTERS = (*range(0xC0, 0x250), *range(0x1E00, 0x1F00))

Pattern = Callable[[Any, Sequence[str], RdfMapping, int], str]
"""Makes a pattern from what is searched, types, the mapping, and the maximum of nodes."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that may be meant."""

    stub: EntityStub
    others: Sequence[str]
    """Its further names."""


class EntitySearch:
    """The candidates for one text.

    Args:
        store: The store to search.
        query: What a person would call the entity, or its id.
        node_types: Types to include, as ids; None for all.
    """

    def __init__(self, store: Store, query: str, node_types: Sequence[str] | None) -> None:
        settings, mapping, capabilities = store.settings, store.mapping, store.capabilities
        self._dataset = store.dataset
        self._mapping = mapping
        self._capabilities = capabilities
        # The remaining time of a call is for describing the matches.
        self._clock = TimeBudget(settings.search_timeout, 0.8)
        self._query = query
        self._text = query.strip()
        self._folded = fold(query)
        self._node_types = frozenset(node_types or ())
        types = (mapping.ids.iri(name) for name in node_types or ())
        self._types = [type_ for type_ in types if type_]
        dialect = DIALECTS.get(capabilities.search)
        self._full_text_search = dialect.search if dialect else None
        namespaces = dict.fromkeys((*settings.prefix.values(), *WELL_KNOWN.values()))
        self._local = _local(self._text, namespaces)
        self._local_ids = frozenset(map(mapping.ids.id, self._local))
        left_out = () if mapping.ontology else CLASSES
        self._left_out = frozenset(map(mapping.ids.id, left_out))
        self._nodes: dict[str, Candidate] = {}
        self._unfinished = False

    async def best(self) -> list[EntityStub]:
        """The best: exact ids, exact names and aliases, then names that begin with or contain it.

        Looks for which the time is too short are reported as an omission.

        Raises:
            TimeoutError: The call's deadline has passed.
            StoreError: The store cannot be used.
        """
        if not self._folded or (self._node_types and not self._types):
            return []
        searchable = is_text(self._text) and "\0" not in self._text
        if searchable and len(self._text) <= LONGEST:
            _, named, called = await gather_or_cancel(self._by_id(), self._named(), self._called())
            if not self._nodes:
                await self._otherwise()
            elif named and not called:  # the store's own search does not know an existing name
                await self._containing()
        else:
            await self._by_id()
        if self._unfinished:
            call.omitted(Omission(self._query, "search", reason="the store took too long"))
        return [one.stub for one in sorted(self._nodes.values(), key=self._rank)[:LIMIT]]

    # --- the looks ----------------------------------------------------------

    async def _by_id(self) -> None:
        """Search the text as an id, or as the last part of one in a known namespace."""
        ids = self._mapping.ids
        exact = dict.fromkeys(filter(None, map(ids.iri, (self._query, self._text))))
        if not exact:
            return
        query = texts.with_ids(exact, self._local, self._mapping, marked=self._capabilities.marked)
        rows = await self._dataset.select(query, self._clock.seconds_left())
        self._take(rows.rows if rows else ())

    async def _named(self) -> bool:
        """Search the text as a name or an alias, exactly or in the usual cases of letters."""
        text = self._text
        spelled = dict.fromkeys(
            (text, text.lower(), text.upper(), text.title(), text[:1].upper() + text[1:])
        )
        return await self._look(texts.named, spelled, needed=False)

    async def _called(self) -> bool:
        """Search names with the words of the text, or containing the text."""
        search = self._full_text_search
        if search is None:
            return await self._containing()
        wanted = search_terms(self._text, LOOKED_AT)
        if wanted is None:
            return False
        return await self._look(texts.by_words, search(wanted, self._mapping), needed=False)

    async def _otherwise(self) -> None:
        """More expensive looks, used if the others found nothing."""
        if self._full_text_search is not None:
            await self._containing()
        expression = _any_accents(self._text)
        if not self._nodes and expression:
            await self._look(texts.alike, expression)
        text = self._text.lower()
        parts = dict.fromkeys(
            (quote(text, safe="").lower(), *filter(_in_iri, (text, text.replace(" ", "_"))))
        )
        for only_typed in (True, False):
            if not self._nodes:
                await self._look(partial(texts.with_id, only_typed=only_typed), parts)
        if not self._nodes:
            await self._spelt_alike()
        if not self._nodes:
            await self._with_rare_word()

    async def _spelt_alike(self) -> None:
        """Search names with a part of the text that is free of typing errors."""
        wanted = NameQuery(self._text)
        if wanted.parts and len(self._text) <= LONGEST_LOCAL:
            look = partial(texts.with_parts, length=len(self._text))
            await self._look(look, wanted.parts, needed=False)
            self._nodes = {
                node: one
                for node, one in self._nodes.items()
                if wanted.match(one.stub.id, one.stub.name, one.others)
            }

    async def _with_rare_word(self) -> None:
        """Search names with one of several words of the text, if few contain it."""
        wanted = NameQuery(self._text)
        words = sorted(wanted.significant_words)
        if not words:
            return
        rows = await self._rows(texts.with_words(words, self._types, self._mapping, LIMIT))
        if rows is None or rows.cut:
            return
        self._take(rows.rows)
        labels = {
            node: (one.stub.id, one.stub.name, one.others) for node, one in self._nodes.items()
        }
        known = [
            fold(" ".join(filter(None, (name, *others)))) for _, name, others in labels.values()
        ]
        frequent = {word for word in words if sum(word in one for one in known) >= LIMIT}
        shared = {node: wanted.shared_words(*of) - frequent for node, of in labels.items()}
        rare = wanted.sharing({node: common for node, common in shared.items() if common})
        self._nodes = {node: self._nodes[node] for node in rare}

    async def _containing(self) -> bool:
        return await self._look(texts.containing, self._text.lower())

    async def _look(self, pattern: Pattern, text: Any, *, needed: bool = True) -> bool:
        """Look once, again for fewer nodes if the answer was cut, and for more if few fit.

        Returns:
            Whether anything was found.
        """
        look = partial(pattern, text, self._types, self._mapping)
        rows = await self._rows(look(LOOKED_AT))
        if rows is not None and rows.cut:
            rows = await self._rows(look(LIMIT * 2)) or rows
        elif rows is not None and self._types:
            nodes = {row[0] for row in rows.rows}
            if len(nodes) >= LOOKED_AT and self._take(rows.rows) < LIMIT:
                rows = await self._rows(look(LOOKED_AT * 10)) or rows
        self._unfinished |= needed and rows is None
        self._take(rows.rows if rows else ())
        return bool(rows and rows.rows)

    async def _rows(self, found: str) -> Rows | None:
        query = texts.described(found, self._mapping, marked=self._capabilities.marked)
        return await self._dataset.select(query, self._clock.seconds_left())

    # --- what they find -----------------------------------------------------

    def _take(self, rows: Iterable[Row]) -> int:
        """Add the candidates of the wanted types; return the present number."""
        by_node: dict[str, list[tuple[Term | None, Term | None]]] = defaultdict(list)
        for node, property_, value in rows:
            if isinstance(node, str):
                by_node[node].append((property_, value))
        for node, values in by_node.items():
            candidate = self._candidate(node, values)
            type_ = candidate.stub.entity_type
            if type_ not in self._left_out and (not self._node_types or type_ in self._node_types):
                self._nodes.setdefault(node, candidate)
        return len(self._nodes)

    def _candidate(self, node: str, values: Sequence[tuple[Term | None, Term | None]]) -> Candidate:
        mapping, ids = self._mapping, self._mapping.ids
        marks = [v for p, v in values if p == mapping.primary and isinstance(v, str)]
        types = [v for p, v in values if p in mapping.types and isinstance(v, str)]
        best = self._capabilities.ranking.of_node(marks, types)[0]
        properties: dict[str, list[Term]] = defaultdict(list)
        for property_, value in dict.fromkeys(values):
            if value is not None:
                properties[str(property_)].append(value)
        name, others = take_names(texts_of(properties, mapping), mapping)
        return Candidate(EntityStub(ids.id(node), ids.id(best), name), others)

    def _rank(self, candidate: Candidate) -> tuple[int, int, str]:
        """Sort key: the quality of the match, then the length of the name, then the id."""
        id_, name = candidate.stub.id, fold(candidate.stub.name or "")
        others = [fold(other) for other in candidate.others]
        wanted = self._folded
        tests = (
            id_ in {self._query, self._text},
            id_ in self._local_ids,
            name == wanted,
            wanted in others,
            name.startswith(wanted),
            any(wanted in known for known in (name, *others)),
            wanted in fold(id_),
            True,
        )
        return tests.index(True), len(name), id_


def _local(text: str, namespaces: Iterable[str]) -> list[str]:
    """IRIs that end with the text, with its words joined as in encyclopedias."""
    joined = text.replace(" ", "_")
    if len(joined) > LONGEST_LOCAL or not _in_iri(joined):
        return []
    return [iri for space in namespaces if is_iri(iri := space + joined)]


def _in_iri(text: str) -> bool:
    return is_iri(f"x:{text}")


def _any_accents(text: str) -> str | None:
    """A regular expression for a text with and without accents, as XPath has them.

    None if no letter of it has accents, or it is longer than 60 characters.
    """
    plain = without_accents(text)
    letters = [_accented().get(letter, "") for letter in plain.lower()]
    if len(plain) > 60 or not any(letters):
        return None
    return "".join(
        f"[{letter}{others}]" if others else _SPECIAL.sub(r"\\\g<0>", letter)
        for letter, others in zip(plain.lower(), letters, strict=True)
    )


@cache
def _accented() -> dict[str, str]:
    """Letter to its lower-case forms with accents."""
    forms: dict[str, str] = defaultdict(str)
    for letter in map(chr, _LETTERS):
        base = unicodedata.normalize("NFKD", letter)[0]
        if base != letter and letter == letter.lower() and base.isalpha():
            forms[base] += letter
    return dict(forms)
