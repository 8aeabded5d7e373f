"""`bfsql` on the command line: its output and its error messages."""

import json
import os
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

import bfsql
from bfsql.cli.command import COMMANDS, KIT_COMMANDS
from bfsql.cli.serve import waiting
from bfsql.tools.parameters import PARAMETERS


def test_version_imports_click_alone():
    code = (
        "import sys\n"
        "from bfsql.cli import bfsql\n"
        "try: bfsql(['--version'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "print({'pydantic', 'mcp', 'rich', 'uvicorn', 'asyncio'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, imported = done.stdout.splitlines()
    assert version.startswith("bfsql 0.")
    assert imported == "set()"


@pytest.fixture
def without_plugins(tmp_path: Path) -> dict[str, str]:
    """Variables of an environment that has core and click and no hook plugin, for `python -S`."""
    packages = Path(click.__file__).parents[1]
    (tmp_path / "click").symlink_to(packages / "click")
    core = Path(bfsql.__file__).parents[1]
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(core), str(tmp_path)])}


def test_help_lists_every_command_without_importing_one(without_plugins):
    code = (
        "import sys\n"
        "sys.modules.pop('importlib.metadata', None)\n"
        "from bfsql.cli import bfsql\n"
        "try: bfsql(['--help'])\n"
        "except SystemExit: print(sorted(sys.modules.keys() & {'importlib.metadata', 'pydantic'}\n"
        "    | {m for m in sys.modules if m.startswith(('bfsql.cli.', 'bfsql.plugins.'))}))\n"
    )
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, env=without_plugins, capture_output=True, text=True, check=True)
    assert all(name in done.stdout for name in COMMANDS)
    assert done.stdout.splitlines()[-1] == "['bfsql.cli.command', 'bfsql.plugins.scan']"


def test_help_with_commands_of_a_hook_plugin_imports_no_models_and_no_event_loop():
    code = (
        "import sys\n"
        "from bfsql.cli import bfsql\n"
        "try: bfsql(['--help'])\n"
        "except SystemExit: print(sorted(sys.modules.keys()\n"
        "    & {'pydantic', 'asyncio', 'numpy', 'mcp', 'rich', 'bfsql.call', 'bfsql.models'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(f"\n  {name} " in done.stdout for name in KIT_COMMANDS)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", KIT_COMMANDS)
def test_a_command_of_the_kit_that_is_not_installed_says_how_to_install_it(name, without_plugins):
    command = [sys.executable, "-S", "-m", "bfsql", name]
    done = subprocess.run(command, env=without_plugins, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        f"`bfsql {name}` comes with the conformance kit: pip install bfsql-testing" in done.stderr
    )


@pytest.mark.parametrize("name", ["testing", "conformance", "conformance.graphs"])
def test_the_import_of_a_kit_that_is_not_installed_says_how_to_install_it(name, without_plugins):
    command = [sys.executable, "-S", "-c", f"import bfsql.{name}"]
    done = subprocess.run(command, env=without_plugins, capture_output=True, text=True, check=False)
    missing = f"bfsql.{name.partition('.')[0]} is in the conformance kit, which is missing"
    assert f"{missing}: pip install bfsql-testing" in done.stderr


def test_every_tool_is_a_command(run):
    assert {name.replace("_", "-") for name in PARAMETERS} <= set(COMMANDS)
    for tool, parameters in PARAMETERS.items():
        help_text = run(tool.replace("_", "-"), "--help-all").output
        assert all(f"--{p.name.replace('_', '-')}" in help_text for p in parameters if p.is_listed)


def test_every_command_has_help(run):
    for command in (*COMMANDS, *KIT_COMMANDS):
        result = run(command, "--help")
        assert result.exit_code == 0, command
        assert result.output.startswith(f"Usage: bfsql {command}")
        assert len(result.output.splitlines()) <= 60, command
        assert run(command, "-h").output == run("help", command).output == result.output, command


def test_help_shows_commands_and_options_in_groups(run):
    text = run("--help").output
    titles = [line[:-1] for line in text.splitlines() if line.endswith(":")]
    assert titles[:5] == ["Options", "Start", "Ask", "Operate", "Build"]
    assert run("help").output == text
    text = run("load", "--help").output
    assert text.index("Tables of nodes:") < text.index("--path") < text.index("Examples:")
    assert "--alias-column" not in text
    assert "--alias-column" in run("load", "--help-all").output


def test_a_misspelt_command_or_option_is_answered_with_the_closest(run):
    wrong = run("srve")
    assert (wrong.exit_code, "Did you mean serve?" in wrong.stderr) == (2, True)
    assert "Did you mean search-entities?" in run("search").stderr
    assert "Did you mean search-entities?" in run("serch").stderr
    assert "Did you mean bfs-query?" in run("query").stderr
    assert "Did you mean describe-schema or describe-entity or" in run("describe").stderr
    wrong = run("install", "claude", "toy.json")
    assert (
        "There is no client 'claude'. Did you mean claude-desktop or claude-code?" in wrong.stderr
    )
    assert "The clients are: claude-desktop, " in run("install", "xyz").stderr
    wrong = run("load", "nodes.csv", "--stict")
    assert wrong.exit_code == 2
    assert "--strict" in wrong.stderr


