"""Folders of tables of strangers, as they are and made dirty, compared with what they mean."""

import csv
import json
import os
import random
import re
import shutil
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from bfsql.errors import SourceError
from bfsql.models.records import EdgeRecord, NodeRecord, Refusal
from bfsql.sources import SourceOptions, open_sources
from bfsql.sources.keys import predicate_of, type_of
from bfsql.sources.options import NO_OPTIONS
from bfsql.sources.reading_file import write_reading
from bfsql.sources.related_tables import related_tables
from bfsql_test_support.case_table import case_table
from bfsql_test_support.missing import missing

ROOT = Path(__file__).parents[4]
CSV = (
    *("acme-insurance", "camtrap", "china-divisions", "indonesia-headerless", "jaffle-shop"),
    *("ldbc-snb", "portal-mammals", "pypsa-ac-dc", "switch-3zone"),
)
DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
OTHERS = {
    "oemof-workbook": "scenario.xlsx",
    "antarctic-survey": "survey.db",
    "chinook": "Chinook_Sqlite.sqlite",
}


@pytest.fixture(scope="module")
def tables():
    """The folders of strangers' tables."""
    path = Path(os.environ.get("BFSQL_TABLES", ROOT.parent / "shared" / "data" / "tables"))
    if not (path / "README.md").exists():
        missing("tables", "the folders of tables are not here; BFSQL_TABLES names their folder")
    return path


def _graph(*paths, **options):
    """The types of nodes, the edges, what was refused, and the notes of a load."""
    sources = open_sources(paths, SourceOptions(**options))
    types, edges, refused = {}, set(), []
    for source in sources:
        for record in chain(source.records, source.references or ()):
            match record:
                case NodeRecord():
                    types.setdefault(record.id, record.entity_type)
                case EdgeRecord():
                    edges.add((record.subject, record.predicate, record.object))
                case Refusal():
                    refused.append(str(record))
    return types, edges, refused, [note for one in sources for note in one.account.notes]


def _counts(types, edges):
    """The numbers of nodes of each type and of edges of each predicate, without the names."""
    nodes, predicates = Counter(types.values()), Counter(predicate for _, predicate, _ in edges)
    return sorted(nodes.values()), sorted(predicates.values())


def _choice(folder):
    """What each table is read as, with its key and its references."""
    return {
        one.name: (one.kind, one.key, [(ref.columns, ref.to) for ref in one.references])
        for one in related_tables([folder], NO_OPTIONS).readings
    }


@pytest.mark.parametrize("name", [*CSV, *OTHERS])
def test_strangers_tables_are_read_as_they_mean(tables, name):
    truth = json.loads((tables / name / "truth.json").read_text())
    types, edges, refused, _ = _graph(tables / name / "tables" / OTHERS.get(name, ""))
    expected = sorted(truth["nodes"].values()), sorted(truth["edges"].values())
    assert (_counts(types, edges), refused) == (expected, [])


def _spoil(rows, columns, how, rng):
    """Change a tenth of the rows of a table."""
    if how == "duplicates":
        return rows + [row for row in rows if rng.random() < 0.1]
    if how == "dates":
        columns = [at for at, cell in enumerate(rows[0]) if DATE.match(cell)]
    for row in rows:
        for at in (at for at in columns if at < len(row) and row[at] and rng.random() < 0.1):
            number = rng.randrange(10**6, 10**7)
            unknown = number if row[at].isdigit() else f"x{number}"
            row[at] = {
                "unknown": str(unknown),
                "n/a": rng.choice(("n/a", "-", "null", "")),
                "lists": rng.choice("|;,").join((row[at], rng.choice(rows)[at])),
                "dates": DATE.sub(r"\3.\2.\1", row[at]),
            }.get(how, row[at])
    return rows


@case_table("how", ["unknown", "n/a", "duplicates", "footer", "mark", "lists", "dates"])
def test_dirt_does_not_change_the_reading(tables, tmp_path, how):
    for name in ("camtrap", "jaffle-shop", "portal-mammals", "indonesia-headerless"):
        truth = json.loads((tables / name / "truth.json").read_text())
        folder = shutil.copytree(tables / name / "tables", tmp_path / name)
        for table in truth["tables"].values():
            with (folder / table["file"]).open(encoding="utf-8-sig", newline="") as file:
                rows = [*csv.reader(file)]
            head = rows[: "header" not in truth["read"]]
            names = head[0] if head else [*map(str, range(len(rows[0])))]
            columns = [names.index(one["column"]) for one in table["references"]]
            rows = head + _spoil(rows[len(head) :], columns, how, random.Random(1))
            rows += [["Total: 17"]] if how == "footer" and len(rows[0]) > 1 else []
            encoding = "utf-8-sig" if how == "mark" else "utf-8"
            with (folder / table["file"]).open("w", encoding=encoding, newline="") as file:
                csv.writer(file).writerows(rows)
        assert _choice(folder) == _choice(tables / name / "tables")
        if name not in {"camtrap", "jaffle-shop"}:
            continue  # they are large
        types, edges, refused, notes = _graph(folder)
        assert not refused
        if how in {"footer", "mark", "dates", "duplicates"}:
            assert (types, edges) == _graph(tables / name / "tables")[:2]
        assert how != "footer" or "Total: 17" in " ".join(notes)


