"""Unauthorized HTTP clients: other hosts and origins, no token, wrong tokens, bad files."""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bfsql.cli.command import bfsql
from bfsql.errors import ConfigurationError
from bfsql.serving.tokens import KnownTokens, new_token, token_line
from bfsql.settings import UnreadableFile, read_text
from bfsql_test_support.raw_mcp import INITIALIZE
from bfsql_test_support.servers.serve_process import Served, serving

ALICE, BOB = new_token(), new_token()


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokens") / "tokens.txt"
    lines = [token_line("alice", ALICE), token_line("bob", BOB)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=["mcp", "rest"])
def open_server(request: pytest.FixtureRequest, films_db: Path) -> Iterator[str]:
    """The address of an endpoint, on a server without tokens."""
    rest = request.param == "rest"
    with serving("--path", str(films_db), *(["--rest"] if rest else [])) as server:
        yield server.url + ("/schema" if rest else "/mcp")


@pytest.fixture(scope="module")
def guarded(films_db: Path, tokens: Path) -> Iterator[Served]:
    """An MCP server that requires tokens and logs every call."""
    options = ("--bearer-tokens", str(tokens), "--log-level", "info")
    with serving("--path", str(films_db), *options) as server:
        yield server


def bearer(token: str) -> dict[str, str]:
    accepted = "application/json, text/event-stream"
    return {"Authorization": f"Bearer {token}", "Accept": accepted}


def refusal(*options: str) -> str:
    """The error with which `bfsql serve` refuses to start."""
    command = ["serve", "--transport", "http", "--port", "0", *options]
    ended = CliRunner().invoke(bfsql, command)
    assert ended.exit_code == 2, ended.stderr
    return ended.stderr


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example", 421),
        ("Host", "127.0.0.1:{port}.evil.example", 421),
        ("Host", "127.0.0.1:{port}@evil.example", 421),
        ("Host", "127.0.0.1.:{port}", 421),
        ("Origin", "http://127.0.0.1:80.evil.example", 403),
        ("Origin", "http://127.0.0.1:{port}.evil.example", 403),
        ("Origin", "http://127.0.0.1:1", 403),
        ("Origin", "null", 403),
    ],
)
def test_a_stranger_gets_in_by_no_name_or_origin_of_another(
    open_server: str, header: str, value: str, status: int
) -> None:
    """Attack 9: Host and Origin are compared as a whole, and before a redirect."""
    headers = {header: value.format(port=httpx2.URL(open_server).port)}
    for path in ("", "/", "/x"):
        answer = httpx2.get(f"{open_server}{path}", headers=headers)
        assert answer.status_code == status, (path, answer.text)
        assert "location" not in answer.headers


def test_pages_of_the_server_itself_may_ask_it(open_server: str) -> None:
    port = httpx2.URL(open_server).port
    own = httpx2.get(open_server, headers={"Origin": f"http://127.0.0.1:{port}"})
    assert own.status_code not in (403, 421)


