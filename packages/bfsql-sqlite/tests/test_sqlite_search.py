"""Search: results, their order, and texts of any kind."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql import MemoryBackend
from bfsql.models import NodeRecord
from bfsql_sqlite import search_index
from bfsql_sqlite.connection import TABLES
from bfsql_sqlite.queries import FOLDED
from bfsql_sqlite.search import LIMIT, TEXT_BATCH, fold, search
from bfsql_sqlite.search_index import PLACES, entry, index_names, pack, unpack
from bfsql_test_support.case_table import case_table


def node(entity_id, name, *synonyms, kind="disease"):
    named = {"name": name} if name is not None else {}
    return NodeRecord(entity_id, kind, {**named, "synonyms": list(synonyms)})


MEDICAL = [
    node("MeSH:D003480", "Cushing Syndrome", "hypercortisolism", "CS"),
    node("DBPedia:Cushing's_disease", "Cushing disease", "CD"),
    node("paper:1", "Desmopressin in the diagnosis of Cushing disease", kind="paper"),
    node("paper:2", "The syndrome that Harvey Cushing described", kind="paper"),
    node("RxNorm:3251", "desmopressin", "DDAVP", kind="drug"),
    node("Q1", "Ménière's disease"),
    node("Q2", "Straße nach Æthiopien", kind="place"),
    node("Q3", "NF-κB", kind="gene"),
    node("Q4", "東京都", kind="place"),
    node("nameless:77", None, kind="gene"),
    node("H", "Tom Hanks", kind="person"),
    node("R", "Meg Ryan", kind="person"),
]


@pytest.fixture
async def found(opened):
    backend = await opened(MEDICAL)

    async def ids(query, *types):
        return [stub.id for stub in await backend.search_entities(query, list(types) or None)]

    return ids


@case_table(
    ("query", "best"),
    [
        ("RxNorm:3251", "RxNorm:3251"),
        ("  RxNorm:3251\n", "RxNorm:3251"),
        ("rxnorm:3251", "RxNorm:3251"),
        ("mge rayn", "R"),
        ("Tmo Hnaks", "H"),
        ("cushing syndrome", "MeSH:D003480"),
        ("CUSHING  SYNDROME", "MeSH:D003480"),
        ("cd", "DBPedia:Cushing's_disease"),
        ("Hypercortisolism", "MeSH:D003480"),
        ("Cush", "DBPedia:Cushing's_disease"),
        ("syndrome cushing", "MeSH:D003480"),
        ("disease hypercortisolism", None),
        ("cushing hypercortisolism", "MeSH:D003480"),
        ("smopre", "RxNorm:3251"),
        ("meniere's", "Q1"),
        ("MENIÈRE", "Q1"),
        ("strasse", "Q2"),
        ("nf-kb", "Q3"),
        ("κb", "Q3"),
        ("京", "Q4"),
        ("東京", "Q4"),
        ("77", "nameless:77"),
        ("3251", "RxNorm:3251"),
        ("desmopresin", "RxNorm:3251"),
        ("dezmopressin", "RxNorm:3251"),
        ("cushng diseas", "DBPedia:Cushing's_disease"),
        ("Tom Hnaks", "H"),
        ("meg ryna", "R"),
        ("ryna", "R"),
        ("D003481", "MeSH:D003480"),
    ],
)
async def test_what_a_person_types_finds_what_is_meant(found, query, best):
    candidates = await found(query)
    assert candidates[:1] == ([best] if best else candidates[:1])
    assert len(candidates) == len(set(candidates)) <= LIMIT


async def test_better_matches_come_first_and_shorter_names_among_equals(opened):
    backend = await opened(
        [
            node("k", "paracortisolid"),
            node("j", "x", "cortisol free"),
            node("i", "free cortisol in urine"),
            node("h", "free cortisol"),
            node("g2", "cortisol binding"),
            node("g1", "cortisol binding"),
            node("f", "cortisole"),
            node("e", "hydrocortisone", "cortisol"),
            node("d", "Cortisol"),
            node("cortisol", "a steroid hormone"),
        ]
    )
    stubs = await backend.search_entities("cortisol")
    assert [stub.id for stub in stubs] == [
        "cortisol",
        "d",
        "e",
        "f",
        "g1",
        "g2",
        "h",
        "i",
        "j",
        "k",
    ]
    assert stubs[1] == ("d", "disease", "Cortisol", None)


@case_table("nothing", ["", " ", "\n\t", "\0", "\u200b", "\ud800", "zzzzqqqq", "!!!"])
async def test_nothing_is_found_for_nothing(found, nothing):
    assert await found(nothing) == []


@given(st.text(max_size=20))
def test_folding_a_folded_text_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


# --- large graphs ---------------------------------------------------------------

BLOCK = 500
NAMES = 20_000


class Reading(NamedTuple):
    """The results of a search, and how much it read."""

    found: list[str]
    blocks: int
    """Blocks in which terms were looked up, counted separately for each look."""
    texts: int
    """Entries whose names were read."""


def indexed(names, size, *, masks=True):
    """A database with only nodes and the search index, in blocks of a given size."""
    graph = sqlite3.connect(":memory:")
    graph.executescript(TABLES)
    rows = list(names)
    graph.executemany("INSERT INTO node (n, t, id) VALUES (?, ?, ?)", [row[:3] for row in rows])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(search_index, "BLOCK", size)
        if not masks:
            patched.setattr(search_index, "pack", lambda places, _: places)
        entries = (entry(n, entity_id, json.loads(text)) for n, _, entity_id, text in rows)
        graph.executemany("INSERT INTO entry VALUES (?, ?, ?, ?)", entries)
        index_names(graph)
    return graph


def found_in(graph, query, *types):
    statements = []
    graph.set_trace_callback(statements.append)
    stubs = search(graph, query, types, [str(t) for t in range(100)])
    graph.set_trace_callback(None)
    asked = Counter(statement.split(" WHERE ")[0] for statement in statements)
    blocks = asked["SELECT term, places FROM posting"] + asked["SELECT places FROM posting"]
    texts = asked[f"SELECT n, {FOLDED}, others FROM entry"]
    return Reading([stub.id for stub in stubs], blocks, texts * TEXT_BATCH)


@pytest.fixture(scope="module")
def crowd():
    """`common` is in all names, `half` in every second one; type 9 is rare."""

    def names():
        for i in range(NAMES):
            name = f"common {'half ' * (i % 2)}{i:05x}"
            synonyms = ["everyone"] * (i % 2)
            yield (
                i,
                9 if i % 1_000 == 999 else 1,
                f"n{i:05}",
                json.dumps({"name": name, "synonyms": synonyms}),
            )

    with closing(indexed(names(), BLOCK)) as graph:
        yield graph


@case_table(
    ("query", "whole"),
    [
        ("common", 1),
        ("com", 1),
        ("c", 1),
        ("common half", 2),
        ("half common", 3),
        ("half", 3),
        ("everyone", 3),
        ("mmo", 4),
        ("om", 4),
    ],
)
def test_a_word_that_many_share_costs_no_more_than_a_rare_one(crowd, query, whole):
    read = found_in(crowd, query)
    assert len(read.found) == LIMIT
    # An alias equal to the text is always looked up in all blocks, as are terms that occur in none;
    # the other looks stop at the first block with enough results.
    assert read.blocks <= whole * NAMES // BLOCK + 5
    assert read.texts <= 5 * TEXT_BATCH


@case_table(
    ("query", "first"),
    [
        ("common 00012", ["n00018"]),
        ("COMMON half 003e7", ["n00999"]),
        ("n00019", ["n00019"]),
        ("003e7 common", ["n00999"]),
        ("00013", ["n00019"]),
        ("half 00013", ["n00019"]),
        ("comon hafl 003e7", ["n00999"]),
        ("common zzzz", []),
        ("zzzzqqqq", []),
    ],
)
@case_table("types", [(), (9,), (1,)])
def test_each_look_reads_a_block_once(crowd, query, first, types):
    read = found_in(crowd, query, *types)
    if not types:
        assert read.found[: len(first)] == first
    # Looks: prefix, alias, words of names, words of all texts, part, similarity, the same with
    # swapped letters, each rare word.
    assert read.blocks <= (7 + len(query.split())) * NAMES // BLOCK
    assert read.texts <= 2 * NAMES // BLOCK * TEXT_BATCH


def test_blocks_of_any_size_and_form_give_the_same(crowd):
    rows = [
        (n, n % 3, record.id, json.dumps(record.metadata))
        for n, record in enumerate(sorted(MEDICAL, key=lambda record: record.id))
    ]
    queries = [*(name for row in rows for name in json.loads(row[3]).values()), "77", "cushng", "d"]
    with (
        closing(indexed(rows, 1)) as one,
        closing(indexed(rows, 100)) as whole,
        closing(indexed(rows, 100, masks=False)) as lists,
    ):
        for query in map(str, queries):
            for types in ((), (0,), (0, 2)):
                expected = found_in(whole, query, *types).found
                assert found_in(one, query, *types).found == expected
                assert found_in(lists, query, *types).found == expected


@given(st.integers(1, 300), st.data())
def test_places_are_a_list_or_a_mask_whichever_is_shorter(size, data):
    places = sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1)))
    packed = pack(np.array(places, PLACES).tobytes(), size)
    assert len(packed) <= min(2 * len(places), size // 8 + 2)
    read = unpack(packed, size)
    assert (np.flatnonzero(read) if read.dtype == np.bool_ else read).tolist() == places


def test_a_block_holds_as_many_letters_as_there_are():
    letters = [chr(code) for code in (*range(0x3400, 0x4DC0), *range(0x20000, 0x2A6D0))]
    letters += [chr(code) for code in (*range(0x4E00, 0x9FFD), *range(0xAC00, 0xD7A4))]
    assert len(set(letters)) > 1 << 16
    names = ["".join(letters[i::8200]) for i in range(8_200)]
    rows = [(n, 0, f"n{n:04}", json.dumps({"name": name})) for n, name in enumerate(names)]
    with closing(indexed(rows, 1 << 16)) as graph:
        (blocks,) = graph.execute("SELECT count(*) FROM block").fetchone()
        assert blocks == 2
        for n in (0, 17, 8_199):
            assert found_in(graph, names[n][2:7]).found == [f"n{n:04}"]


WORDS = [
    *(node(f"P:{n}", f"Vanlam {name}") for n, name in enumerate(["Chakel", "Drorep", "Golve"])),
    *(node(f"R:{n:02}", f"Report {n} of the centre", kind="report") for n in range(30)),
    *(node(f"M:{n}", f"Memo {n}", f"on Zelkrat {n}", kind="memo") for n in range(5)),
]


CROWD = [*(node(f"p{i:04}", f"cushing {i}", kind="paper") for i in range(500)), *MEDICAL]
NAMESAKES = [node(f"n{i:03}", "John Smith", kind="person") for i in range(100)]
LETTERS = [
    name[:place] + letter + name[after:]
    for name in (str(record.metadata.get("name", "")) for record in MEDICAL)
    for place in range(1, len(name) - 1)
    for letter, after in (("", place + 1), ("q", place))
]
"""Names with a letter missing, or one too many."""


@case_table(
    ("records", "queries", "types"),
    {
        "rare words": (
            WORDS,
            [
                *("VnalamChakel", "Van lam Chakel", "Van lma Chakel", "eMmo 4", "Vnaalm Glove"),
                *("the annual report on zelkrat", "annual report", "memo 9"),
                "vanlam report of zelkrat",
            ],
            [None, ["memo"], ["report"]],
        ),
        "a crowd": (
            CROWD,
            ["cushing", "cush", "shing", "cushng", "cu", "u", "Harvey cushing"],
            [None, [], ["disease"], ["disease", "unheard of"], ["disease", "drug"], ["no"]],
        ),
        "namesakes": (
            NAMESAKES,
            ["john smith", "john", "smith", "ohn smi", "jo", "jhn smiht"],
            [None],
        ),
        "ids and names of other types": (
            MEDICAL,
            ["RxNorm:3251", "rxnorm:3251", "cd", "77", "D003481", "smopre", "meg ryna", "京"],
            [["disease"], ["drug", "paper"], ["no"], ["\ud800"]],
        ),
        "a wrong letter": (MEDICAL, [*LETTERS, "Tom Hanks"], [None]),
    },
)
async def test_search_finds_what_is_found_in_memory(opened, records, queries, types):
    memory, backend = MemoryBackend(records), await opened(records)
    for query in queries:
        for kinds in types:
            found = await backend.search_entities(query, kinds)
            assert found == await memory.search_entities(query, kinds), (query, kinds)


async def test_words_that_a_word_of_the_text_begins_are_found_beside_many_whole_ones(opened):
    names = [*(f"Smith Jon {letter}" for letter in "ABCDE"), "Smith Jonathan"]
    backend = await opened([node(name, name) for name in names])
    assert [stub.name for stub in await backend.search_entities("jon smith")] == names
