"""Served files that would end or hang the server: refused at the command line."""

from bfsql_test_support.commands import run
from bfsql_test_support.hostile_files import ABORTS, HOSTILE
from bfsql_test_support.servers.port import free_port

COMMANDS = {
    "serve": ("serve", "FILE", "--port", "PORT"),
    "explore": ("explore", "FILE", "--no-browser", "--port", "PORT"),
    "describe-schema": ("describe-schema", "FILE"),
    "search-entities": ("search-entities", "a", "--path", "FILE"),
}


def test_a_command_refuses_a_hostile_file_and_ends(each, tmp_path, programs):
    for command, what in [
        *(("serve", what) for what in ABORTS),
        *((command, ABORTS[0]) for command in COMMANDS),
    ][1:]:
        with each(command, what):
            name, content, words = HOSTILE[what]
            (tmp_path / name).write_bytes(content)
            values = {"FILE": str(tmp_path / name), "PORT": str(free_port())}
            words_of = (values.get(word, word) for word in COMMANDS[command])
            done = run(programs / "bfsql", *words_of)
            assert done.returncode == 2
            assert words in done.stderr
            assert "Traceback" not in done.stderr
