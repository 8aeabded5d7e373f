"""What sets, comparisons of steps and facets cannot be is one sentence, and no error of a store."""

import json

import pytest

from bfsql import Limits, MemoryBackend, open_graph
from bfsql.abc import GraphDbInterface
from bfsql.errors import ToolError
from bfsql.models import EdgeRecord, NodeRecord

RECORDS = [
    *(NodeRecord(f"t:{n}", "Trial", {"phase": n % 3, "status": "open"}) for n in range(6)),
    NodeRecord("c", "Compound", {"name": "Aspirin"}),
    *(EdgeRecord(f"t:{n}", "tests", "c") for n in range(6)),
]
ODD = [
    *("a[b]", "x|y", "-to-> B", "<-to- B", "A -to-> B", 'say "x"', "it's", "`t`", "[", "]", "{}"),
    *(".*", "^a$", "(a|b)+", "'; DROP TABLE node; --", "MATCH (n) DETACH DELETE n", "} UNION {"),
    *("*", "*:*", "A:*", "A[x=1]", "2 != 0", "no -to-> A", "$1", "%s", "\\", "a\\'b", "a.b=1"),
]


class WithoutList(MemoryBackend):
    nodes_stream = GraphDbInterface.nodes_stream


@pytest.fixture
async def graph():
    async with open_graph(MemoryBackend(RECORDS)) as opened:
        await opened.counted()
        yield opened


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seeds": ["Tril[phase=1]"]}, 'no type "Tril". The nearest: Trial'),
        ({"seeds": ["Tril:*"]}, 'no type "Tril". The nearest: Trial'),
        ({"seeds": ["c"], "to": ["Tril:*"]}, 'to: no entity is named "Tril:*"'),
        ({"seeds": ["c"], "where": ["2 != 0"]}, "path"),
        ({"seeds": ["c"], "path": ["<-tests-"], "where": ["2 != 0"]}, "it has 0 to 1"),
        (
            {"seeds": ["c"], "path": ["<-tests-", "--"], "where": ["2 != 0", "1 != 2", "0 != 1"]},
            "another step than the other comparisons",
        ),
    ],
)
async def test_an_error_names_what_would_be_right(graph, arguments, message):
    with pytest.raises(ToolError) as error:
        await graph.call("bfs_query", arguments)
    assert message in str(error.value)


async def test_a_set_of_nothing_is_an_answer_that_names_the_values_or_the_property(graph):
    for seed, told in {
        "Trial[phase=7]": "phase is one of 0, 1, 2",
        "Trial[pase=1]": "the nearest: phase",
        "Trial[status=closed]": "status is one of open",
    }.items():
        answer = await graph.bfs_query(seeds=[seed], facets=["phase"])
        assert (answer.content["seed_count"], answer.content["nodes"]) == (0, [])
        assert told in answer.notes[0].replace('"', "")


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        ({"seeds": ["Trial[no phse]"]}, 'No property "phse" is known there; the nearest: phase.'),
        ({"seeds": ["Trial[no tests]"]}, 'known there; as a relation it is "-tests->".'),
        ({"seeds": ["Trial[tests]"]}, 'known there; as a relation it is "-tests->".'),
        ({"seeds": ["Trial[size>2]"]}, "it has phase, status."),
        ({"seeds": ["Trial[phase/size>7]"]}, 'has blanks around its operators: "phase / size"'),
        ({"seeds": ["Compound[name=asp]"]}, "name has many values: ~ matches a part of a value"),
        ({"seeds": ["Trial:*"], "where": ["no phse"]}, 'so "no phse" removed nothing.'),
        ({"seeds": ["Trial:*"], "facets": ["Compound.name"]}, 'has "Compound.name".'),
        ({"seeds": ["Trial:*"], "facets": ["tests.dose"]}, 'has "tests.dose".'),
        ({"seeds": ["Trial:*"], "facets": ["entity_type"]}, "schema_summary counts types."),
        ({"seeds": ["c"], "path": ["<-tests- Trial[phase=9]"]}, "min_mentions or a condition."),
    ],
)
async def test_what_a_name_may_have_meant_is_a_note(graph, arguments, note):
    answer = await graph.bfs_query(**arguments)
    assert any(note in sentence for sentence in answer.notes), answer.notes


