"""A node with more edges or values than one answer holds: all of it, or a note with the number."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import pytest

import bfsql
from bfsql import call
from bfsql.models import Omission
from bfsql_servers.virtuoso import VirtuosoServer
from bfsql_sparql.backend import SparqlBackend

DEGREE = 5_000
E = "http://example.org/"

Serve = Callable[..., Awaitable[SparqlBackend]]


def hub(degree: int = DEGREE) -> str:
    """A node that as many others point at and are pointed at by, some by two predicates."""
    lines = [f'<{E}hub> <http://www.w3.org/2000/01/rdf-schema#label> "the hub" .']
    for n in range(degree):
        spoke = f"<{E}spoke/{'é中Zz'[n % 4]}{n}>"
        lines.append(f"{spoke} <{E}in> <{E}hub> .")
        lines.append(f"<{E}hub> <{E}out> {spoke} .")
    lines += [f"<{E}hub> <{E}out2> <{E}spoke/Z2> .", f"<{E}hub> <{E}out3> <{E}spoke/Z2> ."]
    return "\n".join(lines)


def values(number: int) -> Iterable[str]:
    """A node with many values."""
    return (f'<{E}wordy> <{E}says> "word {n}" .' for n in range(number))


@pytest.fixture
async def small(small_virtuoso: VirtuosoServer) -> AsyncIterator[Serve]:
    """Fills the Virtuoso that cuts each answer after 1,000 rows, and opens the backend over it."""
    opened: list[SparqlBackend] = []

    async def small(ntriples: str, **settings: Any) -> SparqlBackend:
        small_virtuoso.clear()
        small_virtuoso.load(ntriples)
        backend = await SparqlBackend.create(
            small_virtuoso.query_url, graph=[small_virtuoso.graph], **settings
        )
        opened.append(backend)
        return backend

    yield small
    for backend in opened:
        await backend.close()


async def test_a_server_that_cuts_at_a_thousand_rows_gives_all_edges_of_a_hub(small: Serve) -> None:
    backend = await small(hub())
    with call.scope() as scope:
        assert len(set(await backend.edges_batch([f"{E}hub", f"{E}spoke/é0"]))) == 2 * DEGREE + 2
        assert len(await backend.edges_from(f"{E}hub")) == DEGREE + 2
        assert len(await backend.edges_to(f"{E}hub")) == DEGREE
    assert scope.omissions == ()


async def test_what_a_bound_leaves_out_of_a_hub_is_said_with_its_true_number(small: Serve) -> None:
    backend = await small(hub(), max_edges=2_000)
    async with bfsql.open_graph(backend) as graph:
        answer = await graph.bfs_query(seeds=[f"{E}hub"], max_hops=1, topology_only=True)
    notes = " ".join(answer.notes)
    assert f"At least {DEGREE - 2_000 + 2} outgoing edges of {E}hub are missing" in notes
    assert f"At least {DEGREE - 2_000} incoming edges of {E}hub are missing" in notes


async def test_a_batch_with_a_hub_has_the_edges_of_all_others(small: Serve) -> None:
    others = "\n".join(f"<{E}n{n}> <{E}next> <{E}n{n + 1}> ." for n in range(50))
    backend = await small(hub(1_500) + "\n" + others)
    with call.scope() as scope:
        ring = await backend.edges_batch([f"{E}hub", *(f"{E}n{n}" for n in range(50))])
    assert len(set(ring)) == 2 * 1_500 + 2 + 50
    assert scope.omissions == ()


async def test_types_and_metadata_of_more_nodes_than_an_answer_holds_are_whole(
    small: Serve,
) -> None:
    number = 1_500
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    backend = await small("\n".join(f'<{E}n{n}> {label} "n{n}" .' for n in range(number)))
    ids = [f"{E}n{n}" for n in range(number)]
    assert {node.id for node in await backend.get_nodes_batch(ids)} == set(ids)
    metadata = await backend.metadata_for_nodes_batch(ids)
    assert {id_: told["name"] for id_, told in metadata.items()} == {
        f"{E}n{n}": f"n{n}" for n in range(number)
    }


async def test_a_node_with_more_values_than_an_answer_holds_gives_them_all(small: Serve) -> None:
    backend = await small("\n".join(values(3_000)))
    metadata = await backend.metadata_for_node(f"{E}wordy")
    assert len(metadata[f"{E}says"]) == 3_000


async def test_windows_go_through_any_store(serve_each: Serve) -> None:
    backend = await serve_each(hub(300), page_size=100)
    with call.scope() as scope:
        assert len(await backend.edges_from(f"{E}hub")) == 302
        assert len(await backend.edges_to(f"{E}hub")) == 300
    assert scope.omissions == ()


async def test_blank_nodes_of_a_hub_are_counted_in_a_note(serve_each: Serve) -> None:
    blanks = "\n".join(f"<{E}hub> <{E}out> _:b{n} ." for n in range(7))
    backend = await serve_each(f"{hub(300)}\n{blanks}", page_size=100)
    with call.scope() as scope:
        assert len(await backend.edges_from(f"{E}hub")) == 302
    assert [(o.id, o.direction, o.at_least) for o in scope.omissions] == [(f"{E}hub", "out", 7)]


async def test_an_endpoint_that_cuts_without_a_word_is_found_out(serve: Serve) -> None:
    backend = await serve(hub(1_200))
    whole = backend._dataset.reply

    async def cut(query: str, seconds: float | None = None):  # type: ignore[no-untyped-def]
        head, _, limit = query.rpartition("LIMIT ")
        few = f"{head}LIMIT {min(int(limit), 1_000)}" if head else query
        return await whole(few, seconds)

    backend._dataset.reply = cut  # type: ignore[method-assign]
    with call.scope() as scope:
        ids = [f"{E}hub", *(f"{E}spoke/{'é中Zz'[n % 4]}{n}" for n in range(1_200))]
        ring = await backend.edges_batch(ids)
        nodes = await backend.get_nodes_batch(ids)
        metadata = await backend.metadata_for_nodes_batch(ids)
    assert len(set(ring)) == 2 * 1_200 + 2
    assert {node.id for node in nodes} == set(metadata) == set(ids)
    assert Omission(f"{E}hub") not in scope.omissions


async def test_a_hub_that_is_not_read_in_time_has_its_degree_in_the_error(serve: Serve) -> None:
    backend = await serve(hub(300), page_size=100)
    whole = backend._dataset.reply

    async def slow(query: str, seconds: float | None = None):  # type: ignore[no-untyped-def]
        if "ORDER BY" in query:
            raise TimeoutError
        return await whole(query, seconds)

    backend._dataset.reply = slow  # type: ignore[method-assign]
    with call.scope() as scope, pytest.raises(TimeoutError):
        await backend.edges_from(f"{E}hub")
    assert 302 in [omission.at_least for omission in scope.omissions]
