"""The forms in which the page shows a call can be run, and return the page's answer."""

import asyncio
import contextlib
import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from playwright.async_api import Page

import bfsql
from bfsql.cli.command import bfsql as bfsql_command
from bfsql_test_support.browser.chromium import Visit
from bfsql_test_support.commands import output
from bfsql_test_support.servers.serve_process import Served, exploring

pytestmark = pytest.mark.asyncio(loop_scope="session")

IDS = [
    *("-x", "--config=y", "it's", "a b", "$HOME `id` $(id)", "!!", "*", "~", "=1", "#c", "a\\b"),
    *("two\nlines", "tab\there", "\u202egnp.exe", "\x1b[31mred\x07", "\U000e0041tag", "émoji 😀"),
    *('"quoted"', "%20", "{a,b}", "a;b&c|d<e>f", "a\u2028b", "'\\''"),
]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("bfs_query", {"seeds": IDS, "max_hops": 1}),
    ("bfs_query", {"seeds": ["it's", "a b"], "path": ["-it's next-> Thing", "--{1,2}"],
        "where": ["year>=1990", "it's next.note~o'c"], "node_types": ["Thing"],
        "sort_by": "-paths", "topology_only": False, "limit": 3}),
    ("describe_entity", {"id": "-x"}),
    ("describe_entities", {"ids": ["a b", "~", "no such id"]}),
    ("search_entities", {"query": "it's"}),
    ("intersect_subgraphs", {"seeds": ["it's", "$HOME `id` $(id)"], "connect": True}),
    ("describe_schema", {}),
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile_db(tmp_path_factory: pytest.TempPathFactory, programs: Path) -> Path:
    """A graph whose ids a shell, a terminal or a program could misinterpret."""
    folder = tmp_path_factory.mktemp("it's hostile")
    nodes, edges, path = folder / "nodes.csv", folder / "edges.csv", folder / "a graph.db"
    _write(nodes, ["id", "type", "name", "year"], [[i, "Thing", f"name {i}", 1990] for i in IDS])
    pairs = zip(IDS, IDS[1:] + IDS[:1], strict=True)
    _write(
        edges,
        ["subject", "predicate", "object", "note"],
        [[a, "it's next", b, "it's o'clock"] for a, b in pairs],
    )
    output(programs / "bfsql", "load", nodes, edges, "--path", path)
    return path


