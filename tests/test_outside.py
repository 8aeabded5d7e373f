"""Questions of others: the translators and the gold answers, on made-up data of the same form.

Where the data sets themselves are, a sample of their questions is answered, too.
"""

import csv
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from outside.ck25 import CK25, PLANS, windowed
from outside.ckg import ARBITRARY, subjects
from outside.command import BESIDE, Dataset, answered, datasets, main
from outside.cypher import parse, translated
from outside.gold import Gold, NoPlan, OutsideQuestion
from outside.metaqa import MetaQA
from outside.metaqa import translated as film_call
from outside.zograscope import CsvGraph, Joins, Zograscope

from bfsql import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import NodeRecord
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.missing import missing
from bfsql_test_support.questions.stores import in_sqlite
from bfsql_test_support.questions.toolsets import SixTools

# --- the translator of Cypher -----------------------------------------------------

ALL: dict[str, Any] = {"topology_only": True, "max_tokens": 0}


CALLS: list[tuple[str, dict[str, Any]]] = [
    ('MATCH (x0:Ship WHERE x0.flag = "Malta")-[:CALLED_AT]-(x1:Port)\nRETURN COUNT(DISTINCT x0)',
     {"seeds": ["Ship[flag=Malta]"], "path": ["-CALLED_AT- Port"], "show": "0", "limit": 0}),
    ("MATCH (x0:Ship)-[:CALLED_AT]->(x1:Port)<-[:BORN_IN]-(x2 WHERE x2.age > 30)\nRETURN x2",
     {"seeds": ["Ship:*"], "path": ["-CALLED_AT-> Port", "<-BORN_IN- *[age>30]"], "show": "2",
      **ALL}),
    (('MATCH (x0:Ship WHERE x0.name = "I [2]" AND x0.flag = "a|b")-[:CALLED_AT]-(x1:Port)'
     "\nRETURN x0.built\nORDER BY x0.built DESC\nLIMIT 1"),
     {"seeds": ['Ship[name="I [2]"][flag="a|b"]'], "path": ["-CALLED_AT- Port"], "show": "0",
      "fields": ["built"], "sort_by": "-built", "limit": 1}),
    # a fork, and a fork within it: the longest chain is the path
    (("MATCH (x0:Ship)-[:OWNED_BY]-(x4:Firm)\n"
     'MATCH (x0:Ship)-[:CALLED_AT]-(x1:Port)-[:IN]-(x3:Land WHERE x3.code = "MT")\n'
     "MATCH (x1:Port)-[:BORN_IN]-(x2:Person)-[:OWNS]-(x5:Firm)\nRETURN x0.name"),
     {"seeds": ["Ship[-OWNED_BY- Firm]"], "show": "0", "fields": ["name"], "max_tokens": 0,
      "path": ["-CALLED_AT- Port[-BORN_IN- Person -OWNS- Firm]", "-IN- Land[code=MT]"]}),
    # a chain that hangs on a node in its middle leaves it in both directions
    (("MATCH (x0:Ship)-[:CALLED_AT]-(x1:Port)-[:IN]-(x2:Land)\n"
     "MATCH (x3:Person)-[:BORN_IN]->(x1:Port)-[:TWIN_OF]-(x4:Port)\nRETURN x0"),
     {"seeds": ["Ship:*"], "show": "0", **ALL,
      "path": ["-CALLED_AT- Port[<-BORN_IN- Person][-TWIN_OF- Port]", "-IN- Land"]}),
    ("MATCH (x0:Port)-[:TWIN_OF]-(x1:Port)-[:TWIN_OF]-(x2:Port)-[:TWIN_OF]-(x0:Port)\nRETURN x0",
     {"seeds": ["Port:*"], "path": ["-TWIN_OF- Port"] * 3, "show": "0", "where": ["3 = 0"], **ALL}),
    ('MATCH (x0:Ship WHERE x0.flag = "Malta")\nRETURN x0', {"seeds": ["Ship[flag=Malta]"], **ALL}),
]  # fmt: skip


