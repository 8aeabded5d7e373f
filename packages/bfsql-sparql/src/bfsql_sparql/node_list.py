"""Lists the entities of some types that may meet conditions (`protocol.md` 34).

They come from one query, if the endpoint returns all its rows, or else from windows in the order of
their IRIs. What an endpoint does not return in either way is reported as an omission.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing

from bfsql import call
from bfsql.models import Node, Omission, PropertyCondition
from bfsql.models.rdf_types import UNTYPED
from bfsql_sparql.batches import Batches, Windows, decoded, is_round, nonsense, window_rows
from bfsql_sparql.dataset import NoResults, Refused, Row, TooSlow, rows
from bfsql_sparql.nodes import Nodes, ranked_types
from bfsql_sparql.queries.listing import Listing, narrowed, with_type, without_type
from bfsql_sparql.store import Store

SPELLINGS = (
    "the endpoint cannot compare text without its case in time, so values were searched as written "
    "and in lower, upper and title case; other spellings may be missing"
)
BOUND = "the endpoint does not return all of them"
FIRST_SHARE = 0.4
"""Share of the remaining time for a query that a cheaper one can replace."""


class NodeList:
    """Lists nodes, as the mapping of a store reads them.

    Args:
        store: The store.
        batches: Counts the rows of a query whose answer may have been cut.
        nodes: Reads the types of nodes that a cut answer has.
    """

    def __init__(self, store: Store, batches: Batches, nodes: Nodes) -> None:
        self._dataset = store.dataset
        self._batches = batches
        self._nodes = nodes
        self._mapping = store.mapping
        self._ranking = store.capabilities.ranking
        self._marked = store.capabilities.marked
        self._page = store.settings.page_size
        self._seconds = store.settings.query_timeout

    async def stream(
        self, entity_types: Collection[str] | None, conditions: Sequence[PropertyCondition]
    ) -> AsyncGenerator[list[Node]]:
        """The nodes in batches.

        Args:
            entity_types: Main types of the nodes, as ids; None for all.
            conditions: Conditions, which narrow the list as far as the store can compare them.

        Raises:
            StoreError: The store does not answer such a query at all.
            StoreUnavailable: It does not answer, or is too slow for the first page.
        """
        ids, types = self._mapping.ids, None
        if entity_types is not None:
            types = sorted({iri for one in entity_types if (iri := ids.iri(one))})
            if not types:
                return
        async with aclosing(self._read(types, conditions)) as parts:
            async for part in parts:
                yield [
                    Node(ids.id(node), ids.id(main))
                    for node, main in part.items()
                    if self._mapping.counts(main) and (types is None or main in types)
                ]

    async def _read(
        self, types: Sequence[str] | None, conditions: Sequence[PropertyCondition]
    ) -> AsyncGenerator[dict[str, str]]:
        """Nodes and their main types, as IRIs, some of which are of other types."""
        mapping = self._mapping
        omitted = ["*"] if types is None else list(map(mapping.ids.id, types))
        tests = [narrowed(conditions, mapping, few_spellings=few) for few in (False, True)]
        whole, cheaper = (with_type(types, one, mapping, marked=self._marked) for one in tests)
        async with aclosing(self._rows(whole, cheaper, omitted)) as parts:
            async for part in parts:
                ranked = ranked_types(part, self._ranking)
                yield {node: main for node, (main, *_) in ranked.items()}
        if types is None or UNTYPED in types:
            whole, cheaper = (without_type(one, mapping) for one in tests)
            async with aclosing(self._rows(whole, cheaper, omitted)) as parts:
                async for part in parts:
                    yield dict.fromkeys((str(row[0]) for row in part), UNTYPED)

    async def _rows(
        self, listing: Listing, cheaper: Listing, omitted: Sequence[str]
    ) -> AsyncGenerator[list[Row]]:
        """The rows of a listing, or of a cheaper one if the store does not answer that in time.

        All rows of a node are in one part. If rows are missing, the omitted types are reported.
        """
        try:
            share = 1.0 if cheaper == listing else FIRST_SHARE
            first, cut = await self._first(listing, share)
        except (Refused, TooSlow):
            if cheaper == listing:
                raise
            listing = cheaper
            first, cut = await self._first(listing, 1.0)
            _omit(omitted, SPELLINGS)
        if cut is None:
            yield first
            return
        windows: Windows[Row] = Windows("", listing.window, rows, _place)
        begun: list[Row] = []
        try:
            async with aclosing(window_rows(self._dataset, windows, self._page)) as parts:
                async for part in parts:
                    begun += part
                    last = begun[-1][0]
                    yield [row for row in begun if row[0] != last]
                    begun = [row for row in begun if row[0] == last]
        except (Refused, TooSlow):
            _omit(omitted, cut)
            some = list(dict.fromkeys(str(row[0]) for row in first))
            begun = [(node, None, main) for node, main in (await self._nodes.types(some)).items()]
        yield begun

    async def _first(self, listing: Listing, share: float) -> tuple[list[Row], str | None]:
        """The rows of one query, and why there may be more of them, if there may."""
        query = listing.text(self._page + 1)
        reply = await self._dataset.reply(query, call.seconds_left(self._seconds, share))
        try:
            found = await decoded(reply.body, rows)
        except NoResults as error:
            raise nonsense(self._dataset, error) from error
        cut = reply.cut
        if cut is None and len(found) > self._page:
            cut = BOUND
        if cut is None and is_round(len(found)) and await self._batches.number(query) != len(found):
            cut = BOUND
        return found, cut


def _place(row: Row) -> str:
    return getattr(row[-1], "text", "")


def _omit(types: Sequence[str], reason: str) -> None:
    call.omitted(*(Omission(one, "nodes", reason=reason) for one in types))
