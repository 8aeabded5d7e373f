"""`bfsql serve --rest` as a process: its address, how it ends, and what it refuses."""

import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from bfsql.cli import bfsql

pytestmark = pytest.mark.slow

NODES = [{"id": "film:1", "entity_type": "Film", "name": "Sleepless in Seattle"}]


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A graph file of one film."""
    lines = "\n".join(map(json.dumps, NODES))
    (tmp_path / "nodes.jsonl").write_text(lines, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    loaded = CliRunner().invoke(bfsql, ["load", "nodes.jsonl"])
    assert loaded.exit_code == 0, loaded.output
    return tmp_path


@contextmanager
def serving(folder, program, *options):
    command = [program, "serve", "--rest", "--port", "0", *options]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr
            said = (re.search(r"answers at (http://\S+)", line) for line in process.stderr)
            yield process, next(found[1] for found in said if found)
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_until_it_is_told_to_stop(graph, programs, number):
    with serving(graph, programs / "bfsql") as (process, address):
        answer = httpx2.get(f"{address}/entities/film:1")
        assert answer.json()["name"] == "Sleepless in Seattle"
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "")
    assert "Traceback" not in err


def test_its_token_comes_from_a_file(graph, programs):
    (graph / "token").write_text("open-sesame\n", encoding="utf-8")
    with serving(graph, programs / "bfsql", "--bearer-token-file", "token") as (_, address):
        assert httpx2.get(f"{address}/schema").status_code == 401
        token = {"Authorization": "Bearer open-sesame"}
        assert httpx2.get(f"{address}/schema", headers=token).status_code == 200


def test_options_of_http_that_have_no_effect_over_stdio_are_named(graph):
    ended = CliRunner().invoke(bfsql, ["serve", "--port", "8123"])
    assert ended.exit_code == 0
    assert "Option --port has no effect over stdio. Add --transport http." in ended.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--rest", "--transport", "stdio"], "set to stdio by option --transport"),
        (["--rest", "--stateless"], "Option --stateless is for MCP only"),
        (["--rest", "--instructions", "Be kind."], "leave out --rest"),
        (["--cors-origins", "*"], "Option --cors-origins is for the web API only"),
        (["--max-age", "5"], "add --rest"),
        (["--rest", "--host", "0.0.0.0"], "allowed_hosts is empty"),
        (["--rest", "--max-age", "-1"], "at least 0"),
        (["--rest", "--cors-origins", "app.example.org"], "https://app.example.org"),
        (["--rest", "--trusted-proxies", "proxy.example.org"], "write 127.0.0.1 or 10.0.0.0/8"),
    ],
)
def test_options_that_do_not_go_together_are_refused(graph, options, says):
    ended = CliRunner().invoke(bfsql, ["serve", *options])
    assert ended.exit_code == 2
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_file_for_several_servers_may_name_the_transport_of_the_other(
    graph, programs, monkeypatch
):
    monkeypatch.setenv("BFSQL_CONFIG", "bfsql.toml")
    (graph / "bfsql.toml").write_text('transport = "http"\nstateless = true\n', encoding="utf-8")
    with serving(graph, programs / "bfsql") as (_, address):
        assert httpx2.get(f"{address}/schema").status_code == 200
    (graph / "bfsql.toml").write_text('transport = "stdio"\n', encoding="utf-8")
    refused = CliRunner().invoke(bfsql, ["serve", "--rest"])
    assert "transport in bfsql.toml" in refused.stderr
