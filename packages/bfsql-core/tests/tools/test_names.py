"""Names in place of ids."""

import pytest

from bfsql.call import Limits
from bfsql.errors import ToolError
from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_test_support import tool_calls
from bfsql_test_support.backends.recording import watched

RECORDS = [
    NodeRecord("PER:1", "Person", {"name": "Chaka Yarder", "synonyms": ["C. Yarder"]}),
    NodeRecord("PER:2", "Person", {"name": "Ölga Brandt"}),
    NodeRecord("PER:3", "Person", {"name": "Ölga Brandt"}),
    NodeRecord("PER:4", "Person", {"name": "Other", "synonyms": ["Vetorjor"]}),
    NodeRecord("DIS:1", "Disease", {"name": "Vetorjor"}),
    NodeRecord("DRUG:1", "Drug", {"name": "Vetorjor"}),
    NodeRecord("LAB:1", "Lab", {"name": "PER:1"}),
    NodeRecord("LAB:2", "Lab", {"name": "Disease: Flu"}),
    NodeRecord("DIS:2", "Disease", {"name": "Flu"}),
    EdgeRecord("PER:1", "STUDIES", "DIS:1"),
    EdgeRecord("PER:2", "STUDIES", "DIS:2"),
]


@pytest.fixture
def named(over):
    return over(MemoryBackend(RECORDS))


async def refused(graph, tool, **arguments):
    with pytest.raises(ToolError) as caught:
        await graph.call(tool, arguments)
    return caught.value


@pytest.mark.parametrize(
    ("name", "entity_id"),
    [
        *(("Chaka Yarder", "PER:1"), ("  chaka   YARDER ", "PER:1"), ("c. yarder", "PER:1")),
        *(("Disease: Vetorjor", "DIS:1"), ("drug:vetorjor", "DRUG:1")),
        *(("Person: vetorjor", "PER:4"), ("Disease: Flu", "LAB:2")),
        *(("flu", "DIS:2"), ("Person: Chaka Yarder", "PER:1")),
    ],
)
async def test_an_exact_name_is_taken_and_the_note_says_for_what(named, name, entity_id):
    for tool, arguments in (
        ("bfs_query", {"seeds": name, "max_hops": 1}),
        ("describe_entity", {"id": name}),
        ("describe_entities", {"ids": ["PER:2", name]}),
        ("intersect_subgraphs", {"seeds": [name, "PER:2"], "k": 1}),
    ):
        answer = await tool_calls.asked(named, tool, **arguments)
        [note] = [note for note in answer.notes if "was taken as" in note]
        assert f"was taken as {entity_id} (" in note
        assert f'"{entity_id}"' in answer.text


async def test_an_id_always_wins_over_a_name(named):
    answer = await tool_calls.asked(named, "bfs_query", seeds=["PER:1"], max_hops=1)
    assert answer.content["seeds"] == ["PER:1"]
    assert "notes" not in answer.content


async def test_seeds_stay_in_the_order_given_and_come_once(named):
    given = ["flu", "PER:1", "chaka yarder", "DIS:1"]
    answer = await tool_calls.asked(named, "bfs_query", seeds=given, max_hops=1)
    assert answer.content["seeds"] == ["DIS:2", "PER:1", "DIS:1"]


async def test_a_name_of_several_is_an_error_that_lists_them(named):
    error = await refused(named, "bfs_query", seeds=["PER:1", "olga brandt"], max_hops=1)
    assert (error.kind, error.argument) == ("ambiguous_name", "seeds")
    assert "2 entities" in str(error)
    assert "PER:2 (Ölga Brandt, Person" in str(error)
    assert "PER:3 (Ölga Brandt, Person" in str(error)
    error = await refused(named, "describe_entity", id="Vetorjor")
    assert "PER:4" not in str(error), "a name goes before an alias"
    assert '"Disease: ..."' in str(error)


async def test_a_name_at_the_end_of_a_step_is_looked_up_in_every_call(named):
    await named.counted()
    call = {"seeds": ["PER:1"], "path": ["-STUDIES-> Ölga Brandt"]}
    first, again = [await tool_calls.read(named, "bfs_query", **call) for _ in range(2)]
    assert any("was taken as the 2 entities" in note for note in first["notes"])
    assert again == first


async def test_an_unknown_name_is_an_error_with_what_is_alike(named):
    error = await refused(named, "describe_entity", id="Chaka Yardr")
    assert error.kind == "unknown_entity"
    assert "PER:1 (Chaka Yarder, Person)" in str(error)


async def test_what_describe_entities_leaves_out_is_named(named):
    answer = await tool_calls.asked(
        named, "describe_entities", ids=["PER:1", "olga brandt", "nobody", "flu"]
    )
    assert [record["id"] for record in answer.content["result"]] == ["PER:1", "DIS:2"]
    assert (await named.describe_entities([])).text == "[]"
    notes = " ".join(answer.notes)
    assert '"flu" was taken as DIS:2 (Disease).' in notes
    assert 'Left out: "olga brandt" is the name of 2 entities' in notes
    assert 'No such entity, left out: "nobody"' in notes


