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
from bfsql.serving.graphs import application
from bfsql.serving.live import LiveGraph
from bfsql.serving.oauth import OAuthTokens
from bfsql.serving.tokens import new_token, token_line, verifier_of
from bfsql.settings import ServeSettings
from bfsql_test_support.case_table import case_table
from bfsql_test_support.raw_mcp import INITIALIZE, message, tool_call
from bfsql_test_support.servers.stub import Asked, Said, answering

PUBLIC = "https://graph.example.org"
KEYS = {
    "a": ("RS256", rsa.generate_private_key(65_537, 2_048)),
    "b": ("ES256", ec.generate_private_key(ec.SECP256R1())),
}
PEM = KEYS["a"][1].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


class Issuer:
    """An issuer whose documents a test can change."""

    def __init__(self) -> None:
        self.url, self.names, self.paths, self.hangs = "", ["a"], list[str](), False
        self.metadata: dict[str, Any] = {}
        self.active: dict[str, dict[str, Any]] = {}
        self.release = threading.Event()

    def token(self, name: str = "a", headers: Any = None, **changes: Any) -> str:
        """A token for the films over MCP; a claim that is None is left out, times are from now."""
        algorithm, key = KEYS[name]
        claims = {"iss": self.url, "sub": "ann", "exp": 300}
        claims |= {"aud": f"{PUBLIC}/mcp/films", "scope": "read other"}
        claims = {k: v for k, v in (claims | changes).items() if v is not None}
        for name_of_time in {"exp", "nbf", "iat"} & claims.keys():
            if isinstance(claims[name_of_time], int):
                claims[name_of_time] += time.time()
        return jwt.encode(claims, key, algorithm, headers={"kid": name} | (headers or {}))

    def respond(self, asked: Asked) -> Said:
        self.paths.append(asked.path)
        if asked.path == "/introspect":
            assert asked.headers["authorization"] == "Basic YmZzcWw6czNjcmV0"
            token = parse_qs(asked.body.decode())["token"][0]
            return Said(body=json.dumps(self.active.get(token, {"active": False})).encode())
        if asked.path == "/keys":
            algorithms = {n: jwt.get_algorithm_by_name(KEYS[n][0]) for n in self.names}
            listed = [
                {**algorithm.to_jwk(KEYS[n][1].public_key(), as_dict=True), "kid": n}
                for n, algorithm in algorithms.items()
            ]
            after = self.release if self.hangs else None
            return Said(body=json.dumps({"keys": listed}).encode(), after=after)
        if asked.path != "/.well-known/openid-configuration":
            return Said(404)
        own = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        own["introspection_endpoint"] = f"{self.url}/introspect"
        return Said(body=json.dumps(own | self.metadata).encode())


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
    return ServeSettings(
        transport="http",
        rest=True,
        public_url=f"{PUBLIC}/",
        bearer_tokens=tmp_path / "tokens",
        oauth_issuer=(issuer.url,),
        oauth_scopes=("read",),
        oauth_client_id="bfsql",
        oauth_client_secret=SecretStr("s3cret"),
        oauth_page_client="page",
        oauth_allow_private=True,
    )


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
        yield await stack.enter_async_context(
            httpx2.AsyncClient(transport=transport, base_url=PUBLIC)
        )


