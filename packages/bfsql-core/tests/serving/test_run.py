"""The process in which a graph is served."""

import asyncio
import gc
import os
import shutil
import signal
import ssl
import sys
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest

from bfsql.errors import ConfigurationError
from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import NodeRecord
from bfsql.serving.live import LiveConfiguration
from bfsql.serving.run import open_while_importing, serve_http
from bfsql.settings import ServeSettings
from bfsql_test_support.missing import missing
from bfsql_test_support.servers.certificates import CERTIFICATE, KEY, make_certificates


@asynccontextmanager
async def one_node():
    async with open_graph(MemoryBackend([NodeRecord("n", "Type")])) as graph:
        yield graph


def settings_of_the_interpreter() -> tuple[object, ...]:
    return gc.get_threshold(), gc.get_freeze_count() > 0, sys.getswitchinterval()


async def test_the_settings_of_the_interpreter_are_undone_when_serving_ends():
    gc.unfreeze()  # what the tests consist of is frozen after their collection
    before = settings_of_the_interpreter()

    async with open_while_importing({"": LiveConfiguration(one_node, ServeSettings())}):
        assert settings_of_the_interpreter() == ((20_000, 2, 600), True, 0.0005)
    assert settings_of_the_interpreter() == before


async def test_a_certificate_is_read_again_on_sighup_unless_it_is_wrong(tmp_path, capsys):
    first, second = places = [tmp_path / "first", tmp_path / "second"]
    if not all(map(make_certificates, places)):
        missing("openssl", "there is no openssl here")
    certificate, key = first / CERTIFICATE, first / KEY
    settings = ServeSettings(transport="http", port=0, tls_cert=certificate, tls_key=key)
    graphs, listening = {"": LiveConfiguration(one_node, settings)}, asyncio.Future()

    def served() -> str:
        return ssl.get_server_certificate(("127.0.0.1", urlsplit(listening.result()).port))

    async def after_sighup(condition):
        os.kill(os.getpid(), signal.SIGHUP)
        async with asyncio.timeout(20):
            while not await asyncio.to_thread(condition):  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    serving = asyncio.ensure_future(serve_http(graphs, settings, on_listening=listening.set_result))
    assert (await listening).startswith("https://127.0.0.1:")
    before = await asyncio.to_thread(served)
    assert before == certificate.read_text()
    shutil.copy(second / KEY, key)
    await after_sighup(lambda: "tls_cert or tls_key cannot be used" in capsys.readouterr().err)
    assert await asyncio.to_thread(served) == before
    shutil.copy(second / CERTIFICATE, certificate)
    await after_sighup(lambda: served() == (second / CERTIFICATE).read_text())
    os.kill(os.getpid(), signal.SIGTERM)
    await serving
    shutil.copy(certificate, key)
    with pytest.raises(ConfigurationError, match="tls_cert or tls_key cannot be used"):
        await serve_http(graphs, settings)
