"""Requests to Amazon Neptune are signed as its documentation has it."""

import datetime as dt
import hashlib
import hmac
import sys
from typing import Any

import botocore.auth
import pytest
from aiohttp import web

from bfsql.errors import StoreError
from bfsql_gremlin import GremlinBackend, sigv4
from bfsql_test_support.servers.port import HOST, free_port

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
URI = "wss://cluster.example.org:8182/gremlin"
NOW = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


def digest(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signature(host, date, region):
    """The signature of a GET without a body, by the steps of Signature Version 4."""
    empty = hashlib.sha256(b"").hexdigest()
    canonical = f"GET\n/gremlin\n\nhost:{host}\nx-amz-date:{date}\n\nhost;x-amz-date\n{empty}"
    scope = f"{date[:8]}/{region}/neptune-db/aws4_request"
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = digest(key, part)
    return digest(key, f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{hashed}").hex()


@pytest.fixture
def _credentials(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    sigv4._session.cache_clear()


@pytest.fixture
def _clock(monkeypatch):
    """Stops botocore's clock, which was another one before version 1.40."""
    if hasattr(botocore.auth, "get_current_datetime"):
        monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: NOW)
    else:

        class Stopped(dt.datetime):
            @classmethod
            def utcnow(cls):
                return NOW

        monkeypatch.setattr("botocore.auth.datetime.datetime", Stopped)


@pytest.mark.usefixtures("_credentials", "_clock")
def test_the_signature_is_that_of_the_documentation():
    headers = sigv4.signed_headers(URI, "eu-west-1")
    assert headers["X-Amz-Date"] == "20260102T030405Z"
    wanted = signature("cluster.example.org:8182", headers["X-Amz-Date"], "eu-west-1")
    assert headers["Authorization"] == (
        f"AWS4-HMAC-SHA256 Credential={KEY}/20260102/eu-west-1/neptune-db/aws4_request, "
        f"SignedHeaders=host;x-amz-date, Signature={wanted}"
    )


@pytest.mark.usefixtures("_credentials")
async def test_the_request_for_a_websocket_is_signed_for_its_host():
    seen: list[Any] = []

    async def refuse(request):
        seen.append(request.headers.copy())
        return web.Response(status=403)

    app = web.Application()
    app.router.add_get("/gremlin", refuse)
    runner, port = web.AppRunner(app), free_port()
    await runner.setup()
    await web.TCPSite(runner, HOST, port).start()
    with pytest.raises(StoreError, match=r"HTTP status 403.*--aws-region"):
        await GremlinBackend.create(f"ws://{HOST}:{port}/gremlin", aws_region="us-east-1")
    await runner.cleanup()
    [headers] = seen
    wanted = signature(headers["Host"], headers["X-Amz-Date"], "us-east-1")
    assert headers["Authorization"].endswith(f"Signature={wanted}")


async def test_without_credentials_or_botocore_the_error_says_what_to_do(monkeypatch):
    class Nobody:
        def get_credentials(self):
            return None

    monkeypatch.setattr(sigv4, "_session", Nobody)
    with pytest.raises(StoreError, match="AWS_ACCESS_KEY_ID"):
        sigv4.signed_headers(URI, "eu-west-1")
    monkeypatch.setitem(sys.modules, "botocore.auth", None)
    with pytest.raises(StoreError, match=r"pip install 'bfsql-gremlin\[aws\]'"):
        sigv4.signed_headers(URI, "eu-west-1")
