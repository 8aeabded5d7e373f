"""What a caller sees if the server is away, slow, or refuses the login; and its secrets."""

from __future__ import annotations

from typing import Any

import pytest
from bfsql_redis import RedisBackend
from bfsql_redis.connection import Connection

import bfsql
from bfsql.errors import StoreError, StoreUnavailable


async def test_a_server_that_is_away_is_unavailable(server: Any) -> None:
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1 does not answer.* Is it running"):
        await RedisBackend.open(server.settings(port=1))


async def test_a_wrong_password_is_named_and_not_shown(server: Any) -> None:
    with pytest.raises(StoreError, match="did not accept the login") as wrong:
        await RedisBackend.open(server.settings(password="wrong-secret"))
    assert "wrong-secret" not in str(wrong.value)


async def test_a_graph_that_does_not_exist_is_an_error_that_says_what_to_give(server: Any) -> None:
    with pytest.raises(StoreError, match=r"holds no graph 'nowhere'.* --graph"):
        await RedisBackend.open(server.settings(graph="nowhere"))


async def test_a_request_ends_at_its_time_limit_and_the_next_one_is_answered(server: Any) -> None:
    connection = Connection(server.settings(timeout=0.2))
    with pytest.raises(TimeoutError):
        await connection.send([("BLPOP", "no-such-list", 30)])
    assert await connection.send([("PING",)]) == [True]
    await connection.close()


async def test_the_graph_is_opened_by_name_and_answers(server: Any) -> None:
    connection = Connection(server.settings())
    await connection.send(
        [
            ("FLUSHALL",),
            ("HSET", "graph:nodes", "tea", "Drink", "water", "Liquid"),
            ("HSET", "graph:metadata", "tea", '{"name":"Tea"}', "water", "{}"),
            ("HSET", "graph:edges", '["tea","MADE_OF","water"]', "{}"),
            ("SADD", "graph:out:tea", '["tea","MADE_OF","water"]'),
            ("SADD", "graph:in:water", '["tea","MADE_OF","water"]'),
            ("SADD", "graph:types", "Drink", "Liquid"),
            ("SADD", "graph:predicates", "MADE_OF"),
            ("ZADD", "graph:names", 0, "tea\0tea"),
        ]
    )
    await connection.close()
    settings = server.settings().model_dump(exclude_unset=True)
    async with bfsql.open_graph("redis", **settings) as graph:
        answer = await graph.bfs_query(seeds=["Tea"], max_hops=1)
    assert answer.content["node_count"] == 2