@pytest.mark.parametrize(("cypher", "call"), CALLS)
def test_cypher_becomes_one_call(cypher: str, call: dict[str, Any]) -> None:
    assert translated(parse(cypher)) == call


def test_an_edge_that_only_one_walk_can_take_is_not_taken_twice() -> None:
    chain = "MATCH (a:Box)-[:OF]-(b:Owner)-[:KNOWS]-(c:Owner)-[:KNOWS]-(d:Owner)-[:OF]-(e:Box)"
    query = parse(f"{chain} RETURN a")
    assert translated(query, {("Box", "OF")})["where"] == ["4 != 0"]
    assert translated(query, {("Owner", "OF")})["where"] == ["3 != 1"]
    assert "where" not in translated(query, {("Box", "KNOWS")})
    longer = parse(f"{chain}-[:OF]-(f:Owner)-[:KNOWS]-(g:Owner)-[:OF]-(h:Box) RETURN a")
    assert translated(longer, {("Box", "OF")})["where"] == ["4 != 0", "7 != 0"]


@pytest.mark.parametrize(
    ("cypher", "reason"),
    [
        ("MATCH (a:A)-[:R]-(b:B) MATCH (a)-[:S]-(b) RETURN a", "cycle"),
        (
            "MATCH (a:A)-[:R]-(b:B)-[:R]-(c:C) MATCH (d:D)-[:S]-(b)-[:S]-(e:E) RETURN a",
            "both sides",
        ),
        ("MATCH (a:A)-[:R]-(b:B) RETURN a.x ORDER BY b.y ASC LIMIT 1", "another variable"),
        (
            "MATCH (a:A)-[:R]-(b:B) RETURN a LIMIT 5",
            "does not know this Cypher: ' RETURN a LIMIT 5'",
        ),
        ("MATCH (a:A)-[:R*1..3]-(b:B) RETURN a", "does not know this Cypher: '-[:R*1..3]"),
        ("CREATE (a:A)", "does not know"),
    ],
)
def test_cypher_of_another_form_is_refused_with_the_reason(cypher: str, reason: str) -> None:
    with pytest.raises(NoPlan) as refused:
        translated(parse(cypher))
    assert reason in str(refused.value)


# --- gold -------------------------------------------------------------------------


def test_rows_are_compared_as_sets_and_text_that_is_a_number_as_one() -> None:
    gold = Gold([("12", "a"), ("7", "b"), (None, "c")])
    assert gold.difference([(7.0, "b"), (12, "a"), (12, "a")]) is None
    told = gold.difference([(12, "a"), (8, "b")])
    assert told == "2 rows are right; missing 1 ((7.0, 'b')), wrong 1 ((8.0, 'b'))"


def test_of_ties_any_are_right_but_only_as_many_as_the_limit_leaves() -> None:
    gold = Gold([("a",)], [(1, [("b",), ("c",)])])
    assert gold.difference([("a",), ("b",)]) is None
    assert gold.difference([("a",), ("c",)]) is None
    assert gold.difference([("a",), ("b",), ("c",)]) is not None
    assert gold.difference([("a",)]) is not None
    assert Gold([], [(1, [("b",), (None,)])]).difference([(None,)]) is None


def test_a_window_of_ordered_rows_has_ties_at_its_ends() -> None:
    rows = [("a", 9), ("b", 8), ("c", 8), ("d", 7), ("e", 6), ("f", 6), ("g", 5)]
    assert windowed(rows, 2, 5) == Gold([("d",)], [(1, [("b",), ("c",)]), (1, [("e",), ("f",)])])


# --- a graph of ships, in the form of ZOGRASCOPE -------------------------------------