LAB = {
    "people.csv": "id,name\n1,Ada\n2,Bob\n3,Eve\n",
    "tags.csv": "code,label\nred,Red\nblue,Blue\n",
    "samples.csv": "id,collected_by,tags,mass\n1,1,red|blue,0.5\n2,2,red;blue,0.7\n3,7,blue,0.9\n"
    "4,3,n/a,1.5\n" + "".join(f"{n},{n % 3 + 1},,{n}.5\n" for n in range(5, 12)),
}


@pytest.fixture
def lab(tmp_path):
    for name, text in LAB.items():
        (tmp_path / name).write_text(text)
    return tmp_path


EDGES = {
    *((f"samples:{n}", "collected_by", f"people:{n % 3 + 1}") for n in range(5, 12)),
    *(("samples:1", "collected_by", "people:1"), ("samples:2", "collected_by", "people:2")),
    *(("samples:3", "collected_by", "people:7"), ("samples:4", "collected_by", "people:3")),
    *((f"samples:{n}", "tags", f"tags:{tag}") for n, tag in ((1, "red"), (1, "blue"))),
    *((f"samples:{n}", "tags", f"tags:{tag}") for n, tag in ((2, "red"), (2, "blue"))),
    ("samples:3", "tags", "tags:blue"),
}


def test_lists_are_split_and_unknown_references_have_the_type_of_the_others(lab):
    types, edges, refused, notes = _graph(lab)
    assert edges == EDGES
    assert not refused
    assert types["people:7"] == types["people:1"] == "person"
    assert any("1 row refers to no key of people, for instance 7" in note for note in notes)


def _written(lab):
    readings, file = related_tables([lab], NO_OPTIONS).readings, lab / "lab.toml"
    write_reading(file, readings, [lab], lab / "lab.db", NO_OPTIONS)
    return file


def test_a_kept_reading_is_the_same_also_after_a_column_was_added(lab):
    before = _graph(lab)
    file = _written(lab)
    assert _graph(file) == before
    text = LAB["people.csv"].replace("id,name", "age,id,name")
    (lab / "people.csv").write_text(text.replace("\n", "\n7,").removesuffix("7,"))
    assert _graph(file)[:3] == before[:3]


@case_table(
    ("old", "new", "said"),
    [
        (
            'key = "code"',
            'key = "cod"',
            r"the column 'cod', which tags does not have.*did you mean",
        ),
        ("[nodes.tags]", "[nodes.tagz]", r"there is no table 'tagz'\. Did you mean tags"),
        ('to = "people"', 'to = "peple"', r"refers to 'peple', which is no table with a key"),
        ("left_out =", "leftout =", r"leftout is unknown\. Did you mean left_out"),
        ('type = "tag"', 'typ = "tag"', r"typ in \[nodes\.tags\] is unknown\. Did you mean type"),
        ("sources = [", "sources = {[", "cannot be read as TOML"),
        ("sources = [", "sources = []\nleft = [", "left is unknown|sources is missing"),
    ],
)
def test_faults_of_a_kept_reading_say_what_would_be_right(tmp_path, old, new, said):
    for name, text in LAB.items():
        (tmp_path / name).write_text(text)
    file = _written(tmp_path)
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(SourceError, match=f"(?i){said}"):
        _graph(file)