async def test_twenty_names_a_call_are_looked_up(over):
    records = [NodeRecord(f"n:{i}", "T", {"name": f"Name {i}"}) for i in range(40)]
    backend, watch = watched(MemoryBackend)(records)
    graph = over(backend)
    names = [f"name {i}" for i in range(30)]
    error = await refused(graph, "bfs_query", seeds=names, max_hops=1)
    assert error.kind == "too_large"
    assert '"name 20" and 9 more' in str(error)
    assert watch.count("search_entities") == 20
    answer = await tool_calls.asked(graph, "describe_entities", ids=names)
    assert len(answer.content["result"]) == 20
    assert [note for note in answer.notes if note.startswith("Left out:") and "20 names" in note]


async def test_a_name_that_very_many_share_costs_one_search(over):
    records = [NodeRecord(f"n:{i:04}", "T", {"name": "Paris"}) for i in range(5_000)]
    backend, watch = watched(MemoryBackend)(records)
    error = await refused(over(backend), "describe_entity", id="paris")
    assert "at least 20 entities" in str(error)
    assert "and 12 more" in str(error)
    assert str(error).count("(Paris, T") == 8
    assert watch.count("search_entities") == 1


@pytest.mark.parametrize(
    ("first", "says"),
    [
        ({"name": "Paris"}, "."),
        ({"name": "Pâris"}, '"T: paris" searches this type alone.'),
        ({"name": "Lutetia", "synonyms": ["Paris"]}, '"T: paris" searches this type alone.'),
    ],
)
async def test_a_full_search_that_ends_with_worse_hits_has_all_of_an_exact_name(over, first, says):
    records = [NodeRecord("n:0", "T", first)]
    records += [NodeRecord(f"n:{i}", "T", {"name": f"Paris {i}"}) for i in range(1, 30)]
    answer = await tool_calls.asked(over(MemoryBackend(records)), "describe_entities", ids="paris")
    [note] = answer.notes
    assert note.endswith(says)
    assert ("others may have this name" in note) == (says != ".")


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        ("Meg Ryann", "a1"),
        ("meg  ryann", "a1"),
        ("Person: Meg Ryann", "a1"),
        ("Alphaa-17", "c"),
        ("Alpha-18", None),  # another number is another thing
        ("Tam Hanks", None),  # two names are as near
        ("Drug: Meg Ryann", None),
        ("Drug: Trial", None),
        ("BRCA13", None),
        ("BRCA21", None),  # the same digits in another order
        ("Meg Smith", None),  # shares a rare word
        ("Meg", None),  # a part of a name
        ("Trials", None),  # as near to a type
        ("a2", None),
    ],
)
@pytest.mark.parametrize("argument", ["seeds", "to"])
async def test_a_misspelt_name_is_taken_where_only_one_is_spelt_alike(argument, value, taken):
    records = [
        NodeRecord("a1", "Person", {"name": "Meg Ryan"}),
        NodeRecord("b1", "Person", {"name": "Tom Hanks"}),
        NodeRecord("b2", "Person", {"name": "Tim Hanks"}),
        NodeRecord("c", "Drug", {"name": "Alpha-17"}),
        NodeRecord("t", "Trial", {"name": "Trial"}),
        NodeRecord("g", "Gene", {"name": "BRCA12"}),
    ]
    call = {"seeds": ["b1"], "to": ["b1"]} | {argument: [value]}
    async with open_graph(MemoryBackend(records)) as graph:
        if taken is None:
            with pytest.raises(ToolError, match="no entity has the id or the name"):
                await graph.call("bfs_query", call)
        else:
            answer = await graph.call("bfs_query", call)
            name = {"a1": "Meg Ryan", "c": "Alpha-17"}[taken]
            assert answer.notes[0].startswith(f'The only name like "{value}" is "{name}": {taken}')
        with pytest.raises(ToolError, match="no entity has the id or the name"):
            await graph.describe_entity(value)


async def test_whole_answers_say_so_and_others_what_is_missing():
    nodes = [NodeRecord(f"n{i}", "T", {"size": i}) for i in range(300)]
    edges = [EdgeRecord("n0", "p", f"n{i}") for i in range(1, 300)]
    whole = ({"seeds": ["n0"]}, {"seeds": ["n0"], "limit": 0}, {"seeds": ["n0"], "fields": ["x"]})
    parts = ({"offset": 9}, {"limit": 9}, {"max_tokens": 500}, {"facets": ["size"]})
    backend = MemoryBackend([*nodes, *edges])
    lines = Limits(answer_format="lines")
    async with open_graph(backend) as graph, open_graph(backend, limits=lines) as in_lines:
        for call in whole:
            assert (await graph.call("bfs_query", call)).content["complete"] is True
            assert "missing: " not in (await in_lines.call("bfs_query", call)).text
        for part in parts:
            call = {"seeds": ["n0"], **part}
            assert "complete" not in (await graph.call("bfs_query", call)).content, part
            text = (await in_lines.call("bfs_query", call)).text
            assert "offset" in part or "missing: " in text or "continue offset" in text, part
        misspelt = await in_lines.call(
            "bfs_query", {"seeds": ["n0"], "where": ["1 not -p->"], "path": ["-p->"]}
        )
        assert misspelt.text.startswith("shown 299")