async def test_what_begins_at_nothing_has_one_note():
    async with open_graph(MemoryBackend(RECORDS)) as graph:
        await graph.counted()
        for ask in ({"path": ["-tests->"]}, {"max_hops": 2}, {"along": ["-tests-"]}):
            answer = await graph.bfs_query(seeds=["Trial[phase=7]"], **ask)
            told = [note for note in answer.notes if not note.startswith("along")]
            assert told == ['Nothing matches "Trial[phase=7]". phase is one of 0, 1, 2.']


@pytest.mark.parametrize("count", [5, 6, 24])
async def test_values_that_are_not_listed_are_counted_once(count):
    nodes = [NodeRecord(f"n{n}", "T", {"land": f"v{n % count:02}"}) for n in range(3 * count)]
    async with open_graph(MemoryBackend(nodes)) as graph:
        await graph.counted()
        [note] = (await graph.bfs_query(seeds=["T[land=x]"])).notes
    more = f" and {count - 5} more" if count > 5 else ""
    assert note.endswith(f"land is one of v00, v01, v02, v03, v04{more}."), note


async def test_a_pattern_may_name_many_entities():
    names = [f"name {n}" for n in range(9)]
    records = [NodeRecord(f"n:{n}", "A", {"name": name}) for n, name in enumerate(names)]
    records += [EdgeRecord("n:0", "p", one.id) for one in records]
    pattern = f"A{''.join(f'[-p-> {name}]' for name in names)}"
    async with open_graph(MemoryBackend(records)) as graph:
        answer = await graph.bfs_query(seeds=[pattern])
    assert [node["id"] for node in answer.content["nodes"]] == ["n:0"]


async def test_an_empty_set_in_a_union_has_one_note(graph):
    for empty, begins in (
        ("Trial[-tests-> Compound[name=x]]", "Nothing was found at the end of"),
        ("Trial[phase=7]", "Nothing matches"),
    ):
        [note] = (await graph.bfs_query(seeds=["Compound:*", empty])).notes
        assert note.startswith(begins)


@pytest.mark.parametrize("name", ['say "x"', '"', 'a\\"]b', "all \"three' of `them`"])
async def test_a_text_in_a_pattern_may_be_written_as_json(name):
    records = [NodeRecord("a", "T", {"name": name}), NodeRecord("b", "T", {"name": "b"})]
    records.append(EdgeRecord("b", "p", "a"))
    written = json.dumps(name)
    async with open_graph(MemoryBackend(records)) as graph:
        for ask, found in (
            ({"seeds": [f"*[name={written}]"]}, "a"),
            ({"seeds": [f"T[name={written}|c][name]"]}, "a"),
            ({"seeds": [f"T[-p-> T[name={written}]]"]}, "b"),
            ({"seeds": ["T:*"], "where": [f"name!={written}"]}, "b"),
            ({"seeds": ["b"], "path": [f"-p-> {written}"], "show": "ends"}, "a"),
        ):
            answer = await graph.call("bfs_query", ask)
            assert [node["id"] for node in answer.content["nodes"]] == [found], ask


async def test_tools_that_take_no_patterns_name_the_one_that_does(graph):
    for tool, arguments in (
        ("describe_entity", {"id": "Trial:*"}),
        ("describe_schema", {"seeds": ["Trial[phase=1]"]}),
    ):
        with pytest.raises(ToolError, match="are taken by bfs_query"):
            await graph.call(tool, arguments)
    answer = await graph.describe_entities(ids=["Trial[phase=1]"])
    assert "are taken by bfs_query" in answer.notes[0]


