"""A graph whose calls are observed."""

import asyncio

import bfsql
from bfsql.models import NodeRecord
from bfsql.observer import ObservedCall, Observer

SLOW = 10


class Printed(Observer):
    def call_ended(self, seen: ObservedCall) -> None:
        print(seen.tool, seen.error or "ok", seen.size, "bytes")

    def store_called(self, method: str, seconds: float, *, failed: bool) -> None:
        print("the store:", method, "failed" if failed or seconds > SLOW else "ok")


async def ask() -> None:
    ada = NodeRecord("p:1", "Person", {"name": "Ada"})
    async with bfsql.open_graph(bfsql.MemoryBackend([ada]), observers=[Printed()]) as graph:
        await graph.describe_entities(["p:1"])


asyncio.run(ask())
