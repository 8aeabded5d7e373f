"""Suites of the kit for servers that stop, for observed queries, and for variants of a store."""

from __future__ import annotations

import pickle
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, ClassVar, TypeVar, cast

import pytest

from bfsql.abc import GraphDbInterface, normalized
from bfsql.engine.numbered import columns_of
from bfsql.engine.patterns import PatternSearch
from bfsql.engine.plan import Bounds
from bfsql.models import GraphRecord, Pattern, PropertyCondition
from bfsql.models.comparison import Scalar, contains
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.servers.process import stopped
from bfsql_testing.conformance import RULES, Trial
from bfsql_testing.conformance.graphs import mixed
from bfsql_testing.suite import BackendSuite, test_name

BUSY_SECONDS = 300.0
"""Time limit per rule: long enough for a busy machine, short enough to catch a hanging store."""

ASKED_AGAIN = frozenset(
    {
        *("intersect-bytes", "entities-bytes", "cached-as-direct", "same-errors"),
        *("stable-answers", "fresh-answers", "search-stable"),
    }
)
"""Rules that repeat the requests of other rules in another order; variants need not run them."""

ASKED_TOGETHER = ASKED_AGAIN | {
    # All graphs of the kit; each store has drawn ones, and the rules of each part of an answer.
    *("bfs-bytes", "entity-bytes", "every-node", "schema-lists"),
    # The statements of other rules, for the answers of whole tools.
    *("nodes-bytes", "asking-bytes", "tools-answer"),
}
"""Rules in which a store differs only if it differs in another rule, too.

The embedded store, Postgres, and files of RDF have all rules every day.
"""

OF_ENGINES = frozenset(
    {
        *("drawn-graphs", "every-edge", "whole-hub", "edge-evidence", "evidence-counted"),
        *("nodes-list", "nodes-conditions", "outline-names", "outline-counts", "ids-no-patterns"),
        *("found-by-id", "found-by-name", "search-misspelt", "search-types", "search-any-text"),
        *("search-id-first", "search-name-next", "search-crowd", "search-types-first"),
        *("round-trips", "may-write-not", "edges-part", "edge-metadata-keys", "stream-types"),
    }
)
"""Rules that found differences between engines with the same query language."""

_Suite = TypeVar("_Suite", bound=type[BackendSuite])
_Backend = TypeVar("_Backend", bound=GraphDbInterface)


def trying(*ids: str) -> Callable[[_Suite], _Suite]:
    """Run only these rules: for a variant of a store that the whole kit is run on elsewhere.

    A thorough run has all rules.

    Args:
        ids: The rules that concern what the variant does differently.
    """
    strangers = set(ids) - set(RULES)
    assert not strangers, f"no rules: {strangers}"

    def chosen(suite: _Suite) -> _Suite:
        suite.everyday = frozenset(ids)  # type: ignore[attr-defined]
        for rule in RULES.values():
            if rule.id not in ids and not THOROUGH:
                setattr(suite, test_name(rule), None)
        return suite

    return chosen


class NewerCondition(PropertyCondition):
    """A condition with an operator that no store knows: no value contains the written one."""

    def met_by(self, values: Sequence[Scalar]) -> bool:
        return not any(contains(value, one) for value in values for one in self.literals)


@asynccontextmanager
async def closing(opening: Awaitable[_Backend]) -> AsyncIterator[_Backend]:
    """A backend that is being opened, and closed afterwards."""
    backend = await opening
    try:
        yield backend
    finally:
        await backend.close()


def texts_of(owner: Any, method: str, text_of: Callable[[Any], str] = str) -> list[str]:
    """The texts that a method of this object is given from now on, as its first argument.

    Args:
        owner: The part of a backend that sends them.
        method: Its method.
        text_of: Makes a text of the argument.
    """
    texts: list[str] = []
    send = getattr(owner, method)

    def sent(request: Any, *rest: Any, **named: Any) -> Any:
        texts.append(text_of(request))
        return send(request, *rest, **named)

    setattr(owner, method, sent)
    return texts


class StoreSuite(BackendSuite):
    """The kit with a condition that no store knows."""

    rule_seconds = BUSY_SECONDS

    async def test_an_operator_that_the_store_does_not_know_is_left_to_core(
        self, trial: Trial
    ) -> None:
        if trial.fill is None:
            pytest.skip("The suite does not fill the store.")
        records = trial.storable(mixed())
        async with trial.filled(records) as store:
            db, columns = normalized(store), columns_of(store)
            bounds = Bounds.of(columns, None, None)
            patterns = PatternSearch(db, columns, bounds, cast("Any", None))
            ids = [record.id for record in records if hasattr(record, "entity_type")]
            known = await db.metadata_for_nodes_batch(ids)
            for text in ("", "4", "42", "cafe", "true", "2024", "\N{KELVIN SIGN}", "no such text"):
                one = NewerCondition("value", cast("Any", "~!"), (text,))
                met = {i for i in ids if one.holds(known.get(i, {}))}
                stream = store.nodes_stream(conditions=[one])
                found = {node.id async for nodes in stream for node in nodes}
                assert found == met if store.filters_exactly(one) else found >= met, text
                for other in ((), (PropertyCondition("other", ">", ("0",)),)):
                    both = {i for i in met if all(two.holds(known[i]) for two in other)}
                    of_core = patterns.batches(Pattern(conditions=(one, *other)))
                    parts = [await columns.ids(handles) async for handles, _ in of_core]
                    assert sorted(i for part in parts for i in part) == sorted(both), text


class HoldingSuite(StoreSuite):
    """The kit with a server into which nothing else writes, so that loads need no repetition."""

    held: ClassVar[bytes | None] = None
    """The records of the last load."""

    async def load_once(
        self, records: Sequence[GraphRecord], load: Callable[[], Awaitable[object]]
    ) -> None:
        """Load records, unless they are those of the last load."""
        content = pickle.dumps(list(records))  # not ==: 1 and True are equal
        if content != type(self).held:
            type(self).held = None
            await load()
            type(self).held = content


class ServedSuite(StoreSuite):
    """The kit with a server that can be stopped."""

    server: Any

    def store_gone(self, backend: Any) -> AbstractAsyncContextManager[None]:
        return stopped(self.server)


class WatchedSuite(StoreSuite):
    """The kit with the query texts that the backend has sent; `backend_with` sets `texts`."""

    texts: list[str]

    def queries_of(self, backend: Any) -> list[str]:
        return self.texts

    def round_trips_of(self, backend: Any) -> int:
        return len(self.texts)
