"""Slow, broken and incomplete stores, hooks, and clients that disconnect."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, ClassVar

import httpx2
import pytest

from bfsql import call
from bfsql.errors import StoreError, StoreUnavailable
from bfsql.memory import MemoryBackend
from bfsql.models import GraphRecord, Node, Omission, Triple
from bfsql.observer import ObservedCall, Observer
from bfsql_test_support.hooks import Failing, Hiding, Refusing, Watcher

Served = Callable[..., Awaitable[httpx2.AsyncClient]]
PATIENCE = 10


class Slow(MemoryBackend):
    """Never answers a request for nodes."""

    def __init__(self, records: list[GraphRecord]) -> None:
        super().__init__(records)
        self.asked, self.given_up = asyncio.Event(), asyncio.Event()

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.given_up.set()
        raise AssertionError("nobody sets the event")


async def test_requests_of_every_kind_are_observed_with_their_arguments(served):
    class Seen(Observer):
        calls: ClassVar[list[tuple[str, dict[str, Any]]]] = []

        def call_ended(self, seen: ObservedCall) -> None:
            self.calls.append((seen.tool, dict(seen.arguments)))

    web = await served(observers=[Seen()])
    assert (await web.get("/entities/film:1?keys=name&keys=year")).status_code == 200
    assert (await web.get("/entities/film:1/relations?limit=2")).status_code == 200
    assert (await web.get("/schema")).status_code == 200
    assert (await web.post("/entities/batch", json={"ids": ["film:1"]})).status_code == 200
    assert (await web.get("/entities/film:9")).status_code == 404
    tools, arguments = zip(*Seen.calls, strict=True)
    assert tools[0] == tools[4] == "GET /entities/{id}"
    assert arguments[0] == {"id": "film:1", "keys": ["name", "year"]}
    assert arguments[1].items() >= {"id": "film:1", "limit": 2}.items()
    assert arguments[4]["id"] == "film:9"


async def test_a_list_counts_what_it_reads_and_is_within_the_bound_of_memory(served, records):
    seen: list[ObservedCall] = []
    accounts: list[object] = []

    class Seen(Observer):
        def call_ended(self, ended: ObservedCall) -> None:
            seen.append(ended)

    class Accounted(MemoryBackend):
        async def nodes_stream(self, **arguments: Any) -> AsyncGenerator[list[Node]]:
            scope = call.current()
            accounts.append(scope and scope.memory)
            async for nodes in super().nodes_stream(**arguments):
                yield nodes

    web = await served(Accounted(records), observers=[Seen()])
    assert (await web.get("/entities?type=Film&where=year>=1")).status_code == 200
    assert seen[0].nodes > 0
    assert accounts
    assert None not in accounts


async def test_the_deadline_of_a_call_holds(served, records):
    slow = Slow(records)
    web = await served(slow, deadline=0.2)
    answer = await web.get("/entities/film:1")
    assert answer.status_code == 504
    assert "within 0.2 s" in answer.json()["detail"]
    assert slow.given_up.is_set()


async def test_a_client_that_leaves_stops_its_store_queries(served, records):
    slow = Slow(records)
    web = await served(slow)
    asking = asyncio.ensure_future(web.get("/entities/film:1"))
    await asyncio.wait_for(slow.asked.wait(), PATIENCE)
    asking.cancel()
    await asyncio.wait_for(slow.given_up.wait(), PATIENCE)
    assert (await web.get("/schema")).status_code == 200


@pytest.mark.parametrize(
    ("fault", "status", "says"),
    [
        (StoreUnavailable("db.internal:5432 is gone"), 503, "does not answer"),
        (StoreError("db.internal:5432 says no"), 502, "refused"),
        (RuntimeError("db.internal:5432 broke"), 500, "GET /entities/{id}/relations failed"),
    ],
)
async def test_a_broken_store_is_reported_without_its_internals(  # noqa: PLR0917
    served: Served,
    records: list[GraphRecord],
    caplog: pytest.LogCaptureFixture,
    fault: Exception,
    status: int,
    says: str,
) -> None:
    class Broken(MemoryBackend):
        broken = True

        async def edges_batch(self, ids: Sequence[str], **part: Any) -> list[Triple]:
            if self.broken:
                raise fault
            return list(await super().edges_batch(ids, **part))

    backend = Broken(records)
    web = await served(backend)
    with caplog.at_level(logging.CRITICAL, logger="bfsql"):
        answer = await web.get("/entities/person:1/relations?direction=out")
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert says in answer.json()["detail"]
    assert "incident" in answer.json()["detail"]
    assert "db.internal" not in answer.text
    assert ("retry-after" in answer.headers) == (status == 503)
    backend.broken = False
    answer = await web.get("/entities/person:1/relations?direction=out")
    assert len(answer.json()["relations"]) == 2


LEFT_OUT = Omission("film:1", "both", at_least=4_000, reason="the row limit")


async def test_what_the_store_left_out_travels_with_every_answer(served, records):
    class Limited(MemoryBackend):
        async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
            if "film:1" in ids:
                call.omitted(LEFT_OUT)
            return await super().edges_batch(ids)

    web = await served(Limited(records))
    told = [{"id": "film:1", "direction": "both", "at_least": 4_000, "reason": "the row limit"}]
    for _ in ("cold", "warm"):
        first = await web.get("/entities/film:1/relations?limit=1")
        assert first.json()["omissions"] == told
        second = await web.get(f"/entities/film:1/relations{first.json()['next']}")
        assert second.json()["omissions"] == told
        assert first.headers["etag"]
    ring = await web.post("/relations/batch", json={"ids": ["film:1", "film:2"]})
    assert ring.json()["omissions"] == told
    assert "omissions" not in (await web.get("/entities/film:2/relations")).json()


async def test_a_search_that_could_not_go_by_meaning_is_kept_by_nobody(served, records):
    class Nameless(MemoryBackend):
        async def search_entities(self, query, node_types=None):
            call.omitted(Omission(query, "search"))
            return await super().search_entities(query, node_types)

    web = await served(Nameless(records))
    answer = await web.get("/entities?q=tom")
    assert answer.json()["omissions"] == [{"id": "tom", "direction": "search"}]
    assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in answer.headers


READ = [
    ("GET", "/entities/film:1", None),
    ("GET", "/entities?q=hanks", None),
    ("GET", "/entities/film:1/provenance", None),
    ("GET", "/relations?subject=person:1&predicate=ACTED_IN&object=film:1", None),
    ("POST", "/entities/batch", {"ids": ["film:1", "person:1"], "metadata": True}),
    ("POST", "/relations/batch", {"relations": [["person:1", "ACTED_IN", "film:1"]]}),
    ("POST", "/tools/describe_entity", {"id": "film:1"}),
]
SECRETS = ("Sleepless", "Hanks", "1993", "They met", "doc:1", "0.9")


@pytest.mark.parametrize(("verb", "path", "body"), READ)
async def test_metadata_leaves_no_route_unredacted(served, verb, path, body):
    open_ = await served()
    hidden = await served(hooks=[Hiding(lambda kind, key, metadata: {"seen": kind})])
    for _ in ("cold", "warm"):
        shown = await open_.request(verb, path, json=body)
        assert [secret for secret in SECRETS if secret in shown.text]
        answer = await hidden.request(verb, path, json=body)
        assert answer.status_code == 200
        assert [secret for secret in SECRETS if secret in answer.text] == []


@pytest.mark.parametrize(("verb", "path", "body"), READ)
async def test_a_redaction_that_fails_lets_nothing_through_and_nobody_keep_it(
    served, verb, path, body
):
    web = await served(hooks=[Failing()])
    answer = await web.request(verb, path, json=body)
    assert [secret for secret in SECRETS if secret in answer.text] == []
    assert answer.headers["cache-control"] == "no-store"
    if not path.startswith("/tools/"):  # tools report it in a note
        missing = [one for one in answer.json()["omissions"] if one["direction"] == "metadata"]
        assert missing
        assert {one["reason"] for one in missing} <= {
            "the redaction of a node failed",
            "the redaction of an edge failed",
            "the redaction of an evidence failed",
        }


async def test_tools_are_watched_and_refused_as_over_mcp(served):
    watcher = Watcher()
    web = await served(hooks=[watcher, Refusing("Not after midnight.")])
    headers = {"User-Agent": "notebook/1"}
    answer = await web.post("/tools/describe_entity", json={"id": "film:1"}, headers=headers)
    assert answer.status_code == 403
    assert answer.json()["detail"] == "Not after midnight."
    [seen] = watcher.seen
    assert seen["tool"] == "describe_entity"
    assert seen["caller"] == call.Caller(client="notebook/1", address="127.0.0.1")
    assert seen["outcome"].error == "refused"


async def test_a_list_of_entities_is_watched_and_refused_as_a_set(served):
    watcher = Watcher()
    web = await served(hooks=[watcher])
    answer = await web.get("/entities?type=Film&limit=1")
    assert answer.json()["count"] == 2
    assert watcher.seen[0]["tool"] == "bfs_query"
    assert watcher.seen[0]["arguments"]["seeds"] == ["Film:*"]
    assert watcher.seen[0]["outcome"].rows == {"nodes": 1}
    web = await served(hooks=[watcher, Refusing("Not after midnight.")])
    assert (await web.get("/entities?type=Film")).status_code == 403
    assert watcher.seen[1]["outcome"].error == "refused"


async def test_what_many_ask_at_once_reaches_the_store_once(served, records):
    class Counted(MemoryBackend):
        asked = 0

        async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
            self.asked += 1
            await asyncio.sleep(0)
            return await super().edges_batch(ids)

    backend = Counted(records)
    web = await served(backend)
    answers = await asyncio.gather(
        *(web.get(f"/entities/film:1/relations?limit={n}") for n in (1, 2, 3, 4))
    )
    assert {answer.status_code for answer in answers} == {200}
    assert backend.asked == 1