SHIPS = {
    "nodes.Ship": ":ID,name,built,flag,:LABEL\n1,Ida,99,Malta,Ship\n2,Ada,1004,Malta,Ship\n"
    "3,Eva,1004,Cyprus,Ship\n4,Ivo,,Cyprus,Ship\n",
    "nodes.Port": ":ID,code,:LABEL\n10,A1,Port\n11,B2,Port\n12,C3,Port\n",
    "relationships.CALLED_AT": ":START_ID,:END_ID,:TYPE\n1,10,CALLED_AT\n2,10,CALLED_AT\n"
    "2,11,CALLED_AT\n3,11,CALLED_AT\n4,12,CALLED_AT\n",
}
SHIP_QUESTIONS = [
    ("count", 1, ('MATCH (x0:Ship)-[:CALLED_AT]-(x1:Port WHERE x1.code = "A1")\n'
     "RETURN COUNT(DISTINCT x0)"), ["2"]),
    ("entity_set", 3, ("MATCH (x0:Ship)-[:CALLED_AT]-(x1:Port)-[:CALLED_AT]-(x2:Ship)\n"
     'MATCH (x0:Ship WHERE x0.flag = "Malta")-[:CALLED_AT]-(x3:Port WHERE x3.code = "A1")\n'
     "RETURN x0"), ["1", "2"]),
    ("entity_set", 4, ("MATCH (x0:Ship)-[:CALLED_AT]-(x1:Port)\n"
     'MATCH (x1:Port)-[:CALLED_AT]-(x2:Ship WHERE x2.name = "Ada")\nRETURN x0'), ["1", "2", "3"]),
    ("attribute_set", 5, "MATCH (x0:Ship)-[:CALLED_AT]-(x1:Port)\nRETURN x0.built", ["99", "1004"]),
    ("argmax", 1, ("MATCH (x0:Ship)-[:CALLED_AT]-(x1:Port)\n"
     "RETURN x0.built\nORDER BY x0.built DESC\nLIMIT 1"), ["1004"]),
    ("min", 1, ("MATCH (x0:Ship)-[:CALLED_AT]-(x1:Port)\n"
     "RETURN x0\nORDER BY x0.built ASC\nLIMIT 1"), ["1"]),
    ("min", 1, ('MATCH (x0:Ship WHERE x0.name = "Ivo")-[:CALLED_AT]-(x1:Port)\n'
     "RETURN x0\nORDER BY x0.built ASC\nLIMIT 1"), ["4"]),
]  # fmt: skip


@pytest.fixture
def ships(tmp_path: Path) -> Zograscope:
    """A data set about ships."""
    with ZipFile(tmp_path / "pole-data-importer.zip", "w") as packed:
        for name, text in SHIPS.items():
            packed.writestr(f"ships.{name}.csv", text)
        packed.writestr("neo4j_importer_model.json", "{}")
    rows = [
        {"id": n, "nl": f"question {n}", "mr": cypher, "type": kind, "return_count": count}
        for n, (kind, count, cypher, _) in enumerate(SHIP_QUESTIONS)
    ]
    with (tmp_path / "zograscope_ships.csv").open("w", encoding="utf-8", newline="") as file:
        written = csv.DictWriter(file, rows[0])
        written.writeheader()
        written.writerows(rows)
    return Zograscope(tmp_path)


def test_joins_use_no_edge_twice_within_one_match_and_order_text_that_is_a_number_as_one(
    ships: Zograscope,
) -> None:
    for question, (_, _, _, right) in zip(ships.questions(), SHIP_QUESTIONS, strict=True):
        assert question.gold.difference([(value,) for value in right]) is None, question


async def test_a_question_whose_right_answer_is_in_doubt_is_a_miss_with_the_reason(
    ships: Zograscope,
) -> None:
    path = ships.folder / "zograscope_ships.csv"
    text = path.read_text("utf-8").replace(",entity_set,3", ",entity_set,5")
    path.write_text(text.replace("RETURN COUNT(DISTINCT x0)", "RETURN x0 LIMIT 9"), "utf-8")
    async with open_graph(MemoryBackend(ships.records())) as graph:
        tools = SixTools(graph)
        first, second = [await answered(tools, question) for question in ships.questions()[:2]]
    assert "the translator does not know this Cypher" in str(first.wrong)
    assert "the joins find 3 rows, and the set says 5" in str(second.wrong)
    assert not tools.calls


