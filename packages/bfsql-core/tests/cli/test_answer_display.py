"""Answers on a terminal: a tree or a table of what was asked for, in at most 30 lines."""

import io
import json
from typing import Any

from rich.console import Console

from bfsql.answers import Answer
from bfsql.cli.answer import show
from bfsql.cli.command import escape


def display(tool, content, notes=(), *, colours=False, every_line=False, **arguments):
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=colours, highlight=False)
    answer = Answer(json.dumps(content), content, notes)
    show(tool, answer, arguments, console, every_line=every_line)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def node(id_: str, of_type: str = "T", **fields: object) -> dict[str, Any]:
    names = {"paths", "measure", "distinct", "via"}
    metadata = {key: value for key, value in fields.items() if key not in names}
    own = {key: fields[key] for key in names & fields.keys()}
    return {"id": id_, "entity_type": of_type, "metadata": metadata, **own}


def edge(text: str) -> dict[str, str]:
    return dict(zip(("subject", "predicate", "object"), text.split(), strict=True))


def subgraph(nodes: list[dict[str, Any]], edges: list[str], **changes: object) -> dict[str, Any]:
    counts = {"node_count": len(nodes), "edge_count": len(edges)}
    summary = {"node_counts": {"T": len(nodes)}, "edge_counts": {"p": len(edges)}}
    content = {"seeds": [n["id"] for n in nodes[:1]], "schema_summary": summary, **counts}
    return content | {"nodes": nodes, "edges": list(map(edge, edges))} | changes


def test_a_neighbourhood_is_one_tree_with_each_node_once():
    nodes = [node(i, name=i.upper(), year=7) for i in "abc"] + [node("alone")]
    content = subgraph(nodes, ["b p a", "b q c", "c r c", "c s a", "b t a"])
    assert display("bfs_query", content, fields=["year", "name"]).splitlines() == [
        "A (year: 7) a",
        "├── <-p, t- B (year: 7) b",
        "│   └── -q-> C (repeated)",
        "└── <-s- C (year: 7) c",
        "    └── -r-> C (repeated)",
        "alone T",
        "4 nodes, 5 edges.",
    ]


def test_a_path_is_a_tree_from_its_seed():
    nodes = [node("ron", name="Ron", paths=2), *(node(i) for i in ("film", "tom", "other"))]
    edges = ["tom ACTED_IN film", "ron DIRECTED film", "tom DIRECTED film", "tom ACTED_IN other"]
    content = subgraph(nodes, edges, seeds=["tom"], shown_count=1)
    path = ["-ACTED_IN-> Film", "<-DIRECTED- Person"]
    assert display("bfs_query", content, path=path).splitlines() == [
        "tom T",
        "├── -ACTED_IN, DIRECTED-> film T",
        "│   └── <-DIRECTED- Ron (2 paths) ron",
        "└── -ACTED_IN-> other T",
        "1 result; the paths have 4 nodes and 4 edges.",
    ]


def test_the_end_of_a_path_is_a_table_with_its_numbers_and_no_empty_column():
    nodes = [node("r", name="Ron", born=1954, paths=3, measure=[3, 2.5]), node("film")]
    content = subgraph(nodes, [], shown_count=21)
    call = {"show": "ends", "measure": ["count 1", "mean 1.rating"], "sort_by": "-paths"}
    head, _, row, end = display("bfs_query", content, **call).splitlines()
    assert head.split() == ["name", "paths", "count", "1", "mean", "1.rating", "id"]
    assert row.split() == ["Ron", "3", "3", "2.5", "r"]
    assert end == "21 results; the paths have 2 nodes and 0 edges. Showing 1 of 21."


def test_sorted_nodes_are_a_table_in_their_order():
    nodes = [node("b", name="B", year=2), node("a", "U", name="A", year=1)]
    shown = display("bfs_query", subgraph(nodes, ["a p b"]), sort_by="-year")
    rows = [line.split() for line in shown.splitlines()]
    assert rows[0] == ["name", "type", "year", "id"]
    assert rows[2:4] == [["B", "T", "2", "b"], ["A", "U", "1", "a"]]
    assert shown.endswith("\n2 nodes, 1 edge. Leave out --sort-by to see the edges.")


def test_walks_are_rows_below_the_steps():
    walks = [{"nodes": ["a", "b"], "edges": [">p"]}, {"nodes": ["b", "a"], "edges": ["<p"]}]
    content = subgraph([node("a", name="A"), node("b")], [], walks=walks, walk_count=9)
    lines = display("bfs_query", content, path=["-- T"]).splitlines()
    assert lines[0].split() == ["seed", "--", "T"]
    assert lines[2].split() == ["A", "-p->", "b"]
    assert lines[3].split() == ["b", "<-p-", "A"]
    assert lines[-1] == "9 walks over 2 nodes and 0 edges. Showing 2 of 9."
    walks = [{**walk, "values": {"gap": gap}} for walk, gap in zip(walks, (2.5, None), strict=True)]
    content = subgraph([node("a"), node("b")], [], walks=walks, walk_count=2)
    lines = display("bfs_query", content, path=["-- T"]).splitlines()
    assert [line.split()[-1] for line in lines[:3:2]] == ["gap", "2.5"]