async def ask(web, token, path="/mcp/films"):
    """The answer at a path, which over MCP has an entity of the films."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if "mcp" not in path:
        return await web.get(path, headers=headers)
    body, own = tool_call("describe_entity", {"id": "films:1"}, "test")
    return await web.post(path, headers=headers | own, content=body)


# --- one token --------------------------------------------------------------------


HS256 = "eyJhbGciOiJIUzI1NiIsImtpZCI6ImEifQ"  # {"alg":"HS256","kid":"a"}


def encoded(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def signed_by_public_key(issuer: Issuer) -> str:
    """A token whose secret for HMAC is the public key."""
    body = issuer.token().split(".")[1]
    text = f"{HS256}.{body}"
    return f"{text}.{encoded(hmac.digest(PEM, text.encode(), 'sha256'))}"


def unsigned(issuer: Issuer) -> str:
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    return jwt.encode(claims, None, "none", headers={"kid": "a"})


LAB, WEB = f"{PUBLIC}/mcp/lab", f"{PUBLIC}/graphs/films"
TOKENS: dict[str, tuple[Any, int]] = {
    "good": ({}, 200),
    "audience in a list": ({"aud": ["x", f"{PUBLIC}/mcp/films/"]}, 200),
    "scopes of Entra ID": ({"scope": None, "scp": "read"}, 200),
    "scopes of Okta": ({"scope": None, "scp": ["read"]}, 200),
    "expired within the skew": ({"exp": -30}, 200),
    "not yet within the skew": ({"nbf": 30, "iat": 30}, 200),
    "expired": ({"exp": -90}, 401),
    "not yet": ({"nbf": 400}, 401),
    "no end": ({"exp": None}, 401),
    "an end that is no number": ({"exp": "soon"}, 401),
    "no audience": ({"aud": None}, 401),
    "audience of another graph": ({"aud": LAB}, 401),
    "audience of the graph's web API": ({"aud": WEB}, 401),
    "audience of the server": ({"aud": PUBLIC}, 401),
    "audience that begins alike": ({"aud": f"{PUBLIC}/mcp/films2"}, 401),
    "audience of odd types": ({"aud": [f"{PUBLIC}/mcp", "mcp/films"]}, 401),
    "another issuer": ({"iss": "https://evil.example"}, 401),
    "an issuer's child": (lambda issuer: issuer.token(iss=f"{issuer.url}/"), 401),
    "no issuer": ({"iss": None}, 401),
    "no subject": ({"sub": None}, 401),
    "insufficient scope": ({"scope": "other"}, 403),
    "no scope": ({"scope": None}, 403),
    "unknown key": (lambda issuer: issuer.token("b"), 401),
    "key of another name": (lambda issuer: issuer.token("b", headers={"kid": "a"}), 401),
    "no name of a key": (lambda issuer: issuer.token(headers={"kid": ""}), 401),
    "unsigned": (unsigned, 401),
    "signed by the public key": (signed_by_public_key, 401),
    "altered": (lambda issuer: issuer.token()[:-8] + "AAAAAAAA", 401),
    "huge": ({"groups": ["x" * 20_000]}, 401),
    "nested": (lambda _: f"e30.{encoded(b'[' * 9_000)}.e30", 401),
    "no token": (lambda _: "", 401),
    "not one": (lambda _: "a.b.c", 401),
    "of the file": (lambda _: "bfsql_file", 200),
    "of no file": (lambda _: new_token(), 401),
}


async def test_only_a_token_for_this_graph_opens_it(issuer, settings, caplog):
    async with serving(settings) as web:
        metadata = f'resource_metadata="{PUBLIC}/.well-known/oauth-protected-resource/mcp/films"'
        errors = {401: "invalid_token", 403: "insufficient_scope"}
        with caplog.at_level(logging.INFO, "bfsql"):
            for name, (made, status) in TOKENS.items():
                token = made(issuer) if callable(made) else issuer.token(**made)
                caplog.clear()
                answer = await ask(web, token)
                assert answer.status_code == status, name
                assert ("films:1" in answer.text) is (status == 200), name
                if status != 200:
                    challenge = answer.headers["www-authenticate"]
                    assert challenge.endswith(f'scope="read", {metadata}'), name
                    assert (f'error="{errors[status]}"' in challenge) is bool(token), name
                assert not token or token not in caplog.text, name
                if status == 401 and token.count(".") == 2:
                    assert "A token was refused: " in caplog.text, name
        assert issuer.paths.count("/keys") == 1


async def test_a_token_of_one_graph_reads_no_other(issuer, settings):
    async with serving(settings) as web:
        places = {"/mcp/films", "/mcp/lab", "/mcp", "/graphs", "/graphs/films/schema"}
        places |= {
            "/graphs/lab/schema",
            "/graphs/lab/entities/lab:1",
            "/mcp/%6cab",
            "/graphs/lab/docs",
        }
        for audience in ("/mcp/films", "/graphs/films", "/mcp/lab", "/graphs/lab", ""):
            token = issuer.token(aud=PUBLIC + audience)
            own = {path for path in places if audience and path.startswith(audience)}
            own |= {"/mcp/%6cab"} if audience == "/mcp/lab" else set()
            own = own or {"/mcp", "/graphs"}
            answers = {path: await ask(web, token, path) for path in sorted(places)}
            assert {path for path, answer in answers.items() if answer.status_code != 401} == own
            if audience.endswith("films"):
                assert not [path for path, answer in answers.items() if "lab" in answer.text]


async def test_a_session_is_its_owners(issuer, settings):
    async with serving(settings) as web:
        headers = {"Accept": "application/json, text/event-stream"}
        own = headers | {"Authorization": f"Bearer {issuer.token()}"}
        begun = await web.post("/mcp/films", headers=own, json=INITIALIZE)
        session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
        statuses, listing = [], message(1, "tools/list")
        for token in (issuer.token(), issuer.token(sub="eve"), issuer.token(aud=LAB), "bfsql_file"):
            headers |= {"Authorization": f"Bearer {token}", **session}
            statuses.append(
                (await web.post("/mcp/films", headers=headers, json=listing)).status_code
            )
            answer = await web.post("/mcp/lab", headers=headers, json=listing)
            assert answer.status_code in (401, 404)
        assert statuses == [200, 404, 401, 404]


async def test_metadata_is_public_by_path(issuer, settings):
    async with serving(settings) as web:
        at = "/.well-known/oauth-protected-resource"
        for path in ("/mcp/films", "/mcp/lab", "/graphs/films", ""):
            answer = await web.get(at + path)
            assert answer.headers["access-control-allow-origin"] == "*"
            assert answer.json() == {
                "resource": PUBLIC + path,
                "authorization_servers": [issuer.url],
                "scopes_supported": ["read"],
                "bearer_methods_supported": ["header"],
                "bfsql_page_client": "page",
            }
        of_page = await web.get(f"/graphs/films{at}")
        assert of_page.json()["resource"] == WEB
        for path, host, status in (("/mcp/none", "", 401), ("/mcp/films", "evil.example", 421)):
            answer = await web.get(at + path, headers={"Host": host} if host else {})
            assert answer.status_code == status


async def test_one_audience_may_be_set_for_all_graphs(issuer, settings):
    async with serving(settings.model_copy(update={"oauth_audience": "api://bfsql"})) as web:
        for path in ("/mcp/films", "/mcp/lab", "/graphs/lab/schema"):
            assert (await ask(web, issuer.token(aud="api://bfsql"), path)).status_code == 200
            assert (await ask(web, issuer.token(aud=PUBLIC + path), path)).status_code == 401


# --- the issuer -------------------------------------------------------------------


def a_minute_later(verifier: Any) -> None:
    for issuer in verifier._issuers.values():
        issuer._may_read._last -= 61


async def test_new_keys_are_read_once_a_minute_however_many_tokens_name_one(issuer, settings):
    verifier = verifier_of(settings)
    assert (await verifier.verify_token(issuer.token())).claims["sub"] == "ann"
    issuer.names = ["b"]
    flood = [issuer.token("b", headers={"kid": f"k{n}"}) for n in range(1_000)]
    found = await asyncio.gather(*map(verifier.verify_token, flood))
    assert not any(found)
    assert issuer.paths.count("/keys") == 1
    assert await verifier.verify_token(issuer.token("b")) is None
    a_minute_later(verifier)
    found = await asyncio.gather(*map(verifier.verify_token, flood))
    assert not any(found)
    assert issuer.paths.count("/keys") == 2
    assert await verifier.verify_token(issuer.token("b"))
    assert await verifier.verify_token(issuer.token("a")) is None  # which was rotated out


async def test_a_hanging_issuer_delays_unknown_keys_alone(issuer, settings, monkeypatch, caplog):
    monkeypatch.setattr(oauth, "ISSUER_SECONDS", 0.3)
    verifier = verifier_of(settings)
    assert await verifier.verify_token(issuer.token())
    issuer.hangs = True
    a_minute_later(verifier)
    unknown = asyncio.ensure_future(verifier.verify_token(issuer.token("b")))
    while issuer.paths.count("/keys") < 2:
        assert await verifier.verify_token(issuer.token())
        await asyncio.sleep(0.01)
    assert await verifier.verify_token(issuer.token())
    assert not unknown.done()
    assert await unknown is None
    assert f"The keys of {issuer.url} cannot be read. TimeoutError" in caplog.text
    [one] = verifier._issuers.values()
    one._read_at -= oauth.KEY_SECONDS + 1
    assert await verifier.verify_token(issuer.token()) is None  # of keys that are too old


@case_table(
    ("metadata", "says"),
    {
        "another issuer": ({"issuer": "https://evil.example"}, "names another issuer"),
        "no issuer": ({"issuer": None}, "names another issuer"),
        "keys over http elsewhere": ({"jwks_uri": "http://192.0.2.1/keys"}, "is not an https URL"),
        "keys in a file": ({"jwks_uri": "file:///etc/passwd"}, "ValueError"),
        "no keys": ({"jwks_uri": 5}, "AttributeError"),
        "too much": ({"x": "y" * 600_000}, "ReplyTooLarge"),
    },
)
async def test_an_issuer_whose_metadata_is_wrong_opens_nothing(metadata, says, caplog):
    issuer = Issuer()
    with answering(issuer.respond) as issuer.url:
        issuer.metadata = metadata
        told = ServeSettings(
            public_url=PUBLIC, oauth_issuer=(issuer.url,), oauth_allow_private=True
        )
        caplog.clear()
        assert await verifier_of(told).verify_token(issuer.token()) is None
        assert says in caplog.text


async def test_private_addresses_are_not_asked_unless_allowed(caplog):
    told = ServeSettings(public_url=PUBLIC, oauth_issuer=("https://127.0.0.1:9",))
    issuer = Issuer()
    issuer.url = "https://127.0.0.1:9"
    assert await verifier_of(told).verify_token(issuer.token()) is None
    assert "PrivateAddress" in caplog.text


@case_table(
    ("changes", "says"),
    [
        ({"public_url": None}, "oauth_issuer needs public_url"),
        ({"oauth_issuer": ("http://127.0.0.1:9",)}, "is not an https URL"),
        ({"oauth_issuer": ("issuer.example",)}, "is not an https URL"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_at_the_start(changes, says):
    told = {"public_url": PUBLIC, "oauth_issuer": ("https://issuer.example",)} | changes
    with pytest.raises(ConfigurationError, match=says):
        OAuthTokens(ServeSettings(**told), None)


async def test_other_tokens_are_introspected_and_remembered_for_a_while(issuer, settings):
    verifier = verifier_of(settings)
    aud, until = f"{PUBLIC}/mcp/films", time.time() + 300
    issuer.active["opaque"] = {"active": True, "sub": "ann", "aud": aud, "exp": until}
    issuer.active["foreign"] = {"active": True, "sub": "ann", "iss": "https://evil.example"}
    issuer.active["odd"] = {"active": "yes", "sub": "ann"}
    issuer.active["nobody"] = {"active": True}
    for _ in range(3):
        assert (await verifier.verify_token("opaque")).claims["aud"] == aud
        for wrong in ("foreign", "odd", "nobody", "unknown", "bfsql_old"):
            assert await verifier.verify_token(wrong) is None
    assert issuer.paths.count("/introspect") == 5
    del issuer.active["opaque"]
    [one] = verifier._issuers.values()
    one._introspected = {key: (0.0, claims) for key, (_, claims) in one._introspected.items()}
    assert await verifier.verify_token("opaque") is None
    for number in range(oauth.MAX_KEPT + 10):
        one._introspected[b"%d" % number] = (until, {})
    await verifier.verify_token("another")
    assert len(one._introspected) <= oauth.MAX_KEPT + 16