def test_a_page_of_another_site_causes_no_work_without_its_origin(open_server: str) -> None:
    """A browser sends no `Origin` with the address of an image, a frame or a link."""
    embedded = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    link = {**embedded, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    for headers in (embedded, link, {**link, "Sec-Fetch-Dest": "iframe"}):
        answer = httpx2.get(open_server, headers=headers)
        assert (answer.status_code, "of other sites" in answer.text) == (403, True)
    for site in ("same-origin", "same-site", "none"):
        headers = {**embedded, "Sec-Fetch-Site": site}
        assert httpx2.get(open_server, headers=headers).status_code != 403


def test_browsers_guess_no_type_and_give_no_answer_to_other_sites(open_server: str) -> None:
    for headers in ({}, {"Host": "evil.example"}):
        answer = httpx2.get(open_server, headers=headers)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_are_served_without_a_token_only_aloud(host: str, films_db: Path) -> None:
    """Attack 9: `--host 0.0.0.0 --allowed-hosts x` without authentication."""
    options = ("--path", str(films_db), "--host", host, "--allowed-hosts", "graph.example.org")
    assert "no token is set, so anyone who reaches it" in refusal(*options)
    if host == "0.0.0.0":
        with serving(*options, "--insecure") as server:
            assert any("anyone who reaches it can read" in line for line in server.log)


def test_a_file_of_two_tokens_is_no_token(films_db: Path, tmp_path: Path) -> None:
    (tmp_path / "two").write_text(f"alice {ALICE}\nbob {BOB}\n", encoding="utf-8")
    said = refusal("--path", str(films_db), "--bearer-token-file", str(tmp_path / "two"))
    assert "set bearer_tokens to a file" in said
    assert ALICE not in said
    said = refusal("--path", str(films_db), "--bearer-tokens", str(tmp_path / "two"))
    assert "line 1: this has to be a name" in said
    assert ALICE not in said


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_the_name_of_a_token_stands_in_the_log(guarded: Served, era: str) -> None:
    before = len(guarded.log)
    async with (
        httpx2.AsyncClient(headers=bearer(BOB), timeout=30) as http,
        Client(streamable_http_client(f"{guarded.url}/mcp", http_client=http), mode=era) as client,
    ):
        assert not (await client.call_tool("describe_schema", {})).is_error
    assert any("subject=bob" in line for line in guarded.log[before:])
    assert BOB not in "".join(guarded.log)


def test_a_session_answers_its_own_caller_alone(guarded: Served) -> None:
    begun = httpx2.post(f"{guarded.url}/mcp", json=INITIALIZE, headers=bearer(ALICE))
    assert begun.status_code == 200
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    for token, status in ((BOB, 404), (ALICE, 200)):
        headers = bearer(token) | session
        answer = httpx2.post(f"{guarded.url}/mcp", json=listing, headers=headers)
        assert answer.status_code == status


@pytest.mark.parametrize(("level", "lines"), [("info", 210), ("warning", 20)])
def test_large_and_many_wrong_tokens_cost_little(
    films_db: Path, tokens: Path, level: str, lines: int
) -> None:
    options = ("--path", str(films_db), "--bearer-tokens", str(tokens), "--log-level", level)
    with serving(*options) as server:
        assert_wrong_tokens_are_refused(server, 200)
    assert len(server.log) < lines, "they do not flood the log"
    assert max(map(len, server.log), default=0) < 1_000


def assert_wrong_tokens_are_refused(server: Served, count: int) -> None:
    """Send many tokens on one connection, a large one, and then a right one."""
    url = f"{server.url}/mcp"
    with httpx2.Client(timeout=30) as http:
        for number in range(count):
            assert http.post(url, json={}, headers=bearer(f"wrong{number}")).status_code == 401
        try:
            answer = http.post(url, json={}, headers=bearer("x" * 1_000_000))
        except httpx2.TransportError:  # the server closes the connection while it is being sent
            pass
        else:
            assert answer.status_code in (400, 401, 431)
        assert http.post(url, json=INITIALIZE, headers=bearer(ALICE)).status_code == 200


async def test_ten_thousand_wrong_tokens_are_not_remembered(tokens: Path) -> None:
    verifier = KnownTokens(tokens)
    held = len(verifier.__dict__), len(verifier._tokens)
    for number in range(10_000):
        assert await verifier.verify_token(f"wrong{number}") is None
    assert (len(verifier.__dict__), len(verifier._tokens)) == held


# --- unreadable files ---------------------------------------------------------------


@pytest.fixture
def odd(tmp_path: Path) -> dict[str, tuple[str, str]]:
    """Paths from which no setting can be read, and the error for each."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "latin").write_bytes(b"name = '\xe9'")
    with (tmp_path / "large").open("wb") as large:
        large.truncate(1_000_000_000)
    return {
        "zero": ("/dev/zero", "it is a device"),
        "fifo": (str(tmp_path / "fifo"), "it is a pipe that nothing writes to"),
        "folder": (str(tmp_path), "Is a directory"),
        "large": (str(tmp_path / "large"), "it is larger than"),
        "latin": (str(tmp_path / "latin"), "it is not UTF-8 text"),
    }


@pytest.mark.parametrize("option", ["--config", "--bearer-token-file"])
def test_a_file_that_is_none_is_one_sentence(option: str, odd: dict[str, tuple[str, str]]) -> None:
    for path, says in odd.values():
        ran = CliRunner().invoke(bfsql, ["config", option, path])
        assert (ran.exit_code, says in ran.output) == (2, True), ran.output


def test_a_file_of_tokens_that_is_none_is_one_sentence(odd: dict[str, tuple[str, str]]) -> None:
    for path, says in odd.values():
        if path.endswith("large"):
            continue  # a file of tokens may be larger than other files, up to another limit
        with pytest.raises(ConfigurationError, match=says):
            KnownTokens(Path(path))


def test_a_pipe_that_is_written_into_is_read(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"open-sesame\n")
    with pytest.raises(UnreadableFile, match="not closed within"):
        read_text(Path(f"/dev/fd/{reading}"))
    os.write(writing, b"open-sesame\n")
    os.close(writing)
    assert read_text(Path(f"/dev/fd/{reading}")) == "open-sesame\n"
    os.close(reading)
