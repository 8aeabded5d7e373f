"""Server names and bearer tokens: what the guards let through."""

import hashlib
import logging
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic import SecretStr

from bfsql.cli.command import bfsql
from bfsql.errors import ConfigurationError
from bfsql.serving.access import AllowedNames, allowed_names, verifier_of
from bfsql.serving.address import check_exposure
from bfsql.serving.tokens import KnownTokens, last_uses, new_token, read_tokens, token_line
from bfsql.settings import ServeSettings


def names(**settings: Any) -> AllowedNames:
    known = allowed_names(ServeSettings(**settings))
    assert known is not None
    return known


@pytest.mark.parametrize(
    ("allowed", "host", "answered"),
    [
        ([], "127.0.0.1", True),
        ([], "127.0.0.1:8000", True),
        ([], "LocalHost:8000", True),
        ([], "[::1]:8000", True),
        ([], "[0:0:0:0:0:0:0:1]", True),
        ([], "127.0.0.1:80.evil.example", False),
        ([], "127.0.0.1.evil.example", False),
        ([], "127.0.0.1@evil.example", False),
        ([], "evil.example@127.0.0.1", False),
        ([], "127.0.0.1:80@evil.example", False),
        ([], "localhost.", False),
        ([], "::1", False),
        ([], "[::1", False),
        ([], "[::1].evil.example", False),
        ([], "127.0.0.1:", False),
        ([], "127.0.0.1:x", False),
        ([], "127.0.0.1, evil.example", False),
        ([], "127.0.0.1/evil.example", False),
        ([], "127.0.0.1\\evil.example", False),
        ([], " 127.0.0.1", False),
        ([], "", False),
        ([], None, False),
        ([], "graph.example.org", False),
        (["graph.example.org"], "graph.example.org:8443", True),
        (["Graph.Example.org"], "graph.example.ORG", True),
        (["graph.example.org:8443"], "graph.example.org:8443", True),
        (["graph.example.org:8443"], "graph.example.org:9000", False),
        (["graph.example.org:8443"], "graph.example.org", False),
        (["graph.example.org:443"], "graph.example.org", True),
        (["graph.example.org:*"], "graph.example.org:9000", True),
        (["::2"], "[::2]:9000", True),
        (["[::2]:80"], "[::2]", True),
    ],
)
def test_a_host_is_compared_as_a_whole(allowed, host, answered):
    assert names(allowed_hosts=allowed).allows_host(host) is answered


@pytest.mark.parametrize(
    ("origin", "host", "answered"),
    [
        (None, "127.0.0.1:8000", True),
        ("http://127.0.0.1:8000", "127.0.0.1:8000", True),
        ("https://127.0.0.1:8000", "127.0.0.1:8000", True),
        ("HTTP://LOCALHOST:8000", "localhost:8000", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://localhost", "localhost:80", True),
        ("https://localhost", "localhost:443", True),
        ("http://127.0.0.1:3000", "127.0.0.1:8000", False),
        ("http://127.0.0.1:80.evil.example", "127.0.0.1:80", False),
        ("http://127.0.0.1:8000.evil.example", "127.0.0.1:8000", False),
        ("http://127.0.0.1:8000@evil.example", "127.0.0.1:8000", False),
        ("http://127.0.0.1:8000/", "127.0.0.1:8000", False),
        ("http://127.0.0.1.:8000", "127.0.0.1:8000", False),
        ("file://127.0.0.1:8000", "127.0.0.1:8000", False),
        ("127.0.0.1:8000", "127.0.0.1:8000", False),
        ("null", "127.0.0.1:8000", False),
        ("", "127.0.0.1:8000", False),
        ("https://graph.example.org", "127.0.0.1:8000", True),
        ("https://graph.example.org:443", "127.0.0.1:8000", True),
        ("https://graph.example.org:8443", "127.0.0.1:8000", False),
        ("https://other.example.org:8443", "127.0.0.1:8000", True),
        ("https://other.example.org", "127.0.0.1:8000", False),
        ("https://app.example.org", "127.0.0.1:8000", True),
        ("http://app.example.org", "127.0.0.1:8000", False),
    ],
)
def test_an_origin_is_compared_by_scheme_host_and_port(origin, host, answered):
    known = names(
        allowed_hosts=["graph.example.org", "other.example.org:8443"],
        cors_origins=["https://APP.example.org:443"],
    )
    assert known.allows_origin(origin, host) is answered


def test_any_name_is_allowed_where_the_operator_says_so():
    assert allowed_names(ServeSettings(allowed_hosts=("*",))) is None


@pytest.mark.parametrize("wrong", ["https://graph.example.org", "a/b", "a@b", "a:b", ""])
def test_a_name_that_no_client_sends_is_refused(wrong):
    with pytest.raises(ConfigurationError, match=r"allowed_hosts has .* write graph\.example\.org"):
        names(allowed_hosts=[wrong])


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "graph.example.org", ""])
def test_other_machines_are_served_only_with_a_token(host, tmp_path, capsys):
    named: dict[str, Any] = {"host": host, "allowed_hosts": ("graph.example.org",)}
    with pytest.raises(ConfigurationError, match=r"no token is set.*`bfsql token NAME`"):
        check_exposure(ServeSettings(**named))
    with pytest.raises(ConfigurationError, match="allowed_hosts is empty"):
        check_exposure(ServeSettings(host=host, bearer_token=SecretStr("x")))
    check_exposure(ServeSettings(**named, bearer_token=SecretStr("x")))
    check_exposure(ServeSettings(**named, bearer_tokens=tmp_path / "tokens"))
    assert capsys.readouterr().err == ""
    check_exposure(ServeSettings(**named, insecure=True))
    assert "anyone who reaches it can read the whole graph" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["alice one\nbob two\n", "one\ntwo", "one two", "one\ttwo"])