def test_joins_follow_directions() -> None:
    graph = CsvGraph()
    for name in ("a", "b"):
        graph.add_node({":ID": name, ":LABEL": "A"})
    graph.add_edge(1, {":START_ID": "a", ":END_ID": "b", ":TYPE": "R"})
    graph.add_edge(2, {":START_ID": "b", ":END_ID": "b", ":TYPE": "R"})
    found = {
        arrow: Joins(graph, parse(f"MATCH (x:A){arrow}(y:A) RETURN x")).answer()
        for arrow in ("-[:R]->", "<-[:R]-", "-[:R]-")
    }
    assert [answer.rows for answer in found.values()] == [2, 2, 3]
    assert found["<-[:R]-"].gold.rows == [("b",)]


async def test_plans_are_right_about_ships(ships: Zograscope) -> None:
    await plans_are_right(ships, ships.questions())


# --- films, in the form of MetaQA -----------------------------------------------------


def test_the_type_of_a_question_about_films_names_the_steps() -> None:
    call = film_call("who wrote films with [Ann [A.] Bee]", "writer_to_movie_to_writer")
    assert call == {
        "seeds": ["Ann [A.] Bee"],
        "path": ["<-written_by-", "-written_by->"],
        "show": "ends",
        "where": ["2 != 0"],
        **ALL,
    }
    assert film_call("what about [X]", "movie_to_tags")["path"] == ["-has_tags->"]
    assert "where" not in film_call("what about [X]", "tag_to_movie")
    for question, type_ in (("no brackets", "movie_to_year"), ("[X]", "movie_to_costume")):
        with pytest.raises(NoPlan):
            film_call(question, type_)


@pytest.fixture
def films(tmp_path: Path) -> MetaQA:
    """Three films."""
    triples = [("One", "written_by", "Ann"), ("One", "written_by", "Bob"),
               ("Two", "written_by", "Ann"), ("Two", "directed_by", "Ann"),
               ("Two", "release_year", "1999"), ("Tom", "has_tags", "One")]  # fmt: skip
    names = sorted({end for head, _, tail in triples for end in (head, tail)})
    relations = ["directed_by", "has_tags", "release_year", "written_by"]
    for file, listed in (("entities.dict", names), ("relations.dict", relations)):
        lines = (f"{number}\t{name}\n" for number, name in enumerate(listed))
        (tmp_path / file).write_text("".join(lines), "utf-8")
    lines = (f"{names.index(h)}\t{relations.index(r)}\t{names.index(t)}\n" for h, r, t in triples)
    (tmp_path / "train.txt").write_text("".join(lines), "utf-8")
    questions = "question\tanswers\ttype\nwho wrote with [Ann]\tBob\twriter_to_movie_to_writer\n"
    questions += "films of the director of [Two]'s writers\tAnn|Bob\tmovie_to_director_to_movie\n"
    (tmp_path / "2-hop-dev.tsv").write_text(questions, "utf-8")
    return MetaQA(tmp_path)


async def test_plans_about_films_leave_out_the_start_and_misses_are_reported(films: MetaQA) -> None:
    nodes = [record for record in films.records() if isinstance(record, NodeRecord)]
    films_and_more = {"One": "Film", "Two": "Film", "Tom": "Film", "1999": "Year"}
    types = {node.id: node.entity_type for node in nodes}
    assert types == {**films_and_more, "Ann": "Person", "Bob": "Person"}
    right, wrong = films.questions()
    await plans_are_right(films, [right])
    async with open_graph(MemoryBackend(films.records())) as graph:
        outcome = await answered(SixTools(graph), wrong)
    assert outcome.wrong == (
        "2 hops 2-hop-dev:3: films of the director of [Two]'s writers 2 rows are right; "
        "missing 2 (('Ann',), ('Bob',)), wrong none"
    )


# --- a company, in the form of CK25 ------------------------------------------------------

