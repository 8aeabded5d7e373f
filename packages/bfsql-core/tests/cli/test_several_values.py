"""Options that take several values, each with the option's name, and arguments beside them."""

import json

import pytest


def test_an_option_is_given_with_each_of_its_values(run):
    told = run("config", "--allowed-hosts", "a", "--allowed-hosts=b", "--port", "1")
    assert told.exit_code == 0
    [hosts] = [line for line in told.output.splitlines() if line.startswith("allowed_hosts")]
    assert '["a", "b"]' in hosts


def test_a_value_too_many_of_another_option_is_refused(run):
    told = run("config", "--port", "1", "2")
    assert told.exit_code == 2
    assert "2" in told.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("p:1", "p:2", "--predicates", "ACTED_IN,LIKED"),
        ("p:1", "p:2", "--predicates", "ACTED_IN", "--predicates", "LIKED"),
        ("--predicates", "ACTED_IN", "p:1", "p:2", "--predicates", "LIKED"),
        ("--predicates", "ACTED_IN, LIKED", "p:1", "p:2"),
    ],
)
def test_options_of_a_tool_take_several_values(loaded, arguments):
    told = loaded("bfs-query", *arguments)
    assert told.exit_code == 0
    answer = json.loads(told.output)
    assert answer["seeds"] == ["p:1", "p:2"]
    assert ["LIKED" in note for note in answer["notes"]] == [True], "it is no predicate here"


def test_a_comma_belongs_to_a_name(loaded):
    told = loaded("bfs-query", "Hanks, Tom")
    assert told.exit_code == 2
    assert '"Hanks, Tom"' in told.stderr
