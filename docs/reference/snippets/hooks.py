"""A hook plugin, and a graph that it has a say in."""

import asyncio

import bfsql
from bfsql.models import NodeRecord
from bfsql.plugins import hookimpl


class House:
    @hookimpl
    def refuse_call(self, tool):
        return "Intersections are closed." if tool == "intersect_subgraphs" else None

    @hookimpl
    def redact_metadata(self, metadata):
        metadata.pop("email", None)
        return metadata


async def ask() -> None:
    ada = NodeRecord("p:1", "Person", {"name": "Ada", "email": "ada@example.org"})
    async with bfsql.open_graph(bfsql.MemoryBackend([ada]), hooks=[House()]) as graph:
        print((await graph.describe_entity("p:1")).text)
        try:
            await graph.intersect_subgraphs(["p:1", "p:2"], k=1)
        except bfsql.ToolError as error:
            print(error.kind, "-", error)


asyncio.run(ask())