COMPANY = """\
@prefix pv: <http://example.org/v/> .
@prefix prodi: <http://example.org/i/> .
@prefix unused: <http://example.org/u/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
prodi:h a pv:Employee ; rdfs:label "Heinrich Hoch" ; pv:hasManager prodi:m ; pv:pay 5.5 .
prodi:m a pv:Manager ; rdfs:label "Mona May" ; pv:pay 7 .
prodi:n a pv:Manager ; rdfs:label "Nina Noe" ; pv:pay 7 .
"""
PREFIX = "PREFIX pv: <http://example.org/v/>\n"


@pytest.fixture
def company(tmp_path: Path) -> CK25:
    """Three people."""
    (tmp_path / "prod-inst.ttl").write_text(COMPANY, "utf-8")
    asked = f"{PREFIX}SELECT DISTINCT ?m WHERE {{ <http://example.org/i/h> pv:hasManager ?m }}\n"
    questions = [
        {"id": 3, "question": "Who is the manager of Heinrich Hoch?", "sparql": asked},
        {
            "id": 2,
            "question": "Is there a manager?",
            "sparql": f"{PREFIX}ASK {{ ?m a pv:Manager }}",
        },
    ]
    (tmp_path / "questions.json").write_text(json.dumps(questions), "utf-8")
    return CK25(tmp_path)


async def test_plans_by_hand_are_compared_with_what_sparql_finds(company: CK25) -> None:
    first, second = company.questions()
    assert first.answer == ["http://example.org/i/m"]
    assert first.is_right(["http://example.org/i/m"])
    assert first.is_right("prodi:m")
    assert not first.is_right(["prodi:m", "prodi:h"])
    assert second.answer is True
    await plans_are_right(company, [first])
    async with open_graph(MemoryBackend(company.records())) as graph:
        outcome = await answered(SixTools(graph), second)
    assert "nobody has written a plan" in str(outcome.wrong)
    assert company.prefixes.keys() == {"pv", "prodi", "rdfs"}
    assert company.ntriples().count(b"\n") == 10


def test_a_limit_of_sparql_keeps_its_ties(company: CK25) -> None:
    query = f"{PREFIX}SELECT ?p\nWHERE {{ ?p pv:pay ?pay }}\nORDER BY DESC(?pay)\nLIMIT 1\n"
    people = [("http://example.org/i/m",), ("http://example.org/i/n",)]
    assert company.gold(query).difference(people[:1]) is None
    assert company.gold(query).difference(people[1:]) is None
    assert company.gold(query).difference([("http://example.org/i/h",)]) is not None
    assert company.gold(query.replace("LIMIT 1", "LIMIT 2")).difference(people) is None


# --- a subject, in the form of CKG --------------------------------------------------------

SUBJECT = """ConceptID,ConceptLabel,Dependencies,TaxonomyID
1,Counting,,BASE
2,Adding,1,BASE
3,Introduction to Sums,1,BASE
4,Sums,2|3,MORE
5,From Sums to Means,4|2,MORE
6,Rest,1,MORE
7,Rest,3,BASE
"""
SUBJECT_QUESTIONS = [
    ("What is Sums?", ["Sums", "MORE"], None),
    ("What is Rest?", ["Rest", "BASE"], ARBITRARY),
    ("What are the prerequisites for From Sums to Means?", ["Adding", "Sums"], None),
    ("What are the prerequisites for Rest?", ["Counting"], ARBITRARY),
    ("What is the prerequisite chain from Counting to From Sums to Means?",
     ["Counting", "Adding", "From Sums to Means"], None),
    ("What is the prerequisite chain from Counting to Sums?",
     ["Counting", "Adding", "Sums"], ARBITRARY),
    ("What is the prerequisite chain from Introduction to Sums to Sums?",
     ["Introduction to Sums", "Sums"], None),
    ("What is the prerequisite chain from Counting to Rest?", ["Counting", "Rest"], None),
    ("List all BASE concepts in this knowledge graph",
     ["Counting", "Adding", "Introduction to Sums", "Rest"], None),
    ("How does From Sums to Means relate to Sums?",
     ["From Sums to Means", "Sums", "Adding"], None),
    ("How does Adding relate to Counting?", ["Adding", "Counting"], None),
    ("What are the prerequisites for Adding?", ["Sums"],
     "1 rows are right; missing 1 (('Sums',)), wrong 1 (('Counting',))"),
    ("Why Sums?", ["Sums"], "NoPlan: the question has other words"),
]  # fmt: skip