def test_several_tokens_in_place_of_one_are_refused(value):
    with pytest.raises(ValueError, match="set bearer_tokens to a file"):
        ServeSettings(bearer_token=SecretStr(value))


# --- the file of tokens -----------------------------------------------------------


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, str]:
    """One token each for two names, listed in the file `tokens`."""
    made = {name: new_token() for name in ("alice", "bob")}
    lines = [token_line(name, token) for name, token in made.items()]
    text = f"# who asks\n\n{lines[0]}\n  {lines[1].replace(' ', chr(9))}  \n"
    (tmp_path / "tokens").write_text(text, encoding="utf-8")
    return made


async def subject(verifier: Any, token: str) -> str | None:
    known = await verifier.verify_token(token)
    return None if known is None else known.client_id


async def test_each_token_has_its_name(tokens, tmp_path):
    verifier = KnownTokens(tmp_path / "tokens")
    for name, token in tokens.items():
        assert await subject(verifier, token) == name
        assert await subject(verifier, token[:-1]) is None
    digest = hashlib.sha256(tokens["bob"].encode()).hexdigest()
    for wrong in ("", "bob", digest, f"sha256:{digest}", "x" * 1_000_000, "\udcff"):
        assert await subject(verifier, wrong) is None


async def test_a_shared_token_and_a_file_are_both_good(tokens, tmp_path):
    both = ServeSettings(bearer_token=SecretStr("sésame"), bearer_tokens=tmp_path / "tokens")
    verifier = verifier_of(both)
    assert await subject(verifier, tokens["alice"]) == "alice"
    assert await subject(verifier, "sésame") == ""
    assert await subject(verifier, "sesame") is None
    assert verifier_of(ServeSettings()) is None


async def test_the_file_is_read_again_when_it_changes(tokens, tmp_path):
    path = tmp_path / "tokens"
    verifier = KnownTokens(path)
    new = new_token()
    (tmp_path / "new").write_text(token_line("carol", new), encoding="utf-8")
    (tmp_path / "new").replace(path)
    assert await subject(verifier, new) == "carol"
    assert await subject(verifier, tokens["alice"]) is None
    path.write_text("# nobody\n", encoding="utf-8")
    assert await subject(verifier, new) is None