def test_a_backend_brings_its_own_options(run):
    shown = " ".join(run("serve", "--backend", "toy", "--help-all").output.split())
    assert "Options of the backend toy" in shown
    assert "--retries NUMBER" in shown
    assert "variable: BFSQL_TOY_PATH" in shown
    assert "--password-file FILE" in shown
    assert "--toy-port" in shown


def test_help_comes_even_without_a_backend(run):
    shown = run("serve", "--backend=nothing", "--help")
    assert shown.exit_code == 0
    assert "Options of the server" in shown.output


def test_a_graph_that_is_given_twice_is_refused(run):
    wrong = run("describe-schema", "Movie:*", "--path", "graph.db")
    assert wrong.exit_code == 2
    assert "given twice: Movie:* and --path graph.db" in wrong.stderr


def test_an_unknown_backend_is_one_sentence(run):
    wrong = run("describe-schema", "--backend=nothing")
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("There is no backend named 'nothing' (option --backend); inst")
    assert wrong.stderr.count("\n") == 1


def test_a_wrong_setting_is_one_sentence(run):
    wrong = run("serve", "--retries", "99")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert wrong.stderr == (
        "Option --retries is '99': it has to be a whole number, at least 1, at most 9.\n"
    )


def test_a_setting_under_its_other_name_is_called_by_it(run):
    wrong = run("serve", "--toy-port", "x")
    assert wrong.stderr == "Option --toy-port is 'x': it has to be a whole number.\n"


def test_a_secret_is_read_from_its_file_and_never_shown(run, folder):
    (folder / "secret").write_text("xyzzy\n", encoding="utf-8")
    shown = run("config", "--password-file", "secret", "--bearer-token-file", "secret").output
    assert 'password = "**********"  # option --password-file' in shown
    assert 'bearer_token = "**********"  # option --bearer-token-file' in shown
    assert "xyzzy" not in shown
    wrong = run("config", "--password-file", "nowhere")
    assert wrong.exit_code == 2
    assert "--password-file is 'nowhere': the file cannot be read (No such file" in wrong.stderr


def test_config_pipes_a_configuration_file(run, folder):
    (folder / "bfsql.toml").write_text(
        'strip = ["\\u007f"]\n[backend]\npath = "a.json"', encoding="utf-8"
    )
    shown = run("config", "--port", "9", "--headers", "A=1", "--no-structured-content").output
    made = tomllib.loads(shown)
    assert made["port"] == 9
    assert made["strip"] == ["\x7f"]
    assert made["structured_content"] is False
    assert made["backend"]["name"] == "toy"
    assert made["backend"]["headers"] == {"A": "1"}
    assert 'path = "a.json"  # path in [backend] of bfsql.toml (found file)' in shown
    assert "port = 9  # option --port" in shown
    (folder / "bfsql.toml").write_text(shown, encoding="utf-8")
    assert (
        "port = 9  # port in bfsql.toml (named file)"
        in run("config", "--config", "bfsql.toml").output
    )


def test_backends_are_listed_with_their_state(run):
    assert "backend toy 1.2.3 bfsql-toy a toy" in " ".join(run("backends").stdout.split())
    found = json.loads(run("backends", "--json").stdout)
    assert {"name": "toy", "state": "ok"}.items() <= next(
        state for state in found if state["name"] == "toy"
    ).items()


def test_index_shows_and_applies(run):
    shown = run("index")
    assert (shown.stdout, shown.stderr) == (
        "CREATE INDEX wanted\n",
        "Missing: 1. Create them with --apply.\n",
    )
    assert run("index", "--apply").stdout == "CREATE INDEX made\n"
    wrong = run("index", "--backend", "frozen")
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (2, 1)


def test_a_port_in_use_is_one_sentence(process):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = process("serve", "--transport", "http", "--port", port)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"port {port} of 127.0.0.1: it is in use" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_server_without_a_client_writes_nothing(folder, process):
    (folder / "toy.json").write_text("[]")
    done = process("serve")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_server_in_a_terminal_tells_how_to_configure_a_client(folder):
    (folder / "g.db").touch()
    line = waiting(["serve", "--path", "g.db"])
    assert "\n" not in line
    assert f'"args": ["serve", "--path", {json.dumps(str(folder / "g.db"))}]' in line


@pytest.mark.slow
def test_a_missing_store_is_one_sentence_in_a_process_of_its_own(process, run):
    missing = ("--path", "nowhere.json")
    served, asked = process("serve", *missing), run("describe-schema", *missing)
    assert (served.returncode, served.stdout) == (asked.exit_code, asked.stdout) == (2, "")
    sentence = "There is no toy graph nowhere.json. Load one first.\n"
    assert served.stderr == asked.stderr == sentence
