"""The process in which a graph is served."""

import gc
import sys
from contextlib import asynccontextmanager

from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import NodeRecord
from bfsql.serving.live import LiveConfiguration
from bfsql.serving.run import open_while_importing
from bfsql.settings import ServeSettings


def settings_of_the_interpreter() -> tuple[object, ...]:
    return gc.get_threshold(), gc.get_freeze_count() > 0, sys.getswitchinterval()


async def test_the_settings_of_the_interpreter_are_undone_when_serving_ends():
    gc.unfreeze()  # what the tests consist of is frozen after their collection
    before = settings_of_the_interpreter()

    @asynccontextmanager
    async def one_node():
        async with open_graph(MemoryBackend([NodeRecord("n", "Type")])) as graph:
            yield graph

    async with open_while_importing({"": LiveConfiguration(one_node, ServeSettings())}):
        assert settings_of_the_interpreter() == ((20_000, 2, 600), True, 0.0005)
    assert settings_of_the_interpreter() == before
