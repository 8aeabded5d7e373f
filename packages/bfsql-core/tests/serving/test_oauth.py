"""Tokens of OAuth issuers: which open which graph, and what an issuer may do to the server."""

import asyncio
import base64
import hmac
import json
import logging
import threading
import time
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pydantic import SecretStr

from bfsql.errors import ConfigurationError
from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import NodeRecord
from bfsql.serving import oauth
from bfsql.serving.access import verifier_of
from bfsql.serving.graphs import application
from bfsql.serving.live import LiveGraph
from bfsql.serving.tokens import token_line
from bfsql.settings import ServeSettings
from bfsql_test_support.case_table import case_table
from bfsql_test_support.raw_mcp import INITIALIZE, message, tool_call
from bfsql_test_support.servers.stub import Asked, Said, answering

PUBLIC = "https://graph.example.org"
WELL_KNOWN = "/.well-known/oauth-protected-resource"
RSA, EC = rsa.generate_private_key(65_537, 2_048), ec.generate_private_key(ec.SECP256R1())
CALLERS: Any = ({}, {"sub": "c", "client_id": "c"}, {"sub": "bot", "client_id": "c"})
KEYS: Any = {"a": ("RS256", RSA), "b": ("ES256", EC)}


class Issuer:
    """An issuer whose documents a test can change."""

    def __init__(self) -> None:
        self.url, self.names, self.paths, self.hangs = "", ["a"], list[str](), False
        self.metadata, self.active = dict[str, Any](), dict[str, Any]()
        self.release = threading.Event()

    def token(self, name: str = "a", *, kid: str | None = None, **changes: Any) -> str:
        """A token for the films over MCP; a claim that is None is left out, times are from now."""
        own = {"iss": self.url, "sub": "ann", "exp": 300, "aud": FILMS, "scope": "read other"}
        claims = {key: value for key, value in (own | changes).items() if value is not None}
        times = {
            key: time.time() + claims[key] for key in ("exp", "nbf") if type(claims.get(key)) is int
        }
        return jwt.encode(claims | times, *KEYS[name][::-1], {"kid": name if kid is None else kid})

    def respond(self, asked: Asked) -> Said:
        self.paths.append(asked.path)
        token = parse_qs(asked.body.decode()).get("token", [""])[0]
        found: Any = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        found |= {"introspection_endpoint": f"{self.url}/introspect", **self.metadata}
        if asked.path == "/introspect":
            assert asked.headers["authorization"] == "Basic YmZzcWw6czNjcmV0"
            found = self.active.get(token, {"active": False})
        elif asked.path == "/keys":
            public = [(n, KEYS[n][0], KEYS[n][1].public_key()) for n in self.names]
            listed = [(n, jwt.get_algorithm_by_name(kind).to_jwk(key)) for n, kind, key in public]
            found = {"keys": [{**json.loads(key), "kid": name} for name, key in listed]}
        elif asked.path != "/.well-known/openid-configuration":
            return Said(404)
        hangs = self.hangs and asked.path == "/keys"
        return Said(body=json.dumps(found).encode(), after=self.release if hangs else None)


@pytest.fixture
def issuer():
    made = Issuer()
    with answering(made.respond) as made.url:
        yield made
        made.release.set()


@pytest.fixture
def settings(issuer, tmp_path):
    """For one issuer and a file with one token, `bfsql_file`."""
    (tmp_path / "tokens").write_text(token_line("bob", "bfsql_file"), encoding="utf-8")
    told = {"oauth_client_id": "bfsql", "oauth_client_secret": SecretStr("s3cret")}
    told |= {"oauth_issuer": (issuer.url,), "oauth_scopes": ("read",), "oauth_page_client": "page"}
    told |= {"public_url": f"{PUBLIC}/", "bearer_tokens": tmp_path / "tokens"}
    return ServeSettings(transport="http", rest=True, oauth_allow_private=True, **told)


