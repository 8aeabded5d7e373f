"""`bfsql install` adds entries to the files of clients and changes nothing else."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bfsql.cli.clients import CLIENTS, is_ours
from bfsql.cli.install import BACKUP

WINDOWS, MAC, LINUX = "win32", "darwin", "linux"

AWKWARD = 'a "b" \\ c.json'
GRAPHS = ("toy.json", "g.json", "other.json", AWKWARD)

LIVED_IN = """\
{
    // kept by hand
    "theme": "größe",
    "KEY": {
        "other": {"command": "node", "args": ["server.js"]}, // mine
    },
    "inputs": [{"type": "promptString", "id": "other-token"}],
}
"""

LIVED_IN_TOML = """\
model = "o-something"  # kept by hand

[mcp_servers.other]
command = "node"
args = ["server.js"]

[tui]
theme = "größe"
"""


@pytest.fixture
def home(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory without any client; in the working directory are graphs."""
    for graph in GRAPHS:
        (folder / graph).touch()
    home = tmp_path / "home ü"
    home.mkdir()
    for variable in ("XDG_CONFIG_HOME", "APPDATA", "CODEX_HOME", "CLINE_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(tmp_path / "no programs"))
    return home


def place(home: Path, client: str) -> Path:
    return CLIENTS[client].path(home, {})


def lived_in(home: Path, client: str) -> tuple[Path, bytes]:
    """The client's file with typical content, and its bytes."""
    path = place(home, client)
    path.parent.mkdir(parents=True, exist_ok=True)
    known = CLIENTS[client]
    text = LIVED_IN_TOML if known.form == "toml" else LIVED_IN.replace("KEY", known.key)
    path.write_text(text, encoding="utf-8")
    return path, path.read_bytes()


@pytest.mark.parametrize("client", CLIENTS)
def test_an_entry_comes_and_goes(run, home, folder, client):
    path, before = lived_in(home, client)
    path.chmod(0o600)
    added = run("install", client, "--path", AWKWARD, "--name", "films")
    assert added.exit_code == 0, added.output
    servers = CLIENTS[client].servers(path.read_text(encoding="utf-8"))
    assert list(servers) == ["other", "films"]
    entry = servers["films"]
    assert Path(entry["command"]).is_absolute()
    assert str(folder / AWKWARD) in entry["args"]
    assert is_ours(entry)
    assert Path(f"{path}{BACKUP}").read_bytes() == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    same = run("install", client, "--path", AWKWARD, "--name", "films")
    assert "replaces" not in same.output
    again = run("install", client, "--path", "other.json", "--name", "films")
    assert again.exit_code == 0, again.output
    assert "It replaces another entry of that name; --name adds a second graph." in again.output
    removed = run("install", client, "--remove", "--name", "films")
    assert removed.exit_code == 0, removed.output
    assert path.read_bytes() == before


@pytest.mark.parametrize("client", CLIENTS)
def test_assistants_get_answers_in_lines_unless_the_operator_chose(run, home, monkeypatch, client):
    def entry(*options: str) -> dict[str, Any]:
        assert run("install", client, "toy.json", "--name", "toy", *options).exit_code == 0
        text = place(home, client).read_text(encoding="utf-8")
        return dict(CLIENTS[client].servers(text)["toy"])

    def answer_format(args: list[str]) -> str | None:
        return args[args.index("--answer-format") + 1] if "--answer-format" in args else None

    assert answer_format(entry()["args"]) == "lines"
    assert answer_format(entry("--answer-format", "json")["args"]) == "json"
    monkeypatch.setenv("BFSQL_ANSWER_FORMAT", "json")
    chosen = entry()
    assert answer_format(chosen["args"]) is None
    assert "json" in str(chosen)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions.")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_the_backup_can_be_read_by_whoever_can_read_the_file(run, home, mode):
    path, _ = lived_in(home, "claude-code")
    path.chmod(mode)
    assert run("install", "claude-code").exit_code == 0
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert stat.S_IMODE(Path(f"{path}{BACKUP}").stat().st_mode) == mode


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions.")
def test_no_draft_can_be_read_by_others(run, home, monkeypatch):
    path, _ = lived_in(home, "claude-code")
    path.chmod(0o600)
    readable: list[Path] = []
    replace = Path.replace

    def look(source: Path, target: Path) -> None:
        """Look, between the writing of a draft and its renaming, for what others can reach."""
        readable.extend(
            one
            for folder, _, names in os.walk(home)
            for one in (Path(folder, name) for name in names)
            if one.stat().st_mode & 0o077 and one.parent.stat().st_mode & 0o077
        )
        replace(source, target)

    monkeypatch.setattr(Path, "replace", look)
    assert run("install", "claude-code").exit_code == 0
    assert run("install", "claude-code", "--remove").exit_code == 0
    assert readable == []
    assert path.exists()


@pytest.mark.slow
def test_several_at_once_lose_no_entry(home, folder, programs):
    lived_in(home, "claude-code")
    names = [f"graph{number}" for number in range(6)]
    command = [programs / "bfsql", "install", "claude-code", str(folder / "graph.db")]
    (folder / "graph.db").touch()
    environment = {key: value for key, value in os.environ.items() if key != "BFSQL_BACKEND"}
    processes = [
        subprocess.Popen(
            [*command, "--name", name],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name in names
    ]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 6, outputs
    text = place(home, "claude-code").read_text(encoding="utf-8")
    assert sorted(CLIENTS["claude-code"].servers(text)) == [*names, "other"]
    assert len([*home.iterdir()]) == 2  # the file and its backup


@pytest.mark.parametrize("more", [(), ("--print",)])
def test_a_graph_that_does_not_exist_is_refused(run, home, more):
    refused = run("install", "claude-code", "nofile.db", *more)
    assert refused.exit_code == 2
    assert refused.stderr == (
        "There is no graph at nofile.db. Make one with: bfsql load SOURCE --path nofile.db\n"
    )
    missing = run("install", "claude-code", "nofile.json", *more)
    assert missing.exit_code == 2
    assert "There is no graph at nofile.json. Check the path" in missing.stderr
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_a_file_is_made_and_taken_away(run, home, client):
    assert run("install", client, "--path", "g.json").exit_code == 0
    path = place(home, client)
    assert list(CLIENTS[client].servers(path.read_text(encoding="utf-8"))) == ["g"]
    assert run("install", client, "--path", "g.json", "--remove").exit_code == 0
    assert not path.exists()


@pytest.mark.parametrize(
    "text", ["{}", "{ }\n", '{"mcpServers": {}}', '{"a":1,"mcpServers":{ }}', ""]
)
def test_the_bytes_come_back_whatever_they_were(run, home, text):
    path = place(home, "cursor")
    path.parent.mkdir()
    path.write_text(text)
    assert run("install", "cursor").exit_code == 0
    assert run("install", "cursor", "--remove").exit_code == 0
    assert path.read_text() == text
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_change_of_the_user_stays_when_the_entry_goes(run, home):
    path, before = lived_in(home, "cursor")
    run("install", "cursor", "--name", "films")
    path.write_text(path.read_text().replace("größe", "smaller"))
    assert run("install", "cursor", "--remove", "--name", "films").exit_code == 0
    assert path.read_text() == before.decode().replace("größe", "smaller")


def test_print_changes_nothing(run, home):
    shown = run("install", "claude-desktop", "--path", "g.json", "--print")
    assert shown.exit_code == 0
    assert list(json.loads(shown.stdout)["mcpServers"]) == ["g"]
    assert str(place(home, "claude-desktop")) in shown.stderr
    assert list(home.iterdir()) == []


def test_the_server_gets_its_configuration_from_any_folder(run, home, folder, monkeypatch):
    (folder / "bfsql.toml").write_text('max_tokens = 5000\n[backend]\nname = "toy"\n')
    monkeypatch.setenv("BFSQL_MAX_NODES", "77")
    assert run("install", "cursor", "--deadline", "5", "--no-structured-content").exit_code == 0
    [entry] = json.loads(place(home, "cursor").read_text())["mcpServers"].values()
    words = entry["args"]
    assert words[words.index("--config") + 1] == str(folder / "bfsql.toml")
    assert words[words.index("--deadline") + 1] == "5"
    assert "--no-structured-content" in words
    assert entry["env"] == {"BFSQL_MAX_NODES": "77"}


SECRET = "a-very-secret-text"


@pytest.mark.parametrize(
    ("client", "env"),
    [
        ("cursor", {"BFSQL_BEARER_TOKEN": "${env:BFSQL_BEARER_TOKEN}"}),
        ("claude-code", {"BFSQL_BEARER_TOKEN": "${BFSQL_BEARER_TOKEN}"}),
        ("vscode", {"BFSQL_BEARER_TOKEN": "${input:g-BFSQL_BEARER_TOKEN}"}),
        ("codex", None),
    ],
)
def test_a_secret_is_referred_to(run, home, monkeypatch, client, env):
    monkeypatch.setenv("BFSQL_BEARER_TOKEN", SECRET)
    path, before = lived_in(home, client)
    added = run("install", client, "--path", "g.json")
    assert added.exit_code == 0, added.output
    text = path.read_text()
    assert SECRET not in text + added.output
    entry = CLIENTS[client].servers(text)["g"]
    assert entry.get("env") == env
    if client == "codex":
        assert entry["env_vars"] == ["BFSQL_BEARER_TOKEN"]
    if client == "vscode":
        assert '"id": "g-BFSQL_BEARER_TOKEN"' in text
    else:
        assert "BFSQL_BEARER_TOKEN in its environment" in added.output
    assert run("install", client, "--path", "g.json", "--remove").exit_code == 0
    assert path.read_bytes() == before


def test_a_secret_is_written_only_when_asked(run, home, monkeypatch):
    monkeypatch.setenv("BFSQL_BEARER_TOKEN", SECRET)
    refused = run("install", "claude-desktop", "--path", "g.json")
    assert refused.exit_code == 2
    assert "--with-secrets" in refused.output
    assert SECRET not in refused.output
    assert not place(home, "claude-desktop").exists()
    assert run("install", "claude-desktop", "--path", "g.json", "--with-secrets").exit_code == 0
    entry = json.loads(place(home, "claude-desktop").read_text())["mcpServers"]["g"]
    assert entry["env"] == {"BFSQL_BEARER_TOKEN": SECRET}


URL = "https://graph.example.org/mcp"


@pytest.mark.parametrize(
    ("client", "entry"),
    [
        ("cursor", {"type": "http", "url": URL}),
        ("antigravity", {"serverUrl": URL}),
        ("windsurf", {"serverUrl": URL}),
        ("gemini-cli", {"httpUrl": URL}),
        ("codex", {"url": URL}),
        ("cline", {"type": "streamableHttp", "url": URL}),
    ],
)
def test_a_remote_server(run, home, client, entry):
    path, before = lived_in(home, client)
    assert run("install", client, "--url", URL).exit_code == 0
    assert CLIENTS[client].servers(path.read_text())["bfsql"] == entry
    other = run("install", client, "--remove", "--name", "bfsql")
    assert other.exit_code == 2
    assert "Add --url" in other.output
    assert run("install", client, "--url", URL, "--remove").exit_code == 0
    assert path.read_bytes() == before


def test_a_client_without_remote_servers_says_where_they_are(run, home):
    refused = run("install", "claude-desktop", "--url", URL)
    assert refused.exit_code == 2
    assert "connectors" in refused.output


def test_an_address_has_to_be_one_of_http(run, home):
    refused = run("install", "cursor", "--url", "localhost:8000/mcp")
    assert refused.exit_code == 2
    assert "begins with http:// or https://" in refused.output
    assert not place(home, "cursor").exists()


def test_another_server_of_the_same_name_stays(run, home):
    path, before = lived_in(home, "cursor")
    for more in ((), ("--remove",)):
        refused = run("install", "cursor", "--name", "other", *more)
        assert refused.exit_code == 2, refused.output
        assert "other" in refused.output
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b'{"mcpServers": {"a": }}', "line 1: '}' is not a value"),
        (b"{\n'a': 1}", "line 2: a text in double quotes is missing"),
        (b'{"mcpServers": []}', "not an object"),
        (b"\xff\xfe{}", "is not UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_spliced_stays(run, home, content, sentence):
    path = place(home, "cursor")
    path.parent.mkdir()
    path.write_bytes(content)
    refused = run("install", "cursor")
    assert refused.exit_code == 2
    assert sentence in refused.output
    assert path.read_bytes() == content


def test_a_link_stays_a_link(run, home, tmp_path):
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    path = place(home, "cursor")
    path.parent.mkdir()
    path.symlink_to(real)
    assert run("install", "cursor").exit_code == 0
    assert path.is_symlink()
    assert "mcpServers" in real.read_text()


def test_a_read_only_file_is_named(run, home, monkeypatch):
    path, before = lived_in(home, "cursor")
    path.chmod(0o400)
    if os.access(path, os.W_OK):  # true for the superuser
        monkeypatch.setattr(os, "access", lambda *_: False)
    refused = run("install", "cursor")
    assert refused.exit_code == 2
    assert "read-only" in refused.output
    assert path.read_bytes() == before


def test_nobody_is_at_home(run, home, monkeypatch):
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    refused = run("install", "cursor")
    assert refused.exit_code == 2
    assert "Set HOME" in refused.output


def test_an_entry_that_is_not_there_names_those_that_are(run, home):
    run("install", "cursor", "--name", "films")
    refused = run("install", "cursor", "--name", "flims", "--remove")
    assert refused.exit_code == 2
    assert "its bfsql servers are: films" in refused.output


@pytest.mark.skipif(sys.platform == "win32", reason="The stand-in is a shell script.")
def test_claude_code_changes_its_file_itself(run, home, tmp_path, monkeypatch):
    programs = tmp_path / "programs"
    programs.mkdir()
    claude = programs / "claude"
    claude.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {tmp_path}/called\necho Added.\n')
    claude.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert "Added." in run("install", "claude-code", "--name", "films").output
    called = (tmp_path / "called").read_text().splitlines()
    assert called[:5] == ["mcp", "add-json", "--scope", "user", "films"]
    assert is_ours(json.loads(called[5]))
    assert not place(home, "claude-code").exists()
    monkeypatch.setenv("BFSQL_BEARER_TOKEN", SECRET)
    assert run("install", "claude-code", "--name", "films", "--with-secrets").exit_code == 0
    assert SECRET in place(home, "claude-code").read_text()
    assert SECRET not in (tmp_path / "called").read_text()  # which other users can see
    claude.write_text("#!/bin/sh\necho it is broken >&2\nexit 1\n")
    refused = run("install", "claude-code", "--name", "films")
    assert refused.exit_code == 2
    assert "it is broken" in refused.output


def test_every_system_has_its_own_path(tmp_path):
    home = tmp_path / "nobody"
    desktop, code, zed = (CLIENTS[name] for name in ("claude-desktop", "vscode", "zed"))
    assert "Application Support/Claude" in desktop.path(home, {}, MAC).as_posix()
    assert desktop.path(home, {"APPDATA": "X"}, WINDOWS).as_posix().startswith("X/Claude/")
    assert code.path(home, {"XDG_CONFIG_HOME": "/x"}, LINUX).as_posix() == "/x/Code/User/mcp.json"
    assert zed.path(home, {}, MAC) == home / ".config/zed/settings.json"
    older = home / ".gemini/antigravity/mcp_config.json"
    assert CLIENTS["antigravity"].path(home, {}) == home / ".gemini/config/mcp_config.json"
    older.parent.mkdir(parents=True)
    older.write_text("{}")
    assert CLIENTS["antigravity"].path(home, {}) == older
