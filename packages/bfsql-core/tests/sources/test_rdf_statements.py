"""Statements about statements: which edges they are about, and what these get."""

from collections import defaultdict
from itertools import chain, permutations

from bfsql.models import merge_edges
from bfsql.sources import open_sources
from bfsql.sources.rdf import read_together
from bfsql_test_support.case_table import case_table

PREFIXES = """@prefix : <http://e.org/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix p: <http://www.wikidata.org/prop/> .
@prefix ps: <http://www.wikidata.org/prop/statement/> .
@prefix pq: <http://www.wikidata.org/prop/qualifier/> .
@prefix pqv: <http://www.wikidata.org/prop/qualifier/value/> .
@prefix pr: <http://www.wikidata.org/prop/reference/> .
@prefix wdno: <http://www.wikidata.org/prop/novalue/> .
@prefix wdref: <http://www.wikidata.org/reference/> .
@prefix wdv: <http://www.wikidata.org/value/> .
@prefix wds: <http://www.wikidata.org/entity/statement/> .
"""
PARTS = "rdf:subject :a ; rdf:predicate :p ; rdf:object :b"
AXIOM = "owl:annotatedSource :a ; owl:annotatedProperty :p ; owl:annotatedTarget :b"
WIKIDATA = """wd:Q1 wdt:P69 wd:Q2 ; p:P69 wds:x, wds:y, wds:z, wds:n .
wds:x a wikibase:Statement ; ps:P69 wd:Q2 ; pq:P512 wd:Q3 ; pq:P580 "1890" ; pqv:P580 wdv:v ;
  wikibase:rank wikibase:NormalRank ; prov:wasDerivedFrom wdref:r .
wds:y a wikibase:Statement ; ps:P69 wd:Q7 ; wikibase:rank wikibase:DeprecatedRank .
wds:z a wikibase:Statement ; ps:P69 [] .
wds:n a wikibase:Statement , wdno:P69 .
wdref:r a wikibase:Reference ; pr:P248 wd:Q9 ; pr:P304 "17" .
wdv:v a wikibase:TimeValue ; wikibase:timeValue "1890" .
"""
LATE = {":since": 2020}
NO_EDGE = "statement nodes left out: {}, which are incomplete"
QUOTED = "statement nodes left out: {}, whose edges"
ABOUT = "{} statement{} about"

KINDS = {
    "an annotation": (":a :p :b {| :since 2020 |} .", LATE, [ABOUT.format(1, "")]),
    "sources": (
        ":a :p :b {| prov:wasDerivedFrom :d2, :d1 |} .",
        {"source_documents": [":d1", ":d2"]},
        [ABOUT.format(1, "")],
    ),
    "two annotations": (
        ":a :p :b {| :since 2020 |} {| :since 2021 ; :by :x |} .",
        {":since": [2020, 2021], ":by": ":x", "multiplicity": 2},
        [ABOUT.format(2, "s")],
    ),
    "a named reifier": (":a :p :b ~ :r . :r :since 2020 .", LATE, [ABOUT.format(1, "")]),
    "a triple term": ("_:r rdf:reifies <<( :a :p :b )>> ; :since 2020 . :a :p :b .", LATE, []),
    "the form of RDF-star": ("<< :a :p :b >> :since 2020 . :a :p :b .", LATE, []),
    "in a graph of its own": (":a :p :b . :g { << :a :p :b >> :since 2020 }", LATE, []),
    "reification": (f"[] a rdf:Statement ; {PARTS} ; :since 2020 . :a :p :b .", LATE, []),
    "named reification": (f":r a rdf:Statement ; {PARTS} ; :since 2020 . :a :p :b .", LATE, []),
    "an axiom": (f"[] a owl:Axiom ; {AXIOM} ; :since 2020 . :a :p :b .", LATE, []),
    "a singleton": (":a :p1 :b . :p1 rdf:singletonPropertyOf :p ; :since 2020 .", LATE, []),
    "without metadata": (":a :p :b ~ :r .", {}, []),
    "only quoted": ("<< :a :p :b >> :since 2020 .", None, [QUOTED.format(1)]),
    "a literal": (":a :q 1 {| :since 2020 |} .", None, [NO_EDGE.format(1)]),
    "two levels": (
        ":a :p :b {| :since 2020 {| :by :x |} |} .",
        LATE,
        [ABOUT.format(1, ""), NO_EDGE.format(1)],
    ),
    "a level of a named one": (
        ":a :p :b ~ :r {| :by :x {| :on 7 |} |} .",
        {":by": ":x"},
        [ABOUT.format(2, "s")],
    ),
    "a reifier of two": (
        ":r rdf:reifies <<( :a :p :b )>> , <<( :a :p :c )>> ; :since 2020 . :a :p :b , :c .",
        LATE,
        [ABOUT.format(2, "s")],
    ),
    "ambiguous": (f":r {PARTS} , :c ; :since 2020 . :a :p :b .", {}, [NO_EDGE.format(1)]),
    "incomplete": (":r rdf:subject :a ; :since 2020 . :a :p :b .", {}, [NO_EDGE.format(1)]),
    "a blank value": (":a :p :b {| :since [ :x 1 ] |} .", {}, ["values of statements left out"]),
}


