"""Entries inserted into JSON with comments and into TOML, and removed again."""

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql.cli.splice import Unreadable, read_json, remove_item, set_item, set_table

ENTRY = {"command": "/opt/bfsql", "args": ["serve", "--path", "/a b/größe.db"]}

COMMENTED = """\
// my servers
{
    "theme": "dark", // not light
    "mcpServers": {
        /* the first */
        "other": {"command": "node", "args": ["x, }"]}  // keep, this
    },
    "last": [1, 2,],
}
"""

AROUND = [
    "{}",
    "{ }",
    "{\n}",
    "{\n}\n",
    '{"a": 1}',
    '{\n  "a": 1\n}\n',
    '{"mcpServers":{}}',
    '{"mcpServers": {"x": {}}}',
    '{\n\t"mcpServers": {\n\t\t"x": {\n\t\t\t"command": "y"\n\t\t}\n\t}\n}',
    COMMENTED,
    COMMENTED.replace("\n", "\r\n"),
    "\ufeff" + COMMENTED,
    '{"mcpServers": { // none yet\n  }}',
    '{"a": "\\"//no comment", "b": "/*"}',
    '{\n  "mcpServers": {\n    "x": 1, // one\n    "y": 2, // two\n  },\n}',
]


@pytest.mark.parametrize("text", AROUND)
def test_an_entry_is_added_and_everything_else_stays(text):
    before = read_json(text)
    added = set_item(text, ["mcpServers", "films"], ENTRY)
    assert read_json(added) == {
        **before,
        "mcpServers": {**before.get("mcpServers", {}), "films": ENTRY},
    }
    kept = iter(added)
    assert all(character in kept for character in text if not character.isspace()), added
    removed = remove_item(added, ["mcpServers", "films"])
    if before.get("mcpServers"):
        assert removed == text
    assert read_json(removed) == {**before, "mcpServers": before.get("mcpServers", {})}


def test_an_entry_in_the_middle_is_removed_with_its_line():
    text = '{\n  "mcpServers": {\n    "films": {},\n    "x": 1\n  }\n}\n'
    assert (
        remove_item(text, ["mcpServers", "films"]) == '{\n  "mcpServers": {\n    "x": 1\n  }\n}\n'
    )
    assert remove_item('{"m": {"a": 1, "b": 2}}', ["m", "a"]) == '{"m": {"b": 2}}'


def test_a_present_entry_is_replaced_in_its_place():
    text = '{"mcpServers": {"films": {"old": true}, "x": 1}} // end'
    assert (
        set_item(text, ["mcpServers", "films"], 2) == '{"mcpServers": {"films": 2, "x": 1}} // end'
    )


@pytest.mark.parametrize("text", ["", "\n", "{\n  // nothing\n}"])
def test_a_file_without_anything_gets_all_of_it(text):
    assert read_json(set_item(text, ["mcpServers", "films"], ENTRY)) == {
        "mcpServers": {"films": ENTRY}
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [
        *(("{", 1), ('{\n"a" 1}', 2), ("[1 2]", 1), ('{"a": tru}', 1), ("{} {}", 1)),
        *(('{"a": "x}', 1), ("{\n\n'a': 1}", 3), ('{"a": 1 /* no end}', 1)),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text, line):
    with pytest.raises(Unreadable, match=f"line {line}: "):
        set_item(text, ["mcpServers", "films"], ENTRY)


@pytest.mark.parametrize("text", ["[" * 100_000 + "]" * 100_000, f'{{"a": {"1" * 5_000}}}'])
def test_what_python_cannot_read_is_refused(text):
    with pytest.raises(Unreadable, match="too long, or values are nested too deeply"):
        read_json(text)


@pytest.mark.parametrize("text", ["[]", '"x"', '{"mcpServers": []}', '{"mcpServers": null}'])
def test_what_cannot_hold_an_entry_is_refused(text):
    with pytest.raises(Unreadable, match="not an object"):
        set_item(text, ["mcpServers", "films"], ENTRY)


def test_elements_of_an_array_are_known_by_a_key():
    a, b = ["inputs", ("id", "a")], ["inputs", ("id", "b")]
    one, two = {"id": "a", "type": "x"}, {"id": "b", "type": "y"}
    text = set_item(set_item("{}", a, one), b, two)
    assert read_json(text) == {"inputs": [one, two]}
    assert read_json(set_item(text, a, {"id": "a"})) == {"inputs": [{"id": "a"}, two]}
    assert read_json(remove_item(text, a)) == {"inputs": [two]}
    assert remove_item(text, ["inputs", ("id", "c")]) == text
    with pytest.raises(Unreadable, match="not an array"):
        set_item('{"inputs": {}}', a, one)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(max_size=5), VALUES, max_size=4),
    st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=3),
    st.sampled_from([None, 2, "\t"]),
)
def test_any_file_has_the_same_text_after_an_entry_came_and_went(whole, servers, indent):
    servers.pop("films", None)
    text = json.dumps({**whole, "mcpServers": servers}, indent=indent)
    added = set_item(text, ["mcpServers", "films"], ENTRY)
    assert json.loads(added) == {**whole, "mcpServers": {**servers, "films": ENTRY}}
    removed = remove_item(added, ["mcpServers", "films"])
    assert removed == text if servers else json.loads(removed) == json.loads(text)


TOML = '''\
model = "x" # mine

[mcp_servers.other]
command = "node"

[tui]
text = """
[mcp_servers.films]
"""
'''


@pytest.mark.parametrize("text", ["", 'model = "x"\n', TOML, TOML.replace("\n", "\r\n")])
@pytest.mark.parametrize("name", ["films", 'my "films" #1'])
def test_a_table_comes_and_goes(text, name):
    entry = {**ENTRY, "env": {"A B": '\x7f"\\'}, "env_vars": ["X"]}
    added = set_table(text, "mcp_servers", name, entry)
    assert added.startswith(text)
    assert tomllib.loads(added)["mcp_servers"][name] == entry
    again = set_table(added, "mcp_servers", name, {"command": "z"})
    assert tomllib.loads(again)["mcp_servers"][name] == {"command": "z"}
    assert set_table(added, "mcp_servers", name, None) == text
    assert set_table(again, "mcp_servers", name, None) == text


@pytest.mark.parametrize("text", ['mcp_servers = { films = { command = "x" } }\n', "a = \n"])
@pytest.mark.parametrize("value", [{"command": "z"}, None])
def test_a_table_that_cannot_be_spliced_is_refused(text, value):
    with pytest.raises(Unreadable):
        set_table(text, "mcp_servers", "films", value)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "films", ["[mcp_servers.films]\nb = 1\n", '[mcp_servers . "films"]\n\nb=1\n']
)
def test_a_table_that_goes_leaves_the_comment_of_the_next_one(newline, films):
    def left(text):
        changed = set_table(text.replace("\n", newline), "mcp_servers", "films", None)
        return changed.replace(newline, "\n")

    before = 'a = 1\n\n[mcp_servers.other]\ncommand = "x"\n'
    own, after = '# cwd = "/"\n', "\n# how it looks\n[tui]\nc = 1\n"
    env = '\n[mcp_servers.films.env]\nA = "b"\n'
    assert left(f"{before}\n{films}{own}{env}{after}") == f"{before}{after}"
    assert left(f"{films}{after}") == after.removeprefix("\n")
    assert left(f"{before}\n{films}\n# the end\n") == f"{before}\n# the end\n"