@asynccontextmanager
async def serving(settings):
    """A client of a server for the graphs `films` and `lab`."""
    async with AsyncExitStack() as stack:
        lives = {}
        for name in ("films", "lab"):
            backend = MemoryBackend([NodeRecord(f"{name}:1", "Node")])
            live = LiveGraph(await stack.enter_async_context(open_graph(backend)), settings)
            live.name, lives[name] = name, live
        transport = httpx2.ASGITransport(application(lives, settings))
        for live in lives.values():
            await stack.enter_async_context(live.lifespan())
        web = httpx2.AsyncClient(transport=transport, base_url=PUBLIC)
        yield await stack.enter_async_context(web)


async def ask(web, token, path="/mcp/films"):
    """The answer at a path, which over MCP has an entity of the films."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if "mcp" not in path:
        return await web.get(path, headers=headers)
    body, own = tool_call("describe_entity", {"id": "films:1"}, "test")
    return await web.post(path, headers=headers | own, content=body)


def encoded(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def signed_by_public_key(issuer: Issuer) -> str:
    """A token whose secret for HMAC is the public key."""
    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = encoded(json.dumps({"alg": "HS256", "kid": "a"}).encode())
    text = f"{head}.{issuer.token().split('.')[1]}"
    return f"{text}.{encoded(hmac.digest(pem, text.encode(), 'sha256'))}"


def unsigned(issuer: Issuer) -> str:
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    return jwt.encode(claims, None, "none", {"kid": "a"})


FILMS, LAB = f"{PUBLIC}/mcp/films", f"{PUBLIC}/mcp/lab"
TOKENS: dict[str, tuple[Any, int]] = {
    "good": ({}, 200),
    "audience in a list": ({"aud": ["x", f"{FILMS}/"]}, 200),
    "scopes of Entra ID": ({"scope": None, "scp": "read"}, 200),
    "scopes of Okta": ({"scope": None, "scp": ["read"]}, 200),
    "expired within the skew": ({"exp": -30}, 200),
    "not yet within the skew": ({"nbf": 30}, 200),
    "of the file": (lambda _: "bfsql_file", 200),
    "expired": ({"exp": -90}, 401),
    "not yet": ({"nbf": 400}, 401),
    "no end": ({"exp": None}, 401),
    "an end that is no number": ({"exp": "soon"}, 401),
    "no audience": ({"aud": None}, 401),
    "audience of another graph": ({"aud": LAB}, 401),
    "audience of the web API": ({"aud": f"{PUBLIC}/graphs/films"}, 401),
    "audience of the server": ({"aud": PUBLIC}, 401),
    "audience that begins alike": ({"aud": f"{FILMS}2"}, 401),
    "audience of odd parts": ({"aud": [f"{PUBLIC}/mcp", "/films"]}, 401),
    "another issuer": ({"iss": "https://evil.example"}, 401),
    "an issuer's child": (lambda issuer: issuer.token(iss=f"{issuer.url}/"), 401),
    "no issuer": ({"iss": None}, 401),
    "no subject": ({"sub": None}, 401),
    "insufficient scope": ({"scope": "other"}, 403),
    "no scope": ({"scope": None}, 403),
    "unknown key": ({"name": "b"}, 401),
    "key of another name": ({"name": "b", "kid": "a"}, 401),
    "no name of a key": ({"kid": ""}, 401),
    "unsigned": (unsigned, 401),
    "signed by the public key": (signed_by_public_key, 401),
    "altered": (lambda issuer: issuer.token()[:-8] + "AAAAAAAA", 401),
    "huge": ({"groups": ["x" * 20_000]}, 401),
    "nested": (lambda _: f"e30.{encoded(b'[' * 9_000)}.e30", 401),
    "no token": (lambda _: "", 401),
    "no JWT": (lambda _: "a.b.c", 401),
}


async def test_only_a_token_for_this_graph_opens_it(issuer, settings, caplog):
    caplog.set_level(logging.INFO, "bfsql")
    end = f'scope="read", resource_metadata="{PUBLIC}{WELL_KNOWN}/mcp/films"'
    errors = {401: 'error="invalid_token"', 403: 'error="insufficient_scope"'}
    async with serving(settings) as web:
        for name, (made, status) in TOKENS.items():
            token = made(issuer) if callable(made) else issuer.token(**made)
            caplog.clear()
            answer = await ask(web, token)
            assert answer.status_code == status, name
            assert ("films:1" in answer.text) is (status == 200), name
            challenge = answer.headers.get("www-authenticate", end)
            assert challenge.endswith(end), name
            assert (errors.get(status, "error=") in challenge) is (status != 200 and token != ""), (
                name
            )
            assert not token or token not in caplog.text, name
            assert ("token was refused: " in caplog.text) is (status == 401 and token != ""), name
    assert issuer.paths.count("/keys") == 1


async def test_a_token_of_one_graph_reads_no_other(issuer, settings):
    places = {"/mcp/films", "/mcp/lab", "/mcp", "/graphs", "/graphs/films/schema"}
    places |= {"/graphs/lab/schema", "/graphs/lab/entities/lab:1", "/graphs/lab/docs"}
    async with serving(settings) as web:
        for audience in ("/mcp/films", "/graphs/films", "/mcp/lab", "/graphs/lab", ""):
            token = issuer.token(aud=PUBLIC + audience)
            answers = {path: await ask(web, token, path) for path in places}
            opened = {path for path, answer in answers.items() if answer.status_code != 401}
            own = {path for path in places if audience and path.startswith(audience)}
            assert opened == (own or {"/mcp", "/graphs"})
            told = [path for path in answers if "lab" in answers[path].text]
            assert not told or not audience.endswith("films"), told
        headers = {"Accept": "application/json, text/event-stream"}
        statuses = {}
        for token in (issuer.token(), issuer.token(sub="eve"), issuer.token(aud=LAB), "bfsql_file"):
            headers["Authorization"] = f"Bearer {token}"
            if not statuses:
                begun = await web.post("/mcp/films", headers=headers, json=INITIALIZE)
                headers["Mcp-Session-Id"] = begun.headers["mcp-session-id"]
            listing = message(1, "tools/list")
            for path in ("/mcp/films", "/mcp/lab"):
                answer = await web.post(path, headers=headers, json=listing)
                statuses.setdefault(path, []).append(answer.status_code)
    assert statuses == {"/mcp/films": [200, 404, 401, 404], "/mcp/lab": [401, 401, 404, 404]}


async def test_metadata_is_public_by_path_and_one_audience_may_be_set(issuer, settings):
    shared = settings.model_copy(update={"oauth_audience": "api://bfsql"})
    async with serving(shared) as web:
        for path in ("/mcp/films", "/mcp/lab", "/graphs/films", ""):
            answer = await web.get(WELL_KNOWN + path)
            assert answer.headers["access-control-allow-origin"] == "*"
            assert answer.json() == {
                "resource": PUBLIC + path,
                "authorization_servers": [issuer.url],
                "scopes_supported": ["read"],
                "bearer_methods_supported": ["header"],
                "bfsql_page_client": "page",
            }
        of_page = await web.get(f"/graphs/films{WELL_KNOWN}")
        assert of_page.json()["resource"] == f"{PUBLIC}/graphs/films"
        assert (await web.get(f"{WELL_KNOWN}/mcp/none")).status_code == 401
        foreign = await web.get(WELL_KNOWN, headers={"Host": "evil.example"})
        assert foreign.status_code == 421
        for path in ("/mcp/films", "/mcp/lab", "/graphs/lab/schema"):
            assert (await ask(web, issuer.token(aud="api://bfsql"), path)).status_code == 200
            assert (await ask(web, issuer.token(aud=PUBLIC + path), path)).status_code == 401


async def test_one_name_at_two_issuers_is_two_callers(issuer, settings):
    other = Issuer()
    with answering(other.respond) as other.url:
        both = settings.model_copy(update={"oauth_issuer": (issuer.url, other.url)})
        verifier = verifier_of(both)
        tokens = [one.token(**claims) for claims in CALLERS for one in (issuer, other)]
        owners = [await verifier.verify_token(token) for token in tokens]
    assert len({owner.subject for owner in owners}) == len(tokens)
    alone = await verifier_of(settings).verify_token(issuer.token())
    assert alone.subject == "ann"


# --- the issuer -------------------------------------------------------------------


async def test_new_keys_are_read_once_a_minute_however_many_tokens_name_one(issuer, settings):
    verifier = verifier_of(settings)
    assert (await verifier.verify_token(issuer.token())).claims["sub"] == "ann"
    issuer.names = ["b"]
    flood = [issuer.token("b", kid=f"k{number}") for number in range(1_000)]
    for fetches, rotated in ((1, False), (2, True)):
        assert not any(await asyncio.gather(*map(verifier.verify_token, flood)))
        assert issuer.paths.count("/keys") == fetches
        assert bool(await verifier.verify_token(issuer.token("b"))) is rotated
        assert bool(await verifier.verify_token(issuer.token("a"))) is not rotated
        verifier._issuers[issuer.url]._may_read._last -= 61


async def test_a_hanging_issuer_delays_unknown_keys_alone(issuer, settings, monkeypatch, caplog):
    monkeypatch.setattr(oauth, "ISSUER_SECONDS", 0.3)
    verifier = verifier_of(settings)
    assert await verifier.verify_token(issuer.token())
    issuer.hangs, one = True, verifier._issuers[issuer.url]
    one._may_read._last -= 61
    unknown = asyncio.ensure_future(verifier.verify_token(issuer.token("b")))
    while issuer.paths.count("/keys") < 2:
        assert await verifier.verify_token(issuer.token())
        await asyncio.sleep(0.01)
    assert await verifier.verify_token(issuer.token())
    assert not unknown.done()
    assert await unknown is None
    assert f"The keys of {issuer.url} cannot be read. TimeoutError" in caplog.text
    one._read_at -= oauth.KEY_SECONDS + 1
    assert await verifier.verify_token(issuer.token()) is None


@case_table(
    ("wrong", "says"),
    [
        ({"issuer": "https://evil.example"}, "names another issuer"),
        ({"issuer": None}, "names another issuer"),
        ({"jwks_uri": "http://192.0.2.1/keys"}, "is not an https URL"),
        ({"jwks_uri": "file:///etc/passwd"}, "ValueError"),
        ({"jwks_uri": 5}, "AttributeError"),
        ({"x": "y" * 600_000}, "ReplyTooLarge"),
        ({"url": "https://127.0.0.1:9"}, "PrivateAddress"),
        ({"url": "http://127.0.0.1:9"}, "is not an https URL"),
        ({"url": "issuer.example"}, "is not an https URL"),
        ({"url": ""}, "oauth_issuer needs public_url"),
    ],
)
async def test_an_issuer_whose_metadata_or_settings_are_wrong_opens_nothing(wrong, says, caplog):
    issuer = Issuer()
    with answering(issuer.respond) as issuer.url:
        issuer.metadata, url = wrong, wrong.get("url", issuer.url)
        told: dict[str, Any] = {"public_url": PUBLIC if url else None, "oauth_issuer": (url,)}
        told["oauth_allow_private"] = "url" not in wrong
        try:
            token = issuer.token(iss=url)
            assert await verifier_of(ServeSettings(**told)).verify_token(token) is None
            said = caplog.text
        except ConfigurationError as error:
            said = str(error)
        caplog.clear()
        assert says in said


async def test_other_tokens_are_introspected_and_remembered_for_a_while(issuer, settings):
    verifier, own = verifier_of(settings), {"active": True, "sub": "ann"}
    issuer.active["opaque"] = {**own, "aud": FILMS, "exp": time.time() + 300}
    issuer.active["foreign"] = {**own, "iss": "https://evil.example"}
    issuer.active |= {"odd": {**own, "active": "yes"}, "nobody": {"active": True}}
    for _ in range(3):
        assert (await verifier.verify_token("opaque")).claims["aud"] == FILMS
        for wrong in ("foreign", "odd", "nobody", "unknown", "bfsql_old"):
            assert await verifier.verify_token(wrong) is None
    assert issuer.paths.count("/introspect") == 5
    kept = verifier._issuers[issuer.url]._introspected
    kept |= {key: (0.0, claims) for key, (_, claims) in kept.items()}
    kept |= {b"%d" % number: (0.0, {}) for number in range(oauth.MAX_KEPT)}
    del issuer.active["opaque"]
    before = len(kept)
    assert await verifier.verify_token("opaque") is None
    assert await verifier.verify_token("new") is None
    assert len(kept) < before