def edges_of(found):
    """The metadata of each edge, merged."""
    records = defaultdict(list)
    for edge in found.edges:
        records[edge.subject, edge.predicate, edge.object].append(edge.metadata)
    return {triple: merge_edges(some) for triple, some in records.items()}


@case_table("text, told, notes", KINDS)
def test_what_is_said_of_a_statement_is_said_of_its_edge(read, text, told, notes):
    found = read("g.trig", PREFIXES + text)
    assert edges_of(found).get((":a", ":p", ":b")) == told
    for note in notes:
        assert any(one.startswith(note) for one in found.account.notes), found.account.notes
    assert not [edge for edge in found.triples if edge[1].startswith(("rdf:", "owl:", ":p1"))]
    assert found.refusals == []


QUOTE = "<< :a :p :b >> :since 2020 ."


@case_table(
    "texts, told",
    {
        "twice": ([":a :p :b . :x :q :y . :a :p :b ."], {}),
        "in two graphs": ([":a :p :b , :c . :g { :a :p :b } :h { :a :p :b }"], {}),
        "in two files": ([":a :p :b .", ":x :q :y .", ":a :p :b ."], {}),
        "twice, and described": ([f":x :p :y . :a :p :b . {QUOTE} :a :p :b ."], LATE),
        "described elsewhere": ([QUOTE, ":x :p :y . :a :p :b ."], LATE),
        "described before and after": (
            [QUOTE, ":a :p :b . :a :q :b .", QUOTE.replace("2020", "2021")],
            {":since": [2020, 2021], "multiplicity": 2},
        ),
        "by a singleton, too": (
            [":a :p :b .", ":a :p1 :b . :p1 rdf:singletonPropertyOf :p ; :since 2020 ."],
            LATE,
        ),
        "quoted in two files": ([QUOTE, QUOTE], None),
    },
)
def test_a_triple_is_one_edge_however_often_the_files_state_it(write, sort_out, texts, told):
    paths = [write(f"{n}.trig", PREFIXES + text) for n, text in enumerate(texts)]
    sources = open_sources(paths)
    read_together(one.rdf for one in sources)
    found = sort_out(chain.from_iterable(one.records for one in sources))
    assert edges_of(found).get((":a", ":p", ":b")) == told
    quoted = [
        note for one in sources for note in one.account.notes if note.startswith("statement n")
    ]
    assert len(quoted) == (0 if told is not None else len(texts))
    assert sum(one.account.edges + one.account.statements for one in sources) == len(found.edges)


def test_statement_nodes_of_wikidata_are_no_nodes(read):
    found = read("g.ttl", PREFIXES + WIKIDATA)
    assert edges_of(found) == {
        ("wd:Q1", "wdt:P69", "wd:Q2"): {
            "pq:P512": "wd:Q3",
            "pq:P580": "1890",
            "wikibase:rank": "wikibase:NormalRank",
            "provenance": [{"document_id": "wd:Q9", "pr:P248": "wd:Q9", "pr:P304": "17"}],
        }
    }
    assert {node.id for node in found.nodes} == {"wd:Q1", "wd:Q2"}
    assert [note[:28] for note in found.account.notes] == [
        "1 statement about an edge: p",
        "statement nodes left out: 2,",
        "statement nodes left out: 1,",
        "values of statements left ou",
    ]
    assert found.account.notes[-1].endswith(": pqv:P580 1, wikibase:timeValue 1")


def test_the_order_of_a_file_does_not_matter(read):
    e, rdf = "<http://e.org/", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    lines = (
        f"{e}a> {e}p> {e}b> .\n",
        f"{e}r> {rdf}reifies> <<( {e}a> {e}p> {e}b> )>> .\n",
        f"{e}r> {e}since> {e}y> .\n",
        f"{e}a> {e}s> {e}b> .\n{e}a> {e}t> {e}b> .\n",
        f"{e}s> {rdf}singletonPropertyOf> {e}p> .\n{e}s> {e}since> {e}z> .\n",
    )
    found = [
        edges_of(read("g.nt", "".join(order), prefixes={"": "http://e.org/"}))
        for order in permutations(lines)
    ]
    assert found[0][":a", ":p", ":b"] == {":since": [":y", ":z"], "multiplicity": 2}
    assert all(one == found[0] for one in found)


@case_table(
    "name, text, line",
    [
        ("a.nt", "<< <http://e/a> <http://e/p> <http://e/b> >> <http://e/q> <http://e/c> .\n", 1),
        ("a.nq", "\n<http://e/a> <http://e/p> << <http://e/a> <http://e/p> _:b >> .\n", 2),
        ("a.ttl", ":x :says <<( :a :p :b )>> .", None),
    ],
)
def test_other_forms_are_refused_with_the_form_of_rdf_1_2(read, name, text, line):
    found = read(name, PREFIXES + text if name == "a.ttl" else text)
    ((at, reason),) = found.reasons
    assert at == line
    assert "_:r rdf:reifies <<( s p o )>>" in reason


def test_a_handle_of_very_many_statements_says_nothing(read):
    edges = ", ".join(f"<<( :a :p :b{n} )>>" for n in range(101))
    found = read("a.ttl", f"{PREFIXES} :r rdf:reifies {edges} ; :since 2020 . :a :p :b1 .")
    assert edges_of(found)[":a", ":p", ":b1"] == {}
    assert found.account.notes[0].startswith(NO_EDGE.format(101))