async def test_the_types_of_the_seeds_give_a_bare_predicate_its_direction(graph):
    answer = await graph.bfs_query(seeds=["c"], path=["tests"], limit=0)
    assert answer.content["shown_count"] == 6
    with pytest.raises(ToolError, match='Relations at Compound: "<-tests- Trial"'):
        await graph.bfs_query(seeds=["c"], path=["tested"])


async def test_namesakes_at_the_end_of_a_step_have_a_text_that_is_read_back():
    records = [
        *(NodeRecord(one, "Disease", {"name": "Flu"}) for one in ("d|1", "d -> 2")),
        *(NodeRecord(one, "Compound", {"name": one}) for one in "abc"),
        EdgeRecord("a", "treats", "d|1"),
        EdgeRecord("b", "treats", "d -> 2"),
    ]
    async with open_graph(MemoryBackend(records)) as graph:
        first = await graph.bfs_query(seeds=["Compound[no -treats-> Flu]"])
        assert [node["id"] for node in first.content["nodes"]] == ["c"]
        again = await graph.bfs_query(seeds=first.content["seeds"])
        assert again.content["nodes"] == first.content["nodes"]
        where = ['no -treats-> c|"d|1"']
        either = await graph.bfs_query(seeds=["Compound:*"], where=where)
        assert [node["id"] for node in either.content["nodes"]] == ["b", "c"]


async def test_a_seed_that_a_relation_removes_is_noted_with_where():
    async with open_graph(MemoryBackend(RECORDS)) as graph:
        answer = await graph.bfs_query(seeds=["c"], max_hops=1, where=["no <-tests- Trial"])
    assert answer.notes[0] == (
        "c was removed from the answer by exclude_node_types, min_mentions or where, although it "
        "started there."
    )


async def test_relations_past_a_bound_are_an_error_and_no_part_of_a_set():
    async with open_graph(MemoryBackend(RECORDS), limits=Limits(max_edges=4)) as graph:
        for arguments in (
            {"seeds": ["Compound[<-tests- Trial]"]},
            {"seeds": ["Compound:*"], "where": ["no <-tests- Trial"]},
        ):
            with pytest.raises(ToolError, match="exceeds this server's limit of 4 edges"):
                await graph.bfs_query(**arguments)


async def test_a_store_that_cannot_list_says_from_where_to_start():
    async with open_graph(WithoutList(RECORDS)) as graph:
        for arguments in (
            {"seeds": ["Trial:*"]},
            {"seeds": ["*[phase=1]"], "limit": 0},
            {"seeds": ["Trial"]},
            {"seeds": ["c"], "to": ["Trial:*"]},
        ):
            with pytest.raises(ToolError, match=r"cannot list its entities.*search_entities"):
                await graph.call("bfs_query", arguments)
        # Steps and conditions on relations need no list.
        answer = await graph.bfs_query(seeds=["c"], path=["<-tests- Trial[phase=1]"], limit=0)
        assert answer.content["shown_count"] == 2


@pytest.mark.parametrize("odd", ODD)
async def test_an_entity_is_found_by_any_name_and_any_value(odd):
    records = [
        NodeRecord("n:1", "A", {"name": odd, "key": odd}),
        NodeRecord("n:2", "A", {"name": "other", "key": "other"}),
        EdgeRecord("n:2", "to", "n:1"),
    ]
    value = next(f"{quote}{odd}{quote}" for quote in "\"'`" if quote not in odd)
    async with open_graph(MemoryBackend(records)) as graph:
        for seed in (odd, f"A[key={value}]", f"*[name={value}]"):
            answer = await graph.bfs_query(seeds=[seed], max_hops=1)
            assert {node["id"] for node in answer.content["nodes"]} == {"n:1", "n:2"}
        answer = await graph.bfs_query(seeds=["A:*"], where=[f"key={value}"], facets=["key"])
        assert answer.content["facets"]["key"]["values"] == [[odd, 1, 1.0]]
        answer = await graph.bfs_query(seeds=["n:2"], path=[f"-to-> {value}"], show="ends")
        assert [node["id"] for node in answer.content["nodes"]] == ["n:1"]
