"""Tables, trees and progress when the output is a terminal."""

import re
import sys

import pytest

pytestmark = [
    pytest.mark.slow,  # each test starts at least one process
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals"),
]


def _words(seen: str) -> str:
    """The printed text without colours, with single spaces."""
    return " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen).split())


def test_a_traversal_is_a_tree(loaded, terminal):
    seen = terminal("bfs-query", "p:1", "--max-hops", "1")
    assert "Tom Hanks p:1 ├── -ACTED_IN-> Sleepless in Seattle f:1 └── -ACTED_IN->" in _words(seen)
    assert "3 nodes, 2 edges." in _words(seen)


def test_notes_name_options(loaded, terminal):
    seen = _words(terminal("bfs-query", "p:1", "--limit", "1"))
    assert "Continue with offset=1, limit=1." in seen


def test_json_is_json_on_a_terminal_too(loaded, terminal):
    piped = loaded("bfs-query", "p:1", "--max-hops", "1").stdout
    assert terminal("bfs-query", "p:1", "--max-hops", "1", "--json").replace("\r", "") == piped


def test_an_import_shows_its_progress_and_its_account(terminal):
    seen = _words(terminal("load", "nodes.csv", "edges.csv"))
    assert "reading" in seen
    assert "toy.json now holds 4 nodes, 4 edges" in seen


def test_backends_are_a_table(terminal):
    assert "toy 1.2.3 bfsql-toy a toy" in _words(terminal("backends"))


def test_an_error_is_the_same_sentence(terminal):
    seen = terminal("describe-schema", "--path", "nowhere.json")
    assert seen == "There is no toy graph nowhere.json. Load one first.\r\n"