def _write(path: Path, header: list[str], rows: list[list[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([header, *rows])


@pytest.fixture(scope="module")
def hostile(hostile_db: Path) -> Iterator[Served]:
    """`bfsql explore` over this graph."""
    with exploring(str(hostile_db)) as served:
        yield served


async def test_every_form_runs_and_gives_the_answer(
    tab: Visit, hostile: Served, hostile_db: Path, programs: Path
) -> None:
    await tab.page.goto(hostile.url)
    served = [str(programs / "bfsql"), "serve", "--path", str(hostile_db)]
    async with bfsql.open_graph("sqlite", path=hostile_db) as graph:
        await graph.counted()
        answers = [(await graph.call(tool, arguments)).text for tool, arguments in CALLS]
    written = [await forms(tab.page, call, str(hostile_db), hostile.url) for call in CALLS]
    for form in ("mcp", "command", "python", "curl"):
        for one in written:
            assert one[form].replace("\n", "").isprintable(), one[form]
    program = "\n".join(one["python"] for one in written)
    from_shell, from_curl, from_mcp = await asyncio.gather(
        _output(written[0]["command"]),
        _output("\necho; echo ---\n".join(one["curl"] for one in written)),
        asyncio.to_thread(_over_mcp, served, [one["mcp"] for one in written]),
    )
    from_cli = await asyncio.to_thread(_in_process, [one["command"] for one in written])
    from_python = await asyncio.to_thread(_printed, program)
    assert from_shell.strip() == answers[0]
    assert from_cli == answers
    assert from_python.splitlines() == answers
    assert from_mcp == answers
    for part, answer in zip(from_curl.split("---\n"), answers, strict=True):
        found, wanted = json.loads(part), json.loads(answer)
        assert (found["result"] if isinstance(wanted, list) else found) == wanted


async def forms(page: Page, call: tuple[str, Any], file: str, url: str) -> dict[str, str]:
    """A call in its forms, as the page writes them."""
    found: dict[str, str] = await page.evaluate(
        """async ([tool, given, file, url]) => {
            const f = await import("/assets/forms.js");
            return {mcp: f.asMcp(tool, given).text, command: f.asCommand(tool, given, file).text,
                    python: f.asPython(tool, given, file).text,
                    curl: f.asCurl(tool, given, url, false).text};
        }""",
        [*call, file, f"{url}/"],
    )
    return found


async def _output(script: str) -> str:
    """The output of a script in a shell with `bfsql` on its path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    pipe = asyncio.subprocess.PIPE
    environment = {**os.environ, "PATH": path}
    running = await asyncio.create_subprocess_exec(
        "bash", "-c", script, env=environment, stdout=pipe, stderr=pipe
    )
    return (await running.communicate())[0].decode()


def _in_process(commands: list[str]) -> list[str]:
    """The output of commands, parsed by a shell and run in this process."""
    script = "bfsql() { printf '%s\\0' \"$@\" $'\\1'; }\n" + "\n".join(commands)
    read = subprocess.run(["bash", "-c", script], check=True, capture_output=True, timeout=60)
    given = [part.split("\0")[:-1] for part in read.stdout.decode().split("\1\0")[:-1]]
    found = [CliRunner().invoke(bfsql_command, words, catch_exceptions=False) for words in given]
    return [one.stdout.removesuffix("\n") for one in found]


def _printed(program: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(program, "program.py", "exec"), {})
    return out.getvalue()


def _over_mcp(command: list[str], messages: list[str]) -> list[str]:
    """The texts of the answers to these messages, sent in one session on stdio."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello = {"id": 0, "method": "initialize", "params": about | {"clientInfo": {"name": "t"}}}
    hello["params"]["clientInfo"]["version"] = "1"  # type: ignore[index]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, encoding="utf-8", **pipes) as served:  # type: ignore[call-overload]
        try:
            said = []
            ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            # Each request of a session needs a unique id.
            numbered = [m.replace('"id":1', f'"id":{n}', 1) for n, m in enumerate(messages, 1)]
            for line in [json.dumps({"jsonrpc": "2.0", **hello}), *numbered]:
                served.stdin.write(f"{line}\n")
                served.stdin.flush()
                said.append(json.loads(served.stdout.readline()))
                if len(said) == 1:
                    served.stdin.write(json.dumps(ready) + "\n")
            assert not [answer for answer in said if "result" not in answer]
            return [answer["result"]["content"][0]["text"] for answer in said[1:]]
        finally:
            served.kill()


async def test_a_form_that_cannot_express_a_call_says_why(tab: Visit, films: Served) -> None:
    await tab.page.goto(films.url)
    problems = await tab.page.evaluate(
        """async () => {
            const {asCommand} = await import("/assets/forms.js");
            return [{node_types: ["a,b"]}, {seeds: ["a\\0b"]}, {"no option": 1}]
                .map(given => asCommand("bfs_query", given, "x.db"))
                .concat([asCommand("t", {}, "x.db")])
                .map(({text, problem}) => [text, problem]);
        }"""
    )
    assert [text for text, _ in problems] == [""] * 4
    for (_, problem), part in zip(problems, ("comma", "NUL", "option", "six tools"), strict=True):
        assert part in problem


async def test_curl_has_a_variable_in_place_of_the_token(tab: Visit, films: Served) -> None:
    await tab.page.goto(films.url)
    curl = await tab.page.evaluate(
        """async () => (await import("/assets/forms.js")).asCurl("t", {}, "http://x/", true).text"""
    )
    assert '"Authorization: Bearer $TOKEN"' in curl