def test_groups_are_their_values_with_a_line_about_all():
    facet = {"count": 3, "missing": 1, "distinct": 2, "mean": 5 / 3, "values": [["x", 2]]}
    content = subgraph([], [], facets={"year": facet | {"other_values": 1}}, seeds=["T:*"])
    shown = display("bfs_query", content, limit=0).splitlines()
    assert shown[0] == "year: 3 values, missing 1, distinct 2, mean 1.66667"
    assert [line.split() for line in shown[3:5]] == [["x", "2"], ["1", "other", "values"]]


def test_counts_alone_are_by_type():
    shown = display("bfs_query", subgraph([], [], node_count=103), limit=0)
    assert shown.split("\n")[-1] == "103 nodes, 0 edges."
    assert "type   number" in shown


def test_what_two_entities_share_is_drawn_from_one_to_the_other():
    nodes = [node("film"), node("tom", via=True), node("meg", via=True)]
    content = subgraph(nodes, ["tom p film", "meg p film"], seeds=["tom", "meg"], common_count=1)
    assert display("intersect_subgraphs", content, connect=True).splitlines() == [
        "tom T",
        "└── -p-> film T",
        "    └── <-p- meg T",
        "1 node in common; with connections 3 nodes, 2 edges.",
    ]


def test_thirty_lines_are_shown_and_how_to_see_more():
    nodes = [node(f"n{number}", name="N") for number in range(60)]
    content = subgraph(nodes, [f"n0 p n{number}" for number in range(1, 60)])
    lines = display("bfs_query", content).splitlines()
    assert len(lines) == 32
    assert lines[-2:] == ["... 30 more lines: --all shows them.", "60 nodes, 59 edges."]
    assert len(display("bfs_query", content, every_line=True).splitlines()) == len(nodes) + 1


def test_hits_that_are_only_similar_are_dim():
    hits = [
        {"id": "a", "entity_type": "T", "name": "N", "score": None, "match": "words"},
        {"id": "b", "entity_type": "T", "name": "M", "score": None, "match": "similar"},
    ]
    head, _, _, second = display("search_entities", {"result": hits}, colours=True).splitlines()
    assert "score" not in head
    assert "\x1b[2m" in second
    assert "Nothing was found." in display("search_entities", {"result": []})


def test_an_entity_is_laid_out_with_its_relations_and_evidence():
    item = {"subject": "a", "predicate": "p", "object": "b", "text_span": "so it is"}
    item |= {"document_id": "d:1", "confidence": 0.5}
    content = {"id": "a", "entity_type": "T", "name": "A", "born": 1956, "more": {"x": 1}}
    content |= {"edges": {"-p->": 3000}, "provenance": {"total": 7, "items": [item]}}
    assert display("describe_entity", content).splitlines() == [
        "A  T  a",
        "  born          1956",
        '  more          {"x":1}',
        "",
        "Relations",
        "  -p->          3,000",
        "",
        "Evidence (1 of 7)",
        "  a -p-> b",
        "    so it is",
        "    d:1, confidence 0.5",
    ]
    assert "1956" in display("describe_entities", {"result": [content, {"id": "b"}]})


def test_a_schema_is_two_tables_without_what_is_written_for_models():
    content = {
        "graph_description": "Films.",
        "comprehensive": True,
        "entity_types": ["Film", "Person"],
        "predicates": ["ACTED_IN"],
        "node_counts": {"Film": 1200, "Person": 3},
        "relations": ["Person -ACTED_IN-> Film (7)"],
        "properties": {"Film": ["year: 1..9"], "ACTED_IN": ["role"]},
        "next_steps": "Call bfs_query.",
        "tool_usage_notes": "Read notes.",
    }
    lines = [line.split() for line in display("describe_schema", content).splitlines()]
    assert lines[0] == ["Films."]
    assert ["Film", "1,200", "year:", "1..9"] in lines
    assert ["Person", "-ACTED_IN->", "Film", "7", "role"] in lines
    assert not any("bfs_query." in line or "notes." in line for line in lines)
    bare = {"entity_types": ["Film"], "predicates": ["SEEN"], "comprehensive": False}
    shown = display("describe_schema", bare)
    assert "SEEN" in shown
    assert "further types" in shown


def test_notes_are_marked():
    content = subgraph([node("a")], [])
    shown = display("bfs_query", content, ("Cut: 5 nodes.",), colours=True)
    assert "\x1b[1;33mnote: \x1b[0mCut: 5 nodes." in shown


def test_text_of_a_graph_is_neither_markup_nor_a_command_to_the_terminal():
    content = subgraph([node("a", name="Tom [red]Hanks[/red]"), node("\u202eb")], ["a p \u202eb"])
    content["nodes"][1]["id"] = content["edges"][0]["object"] = "\u202eb"
    shown = display("bfs_query", content)
    assert "Tom [red]Hanks[/red]" in shown
    assert "\u202e" not in shown
    evil = [{"id": "x\x1b]0;owned\x07", "entity_type": "T\u202e", "name": "[bold]:smile:"}]
    shown = display("search_entities", {"result": evil}, ("\x1b[2J",))
    assert not set("\x1b\x07\u202e") & set(shown)
    assert "x\\u001b]0;owned\\u0007" in shown
    assert "[bold]:smile:" in shown


def test_escaping_keeps_tabs_newlines_and_every_script():
    assert escape("a\tb\nc é 漢 \r") == "a\tb\nc é 漢 \\u000d"