async def test_a_broken_file_leaves_the_tokens_in_force_and_says_so_once(tokens, tmp_path, caplog):
    path, kept = tmp_path / "tokens", tmp_path / "kept"
    verifier = KnownTokens(path)
    content = path.read_text(encoding="utf-8")
    with caplog.at_level(logging.WARNING, "bfsql"):
        for broken in ("alice open-sesame\n", None):
            if broken is None:
                path.replace(kept)
            else:
                path.write_text(broken, encoding="utf-8")
            caplog.clear()
            for _ in range(3):
                assert await subject(verifier, tokens["alice"]) == "alice"
            [record] = caplog.records
            assert "read before stay valid" in record.getMessage()
            assert "sesame" not in record.getMessage()
    path.write_text(content.replace("bob", "robert"), encoding="utf-8")
    assert await subject(verifier, tokens["bob"]) == "robert"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "contains no token"),
        ("# alice\n", "contains no token"),
        ("alice\n", "line 1: this has to be a name"),
        ("\nalice open-sesame\n", "line 2: this has to be a name"),
        ("alice sha256:12ab\n", "line 1: this has to be a name"),
        (f"{'a' * 65} sha256:{'0' * 64}\n", "line 1: this has to be a name"),
        (f"a\u200bb sha256:{'0' * 64}\n", "line 1: this has to be a name"),
        (f"alice sha256:{'0' * 64} bob\n", "line 1: this has to be a name"),
        (f"alice sha256:{'0' * 64} expires=soon\n", "line 1: .* may have expires=DATE"),
        (
            f"alice sha256:{'0' * 64}\nbob sha256:{'0' * 64}\n",
            "line 2: 'bob' has the same token as",
        ),
    ],
)
def test_a_wrong_file_is_refused_at_the_start_by_line(content, says, tmp_path):
    path = tmp_path / "tokens"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=says) as refused:
        KnownTokens(path)
    assert "sesame" not in str(refused.value)


def test_a_name_may_have_several_tokens(tmp_path):
    path = tmp_path / "tokens"
    path.write_text("".join(f"alice sha256:{n:064x}\n" for n in range(10_000)), encoding="utf-8")
    assert len(read_tokens(path)) == 10_000
    assert {owner.client_id for owner in read_tokens(path).values()} == {"alice"}


@pytest.mark.parametrize("name", ["", "two words", "#x", "a" * 65, "a\nb"])
def test_a_name_that_no_line_can_have_is_refused(name):
    with pytest.raises(ConfigurationError, match="cannot be used"):
        token_line(name, "x")


async def test_a_token_is_refused_when_it_has_expired_and_its_use_is_noted(tmp_path, monkeypatch):
    clock = SimpleNamespace(
        now=lambda zone: datetime(2026, 7, 1, tzinfo=zone), fromisoformat=datetime.fromisoformat
    )
    monkeypatch.setattr("bfsql.serving.tokens.datetime", clock)
    path = tmp_path / "tokens.txt"
    ends = {"over": "2020-01-31", "zone": "2020-01-31T00:00:00+01:00", "later": "9000-01-31"}
    made = {name: new_token() for name in (*ends, "always")}
    lines = [token_line(name, token) for name, token in made.items()]
    lines = [f"{line} expires={ends.get(line.split()[0])}" for line in lines[:-1]] + lines[-1:]
    path.write_text("\n".join(lines), encoding="utf-8")
    verifier = KnownTokens(path)
    good = [name for name, token in made.items() if await subject(verifier, token)]
    assert good == ["later", "always"]
    assert last_uses(path) == dict.fromkeys(good, "2026-07-01")
    listed = CliRunner().invoke(bfsql, ["token", "list", str(path)]).output.splitlines()
    assert [line.split("\t")[1][:19] for line in listed][:2] == ["expired: 2020-01-31"] * 2
    assert listed[3] == "always\texpires: never\tlast used: 2026-07-01"
    made_line = CliRunner().invoke(bfsql, ["token", "eve", "--expires", "2027-01-31"]).stdout
    path.write_text(made_line, encoding="utf-8")
    [owner] = read_tokens(path).values()
    assert str(owner.expires) == "2027-01-31 00:00:00"
    for arguments in (["make", str(path)], ["eve", "--expires", "soon"]):
        assert CliRunner().invoke(bfsql, ["token", *arguments]).exit_code == 2