async def test_plans_about_a_subject_have_all_that_is_right(tmp_path: Path) -> None:
    for name in ("domains", "queries"):
        (tmp_path / name).mkdir()
    (tmp_path / "domains/sums.csv").write_text(SUBJECT, "utf-8")
    given = [
        json.dumps({"id": "q", "type": "T", "query": text, "ground_truth": labels}) + "\n"
        for text, labels, _ in SUBJECT_QUESTIONS
    ]
    (tmp_path / "queries/sums.jsonl").write_text("".join(given), "utf-8")
    [subject] = subjects(tmp_path)
    async with open_graph(MemoryBackend(subject.records())) as graph:
        tools = SixTools(graph)
        outcomes = [await answered(tools, question) for question in subject.questions()]
    assert len(tools.calls) == len(outcomes) - 1
    for outcome, (text, _, told) in zip(outcomes, SUBJECT_QUESTIONS, strict=True):
        assert outcome.wrong == (told and f"T q: {text} {told}")
    assert outcomes[5].score == pytest.approx(6 / 7)
    assert outcomes[0].score == 1


# --- the data sets themselves ----------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "every", "noise"), [("zograscope", 301, 0.01), ("ck25", 1, 0), ("metaqa", 121, 0.08)]
)
@pytest.mark.slow
async def test_plans_are_right_about_a_sample_of_each_data_set(
    name: str, every: int, noise: float, tmp_path: Path
) -> None:
    [data] = fetched(name)
    questions = data.questions(every)
    wrong = await misses(data, questions, tmp_path)
    assert len(wrong) <= noise * len(questions), wrong


@pytest.mark.slow
async def test_plans_about_subjects_miss_only_where_the_given_answer_is_one_of_several(
    tmp_path: Path,
) -> None:
    for subject in fetched("ckg")[:: 1 if THOROUGH else 11]:
        wrong = await misses(subject, subject.questions(1 if THOROUGH else 7), tmp_path)
        assert [one for one in wrong if not one.endswith(ARBITRARY)] == []


async def misses(data: Dataset, questions: Sequence[OutsideQuestion], folder: Path) -> list[str]:
    """The questions whose answer is wrong; each takes one call."""
    async with in_sqlite(data, folder) as [side, _]:
        assert isinstance(side.tools, SixTools)
        outcomes = [await answered(side.tools, question) for question in questions]
    assert all(len(outcome.calls) == 1 for outcome in outcomes)
    return [outcome.wrong for outcome in outcomes if outcome.wrong]


def test_each_question_of_ck25_that_is_here_has_a_plan() -> None:
    [data] = fetched("ck25")
    questions = data.questions()
    assert {int(question.id) for question in questions} == PLANS.keys()


def test_a_folder_that_is_not_there_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["metaqa", "nowhere"])
    assert "There is no folder nowhere. Fetch metaqa as docs/" in capsys.readouterr().err


def fetched(name: str) -> Sequence[Dataset]:
    """The graphs of a data set, or a skipped test."""
    folder = Path(os.environ.get("BFSQL_OUTSIDE", BESIDE), name)
    if not folder.is_dir():
        missing("outside", f"{name} is not here; BFSQL_OUTSIDE names the folder above it")
    return datasets(name, str(folder))


async def plans_are_right(data: Dataset, questions: Sequence[OutsideQuestion]) -> None:
    async with open_graph(MemoryBackend(data.records())) as graph:
        outcomes = [await answered(SixTools(graph), question) for question in questions]
    assert [outcome.wrong for outcome in outcomes] == [None] * len(questions)
