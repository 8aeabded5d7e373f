"""Secrets inside settings appear neither in the output of `bfsql config` nor in any error.

No request reaches a server: port 1 of this machine is closed.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from bfsql.cli.command import bfsql

SECRET = "s3same"
HOST = "127.0.0.1:1"


def urls(scheme: str) -> Iterator[str]:
    """URLs with the secret where operators put one, and where they should not."""
    for password in ("{}", "a/{}", "a@{}", "{}#b", "#{}", "?{}", "a {}", "%73{}", 'a"{}'):
        yield f"{scheme}://u:{password.format(SECRET)}@{HOST}"
    yield f"{scheme}://:{SECRET}@{HOST}"
    yield f"{scheme}://u:{SECRET}@127.0.0.1:x"
    yield f"{scheme}://u:{SECRET}@[::1"
    yield f"{scheme}://u:{SECRET}@"
    yield f"{scheme}//u:{SECRET}@{HOST}"
    yield f"u:{SECRET}@{HOST}"
    for query in ("apikey={}", "password={}", "a=1&access_token={}", "key={}&b=2"):
        yield f"{scheme}://{HOST}/?{query.format(SECRET)}"
    if scheme.startswith("http"):
        yield f"{scheme}://{SECRET}@{HOST}"


DSNS = [
    *urls("postgresql"),
    f"host=127.0.0.1 port=1 password={SECRET}",
    f"host=127.0.0.1 port=x password='a {SECRET}'",
    f"password = {SECRET} port=1 host=127.0.0.1",
    f"postgresql://{HOST}/x?sslmode={SECRET}",
    SECRET,
]

FEW = [
    f"https://u:{SECRET}@{HOST}",
    f"https://u:{SECRET}#b@{HOST}",
    f"u:{SECRET}@{HOST}",
    f"https://{HOST}/?apikey={SECRET}",
]

HTTP, BOLT = f"http://{HOST}/", f"bolt://{HOST}"

TRIALS: list[tuple[str, dict[str, str]]] = [
    *(("neo4j", {"uri": url}) for url in urls("bolt")),
    *(("sparql", {"endpoint": url}) for url in urls("http")),
    *(("sparql", {"endpoint": HTTP, "update_endpoint": url}) for url in FEW),
    *(("jsonld", {"base_url": url}) for url in urls("http")),
    *(("jsonld", {"base_url": HTTP, "oauth_url": url}) for url in FEW),
    *(("neo4j", {"uri": BOLT, "embedding": url}) for url in FEW),
    *(("postgres", {"dsn": dsn}) for dsn in DSNS),
    ("sparql", {"endpoint": HTTP, "parameter": f"apikey={SECRET}"}),
    ("sparql", {"endpoint": HTTP, "parameter": json.dumps({"apikey": SECRET})}),
    ("sparql", {"endpoint": HTTP, "parameter": json.dumps({"apikey": SECRET})[:-1]}),
    ("sparql", {"endpoint": HTTP, "key": f"a\n{SECRET}"}),
    ("sparql", {"endpoint": HTTP, "redirect_hosts": f"https://u:{SECRET}@{HOST}"}),
    ("sparql", {"preset": "own", "preset_file": f"http://u:{SECRET}@{HOST}/x.toml"}),
    ("jsonld", {"base_url": HTTP, "headers": f"Authorization=Bearer {SECRET}"}),
    ("jsonld", {"base_url": HTTP, "headers": f"X-API-Key={SECRET}"}),
    ("jsonld", {"base_url": HTTP, "token": f"a\n{SECRET}"}),
    ("jsonld", {"base_url": HTTP, "ca_file": f"https://u:{SECRET}@{HOST}/"}),
    ("neo4j", {"uri": BOLT, "username": "u", "password": SECRET}),
    ("neo4j", {"uri": BOLT, "pool_size": f"bolt://u:{SECRET}@{HOST}"}),
    ("sqlite", {"path": f"https://u:{SECRET}@{HOST}/x.db"}),
    ("sqlite", {"path": f"x.db?key={SECRET}"}),
]

SECRET_SETTINGS = ("dsn", "key", "token", "password")
LISTS = ("data", "redirect_hosts")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Work in an empty folder, with proxies on a closed port, so that no request leaves."""
    monkeypatch.chdir(tmp_path)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://u:{SECRET}@{HOST}")
    monkeypatch.setenv("NO_PROXY", "localhost")


def arguments(backend: str, settings: dict[str, str]) -> list[str]:
    given = ["--backend", backend]
    for name, value in settings.items():
        option = f"--{name.replace('_', '-')}"
        if name in SECRET_SETTINGS:
            Path(name).write_text(value, encoding="utf-8")
            given += [f"{option}-file", name]
        else:
            given += [option, value]
    return given


def table(backend: str, settings: dict[str, str]) -> list[str]:
    lines = ["[backend]", f'name = "{backend}"']
    for name, value in settings.items():
        text = json.dumps(value)
        if name in ("headers", "parameter") and "=" in value:
            text = " = ".join(map(json.dumps, value.split("=", 1)))
            text = f"{{{text}}}"
        lines.append(f"{name} = {f'[{text}]' if name in LISTS else text}")
    Path("own.toml").write_text("\n".join(lines), encoding="utf-8")
    return ["--config", "own.toml"]


def variables(backend: str, settings: dict[str, str]) -> dict[str, str]:
    return {f"BFSQL_{backend}_{name}".upper(): value for name, value in settings.items()}


@pytest.mark.parametrize("backend", ["neo4j", "sparql", "jsonld", "postgres", "sqlite"])
def test_a_secret_is_shown_nowhere(backend: str) -> None:
    """Attack 7: passwords inside URLs, in `bfsql config` and in errors."""
    for settings in (tried for name, tried in TRIALS if name == backend):
        for command in ("config", "describe-schema"):
            assert_hidden([command, *arguments(backend, settings)], {})


def test_nor_where_the_file_or_the_environment_has_it() -> None:
    for backend, settings in TRIALS[::8]:
        assert_hidden(["config", *table(backend, settings)], {})
        assert_hidden(["config", "--backend", backend], variables(backend, settings))


def assert_hidden(command: list[str], environment: dict[str, str]) -> None:
    ran = CliRunner().invoke(bfsql, command, env=environment)
    assert SECRET not in f"{ran.output}{ran.exception!r}", command
    assert ran.exception is None or isinstance(ran.exception, SystemExit), ran.exception