def test_tables_without_references_or_with_a_form_of_their_own_are_read_as_before(tmp_path):
    (tmp_path / "nodes.csv").write_text("id,name,boss_id\na,A,\nb,B,a\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    types, edges, _, _ = _graph(tmp_path)
    assert (set(types), edges) == ({"a", "b"}, {("a", "related_to", "b")})
    assert set(_graph(tmp_path / "nodes.csv")[0]) == {"a", "b"}


def test_equal_keys_of_tables_are_different_nodes_and_two_folders_may_have_one_name(tmp_path):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        rows = "id,team_id\n" + "".join(f"{n},{n % 3 + 1}\n" for n in range(1, 9))
        (tmp_path / folder / "players.csv").write_text(rows)
    (tmp_path / "teams.csv").write_text("id,name\n1,Reds\n2,Blues\n3,Greens\n")
    types, edges, _, _ = _graph(tmp_path)
    assert len(types) == 8 + 8 + 3
    assert ("x.players:1", "team", "teams:2") in edges
    assert Counter(types.values())["y.player"] == 8


def test_a_relation_is_an_edge_with_metadata_and_a_table_without_a_key_a_node_each_row(tmp_path):
    (tmp_path / "films.csv").write_text("film_id,title\n1,A\n2,B\n3,C\n")
    (tmp_path / "actors.csv").write_text("actor_id,name\n1,X\n2,Y\n3,Z\n")
    (tmp_path / "film_actor.csv").write_text("film_id,actor_id,role\n1,1,a\n1,2,b\n3,3,c\n")
    (tmp_path / "votes.csv").write_text("film_id,stars\n1,5\n1,5\n1,4\n9,5\n")
    types, edges, _, notes = _graph(tmp_path)
    assert ("films:1", "film_actor", "actors:2") in edges
    votes = sorted(edge for edge in edges if edge[1] == "film")
    assert votes == [(f"votes:{n}", "film", f"films:{to}") for n, to in ((1, 1), (3, 1), (4, 9))]
    assert types["films:9"] == "film"
    assert any(note.startswith("1 row is equal to an earlier one") for note in notes)


def test_rows_without_an_end_and_footers_are_counted_and_candidates_are_named(tmp_path):
    films = "".join(f"{n},A{n}\n" for n in range(1, 13))
    actors = "".join(f"{n},X{n},{n // 4 or ''}\n" for n in range(1, 12))
    pairs = "".join(f"{a},{b},\n" for a in range(1, 13) for b in range(1, 12))
    (tmp_path / "films.csv").write_text(f"film_id,title\n{films}(3 rows)\n")
    (tmp_path / "actors.csv").write_text(f"actor_id,name,reportsTo\n{actors}")
    (tmp_path / "film_actor.csv").write_text(f"film_id,actor_id,role\n{pairs}1,-,x\nn/a,3,y\n,2,\n")
    (tmp_path / "parts.csv").write_text("part,film_id\na,1\nb,n/a\nc,2\nd,3\n")
    (tmp_path / "notes.csv").write_text("about,said\n,a text of four words\nx,\n")
    types, edges, refused, notes = _graph(tmp_path)
    assert not refused
    assert Counter(types.values()) == {"film": 12, "actor": 11, "part": 4}
    assert Counter(predicate for _, predicate, _ in edges) == {"film_actor": 132, "film": 3}
    assert {
        "film_id: rows without a value are left out: empty 1, n/a 1",
        "actor_id: rows without a value are left out: - 1",
        "film_id: rows without a value are left out: (3 rows) 1",
        "film_id: read as missing: n/a 1",
        "left out",
    } <= {*notes}
    found = {one.name: one for one in related_tables([tmp_path], NO_OPTIONS).readings}
    assert ("reportsTo", "actors or films") in found["actors"].candidates
    assert (found["notes"].kind, found["notes"].key_reason) == ("left out", "text or empty")
    file = _written(tmp_path)
    text = file.read_text()
    assert "# [nodes.notes]" in text
    file.write_text(text.replace("# [nodes.notes]", "[nodes.notes]"))
    assert Counter(_graph(file)[0].values())["note"] == 2


def test_tables_of_folders_that_count_from_one_or_are_deep_stay_apart(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t.csv").write_text("id,name\n1,x\n2,y\n")
    assert len(_graph(tmp_path)[0]) == 4
    (tmp_path / "a" / "u.csv").write_text("id,size\n1,5\n2,6\n")
    assert len(_graph(tmp_path / "a")[0]) == 4
    (tmp_path / "c" / "d").mkdir(parents=True)
    (tmp_path / "c" / "d" / "edges.csv").write_text("source,target\na,b\n")
    assert _graph(tmp_path / "c")[1] == {("a", "related_to", "b")}


def test_a_short_text_before_a_name_is_the_key(tmp_path):
    (tmp_path / "Städte.csv").write_text("Kürzel;Name\nB;Berlin\nM;München\nK;Köln\n")
    (tmp_path / "Straßen.csv").write_text("Nr;Straße;Stadt\n1;Allee;B\n2;Weg;M\n3;Platz;B\n")
    edges = {("Straßen:1", "Stadt", "Städte:B"), ("Straßen:2", "Stadt", "Städte:M")}
    assert _graph(tmp_path)[1] == edges | {("Straßen:3", "Stadt", "Städte:B")}


@case_table(
    ("table", "type_"),
    [
        *(("orders", "order"), ("cities", "city"), ("movies", "movie"), ("species", "species")),
        *(("buses", "bus"), ("houses", "house"), ("boxes", "box"), ("people", "person")),
        *(("OrderItems", "OrderItem"), ("statuses", "status"), ("raw_orders_2", "raw_order_2")),
        *(
            ("addresses", "address"),
            ("Städte", "Städte"),
            ("analyses", "analysis"),
            ("注文", "注文"),
        ),
    ],
)
def test_a_type_is_the_tables_name_in_the_singular(table, type_):
    assert type_of(table) == type_


@case_table(
    ("column", "predicate"),
    [
        *(
            ("顧客ID", "顧客"),
            ("ÄrzteId", "Ärzte"),
            ("customer_id", "customer"),
            ("customerID", "customer"),
            ("CustomerId", "Customer"),
        ),
        *(
            ("collected_by", "collected_by"),
            ("id", "id"),
            ("Person.id", "Person"),
            ("paid", "paid"),
        ),
    ],
)
def test_a_predicate_is_the_column_without_a_word_for_ids(column, predicate):
    assert predicate_of(column) == predicate
