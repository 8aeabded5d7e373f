"""RDF in six formats: the same graph in each, ids, literals, faults, memory."""

import tracemalloc

import pytest
import rdflib

from bfsql.errors import SourceError
from bfsql.models import EdgeRecord, NodeRecord, merge_node_records
from bfsql.sources import SourceOptions, open_source, read_all

TURTLE = """@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

ex:ann a ex:Person, ex:Actor ; rdfs:label "Ann"@en ; skos:altLabel "Annie", "A." ;
    ex:age 41 ; ex:height 1.75 ; ex:alive true ; ex:born "1980-02-29"^^xsd:date ;
    ex:note \"\"\"two
lines . \"\"\" ; ex:knows ex:bob, <http://other.net/x> .
ex:bob ex:address [ ex:city "Bonn" ] .
"""
FORMATS = {"ttl": "turtle", "nt": "nt", "rdf": "xml", "jsonld": "json-ld"}
DATASETS = ("nq", "trig")


@pytest.fixture
def converted():
    def serialized(suffix):
        graph = rdflib.Graph().parse(data=TURTLE, format="turtle")
        if suffix == "nq":
            lines = graph.serialize(format="nt").splitlines()
            return "\n".join(line.removesuffix(".") + "<http://e.org/g> ." for line in lines)
        if suffix == "trig":
            prefixes, statements = TURTLE.split("\n\n")
            return f"{prefixes}\nex:g {{ {statements} }}"
        return graph.serialize(format=FORMATS[suffix])

    return serialized


@pytest.mark.parametrize("suffix", [*FORMATS, *DATASETS])
def test_every_format_gives_the_same_graph(read, converted, suffix):
    found = read(f"g.{suffix}", converted(suffix), prefixes={"ex": "http://example.org/"})
    assert set(found.triples) == {
        ("ex:ann", "ex:knows", "ex:bob"),
        ("ex:ann", "ex:knows", "http://other.net/x"),
    }
    assert {node.id for node in found.nodes} == {"ex:ann", "ex:bob", "http://other.net/x"}
    entity_type, metadata = merge_node_records([n for n in found.nodes if n.id == "ex:ann"])
    assert {entity_type, *metadata.pop("other_types")} == {"ex:Person", "ex:Actor"}
    assert metadata == {
        "name": "Ann",
        "synonyms": ["A.", "Annie"],
        "ex:age": 41,
        "ex:height": 1.75,
        "ex:alive": True,
        "ex:born": "1980-02-29",
        "ex:note": "two\nlines . ",
    }
    assert found.refusals == []
    assert found.metadata("ex:bob") == [{"ex:address.ex:city": "Bonn"}]
    assert found.account.notes == [
        ("statements with blank nodes gave 1 value: restrictions of classes, lists, descriptions")
    ]


def test_the_last_statements_beside_blank_nodes_are_read_once(read):
    found = read("g.ttl", '@prefix e: <urn:e:> . e:a e:q [ e:v "x" ] . e:c e:n "last" ; e:n "b" .')
    assert sorted(map(str, found.nodes)) == sorted(set(map(str, found.nodes)))
    assert {"e:n": "last"} in found.metadata("e:c")


def test_an_iri_that_is_only_an_object_is_a_node_of_unknown_type(read):
    found = read("g.nt", "<http://a.org/x> <http://a.org/p> <http://a.org/y> .\n")
    assert found.nodes == [NodeRecord("http://a.org/x", ""), NodeRecord("http://a.org/y", "")]
    assert found.edges == [EdgeRecord("http://a.org/x", "http://a.org/p", "http://a.org/y")]


def test_statements_that_describe_one_node_are_one_record_if_merging_gives_the_same(read):
    text = """@prefix e: <http://e.org/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
e:a e:q 2 ; rdfs:label "A" ; a e:T ; e:p e:b ; e:r 1 ; a e:U ; e:q 3 .
e:b rdfs:label "e:b" ; e:q 1 ; e:l "[2, 1]"^^rdf:JSON ; e:r "x" .
"""
    found = read("g.ttl", text)
    assert found.nodes == [
        NodeRecord("e:a", "", {"e:q": 2, "e:r": 1}),
        NodeRecord("e:a", "", {"e:q": 3}),
        NodeRecord("e:b", "", {"e:q": 1}),
        NodeRecord("e:b", "", {"e:l": [2, 1]}),
        NodeRecord("e:b", "", {"e:r": "x"}),
        NodeRecord("e:a", "e:T", {"other_types": ["e:U"], "name": "A"}),
        NodeRecord("e:b", ""),
    ]
    assert (found.account.nodes, found.account.joined_nodes) == (10, 3)


def test_an_empty_iri_is_refused(read):
    found = read("g.nt", "<> <http://e/p> <http://e/o> .\n<http://e/s> <http://e/p> <> .\n")
    assert [reason for _, reason in found.reasons] == ["subject is missing", "object is missing"]


def test_several_files_share_their_prefixes(write, sort_out):
    first = write("a.nt", "<http://e.org/a> <http://e.org/p> <http://e.org/b> .\n")
    second = write("b.ttl", "@prefix e: <http://e.org/> .\ne:b e:p e:c .\n")
    found = sort_out(read_all([first, second]))
    assert found.triples == [("e:a", "e:p", "e:b"), ("e:b", "e:p", "e:c")]


def test_a_prefix_that_comes_late_holds_from_the_start(read):
    text = "<http://e.org/a> <http://e.org/p> 1 .\n@prefix e: <http://e.org/> .\ne:a e:p 2 .\n"
    assert {node.id for node in read("a.ttl", text).nodes} == {"e:a"}


def test_options_name_prefixes_before_files_and_files_before_the_well_known(read):
    statement = "schema:a schema:p <http://dbpedia.org/resource/B> ."
    text = f"@prefix schema: <https://schema.org/> .\n{statement}"
    assert read("a.ttl", text).triples == [("schema:a", "schema:p", "dbr:B")]
    found = read("a.ttl", text, prefixes={"DBpedia": "http://dbpedia.org/resource/"})
    assert found.triples == [("schema:a", "schema:p", "DBpedia:B")]


def test_ids_are_short_only_where_that_can_be_undone(read):
    text = "<urn:x:1> <http://e.org/> <e:1> .\n<http://e.org/1> <http://e.org/p> <urn:x:2> .\n"
    found = read("a.nt", text, prefixes={"e": "http://e.org/"})
    assert found.triples == [("urn:x:1", "http://e.org/", "<e:1>"), ("e:1", "e:p", "urn:x:2")]


def test_without_prefixes_every_id_is_the_whole_iri(read):
    text = '@prefix e: <http://e.org/> .\ne:a a owl:Class ; e:p e:b ; e:q "text" .\n'
    text = f"@prefix owl: <http://www.w3.org/2002/07/owl#> .\n{text}"
    found = read("a.ttl", text, prefixes=None)
    assert found.triples == [("<http://e.org/a>", "<http://e.org/p>", "<http://e.org/b>")]
    assert found.types("<http://e.org/a>") == {"<http://www.w3.org/2002/07/owl#Class>"}
    assert found.metadata("<http://e.org/a>") == [{"<http://e.org/q>": "text"}]


def test_only_the_languages_asked_for_are_kept(read):
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = (f"<http://e.org/a> {label} {text} ." for text in ('"a"@en-GB', '"b"@de', '"c"'))
    found = read("a.nt", "\n".join(lines), languages=("en",))
    assert found.metadata("http://e.org/a") == [{"name": "a", "synonyms": ["c"]}]


def test_literals_that_are_no_value_of_their_type_stay_text(read):
    integer = "<http://www.w3.org/2001/XMLSchema#integer>"
    double = "<http://www.w3.org/2001/XMLSchema#double>"
    for text, datatype in (("many", integer), ("NaN", double)):
        found = read("a.nt", f'<http://e.org/a> <http://e.org/p> "{text}"^^{datatype} .')
        assert found.metadata("http://e.org/a") == [{"http://e.org/p": text}]


@pytest.mark.parametrize(
    "bad",
    [
        b"oops",
        b"<http://e/a> <http://e/p> .",
        b'<http://e/a> "p" "o" .',
        b"<\xff> <http://e/p> 1 .",
    ],
)
def test_bad_lines_of_n_triples_are_refused_with_their_number(read, bad):
    good = b'<http://e/a> <http://e/p> "x" .\n'
    found = read("a.nt", good + b"# remark\n" + bad + b"\n" + good, encoding="utf-8")
    assert len(found.nodes) == 2
    (refusal,) = found.refusals
    assert refusal.line == 3
    assert "is not a statement in N-Triples" in refusal.reason


def test_lone_surrogates_are_refused_in_ids_and_replaced_in_values(read):
    text = '<http://e/\\uD800> <http://e/p> "x" .\n<http://e/a> <http://e/p> "\\uD800" .\n'
    found = read("a.nt", text)
    assert found.nodes == [NodeRecord("http://e/a", "", {"http://e/p": "\ufffd"})]
    assert "lone surrogate" in found.refusals[0].reason


@pytest.mark.parametrize("ending", ["ttl", "nt"])
def test_iris_and_language_tags_that_the_grammar_forbids_are_read(read, ending):
    iris = ("http://e.org/a b", "http://e.org/a|b", "http://e.org/%zz")
    lines = "".join(f"<{iri}> <http://e.org/p> <http://e.org/o> .\n" for iri in iris)
    lines += '<http://e.org/a> <http://e.org/q> "x"@en-longerthaneight .\n'
    found = read(f"a.{ending}", lines)
    assert {subject for subject, _, _ in found.triples} == {f"<{iri}>" for iri in iris}
    assert found.metadata("http://e.org/a") == [{"http://e.org/q": "x"}]
    assert found.refusals == []


@pytest.mark.parametrize("bad", ['"x"@1, "y"', '"x"@1en, "y"', '"x"@en_US ; e:r "y"'])
def test_a_bad_language_tag_in_turtle_costs_its_statement(read, bad):
    text = f"@prefix e: <http://e.org/> .\ne:a e:p e:b .\ne:b e:q {bad} .\ne:b e:p e:c .\n"
    found = read("a.ttl", text)
    assert sorted(found.triples) == [("e:a", "e:p", "e:b"), ("e:b", "e:p", "e:c")]
    assert {refusal.line for refusal in found.refusals} == {3}
    assert "the rest of the statement is left out" in found.refusals[0].reason


def test_lines_are_read_the_same_in_any_batch(read):
    statement = "<http://e.org/a> <http://e.org/p> <http://e.org/b> .\n"
    broken = '<http://e.org/a> <http://e.org/q> "over\nlines" .\n'
    for before in (0, 1_300):
        found = read("a.nt", statement * before + broken + "# remark\n\n" + statement)
        assert {*found.triples} == {("http://e.org/a", "http://e.org/p", "http://e.org/b")}
        assert [refusal.line for refusal in found.refusals] == [before + 1, before + 2]


def test_text_of_rdf_xml_may_be_divided(read):
    text = f"""<?xml version="1.0" encoding="iso-8859-1"?>
<r:RDF xmlns:r="{rdflib.RDF}" xmlns:e="http://e.org/"><r:Description r:about="http://e.org/a">
<e:p>\u00e9 <!-- a comment --> &lt; <![CDATA[<b> <!-- text --> &amp;]]> <?x y?>.</e:p>
</r:Description></r:RDF>"""
    found = read("a.rdf", text.encode("iso-8859-1"))
    assert found.metadata("e:a") == [{"e:p": "\u00e9  < <b> <!-- text --> &amp; ."}]


@pytest.mark.parametrize("before", [65_400, 65_530, 131_000])
def test_hidden_text_of_rdf_xml_may_lie_at_the_end_of_a_chunk(read, before):
    head = f'<r:RDF xmlns:r="{rdflib.RDF}" xmlns:e="http://e.org/">'
    hidden = "<![CDATA[a <!-- b --> c]]><!-- <![CDATA[ d -->" * 6
    text = f'{head}{" " * before}<r:Description r:about="http://e.org/a"><e:p>{hidden}</e:p>'
    found = read("a.rdf", f"{text}</r:Description></r:RDF>")
    assert found.metadata("e:a") == [{"e:p": "a <!-- b --> c" * 6}]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.ttl", "@prefix e: <http://e/> .\n\ne:a e:b\n\n oops .\n", "line 5: bad syntax"),
        ("a.ttl", "e:a e:b e:c .\n", "line 1: bad syntax: The prefix e: has not been declared"),
        ("a.ttl", "@prefix e: <http://e/> .\ne:a e:b e:c", "line 2: bad syntax"),
        ("a.ttl", "<http://e/a> <http://e/b> <http://e/c ", "line 1: bad syntax"),
        ("a.ttl", '<http://e/a> <http://e/b> "\\uD800" .', "line 1: .*surrogate"),
        ("a.ttl", b'<http://e/a> <http://e/b> "\xff" .', "not UTF-8"),
        ("a.trig", "<http://e/g> {\n<http://e/a> a <http://e/b> .\n", "not closed"),
        ("a.rdf", "<a>\n</b>", "line 2: is not well-formed XML"),
        (
            "a.rdf",
            f'<r:RDF xmlns:r="{rdflib.RDF}">\n<r:li/></r:RDF>',
            "line 2: is not RDF/XML: Invalid",
        ),
        ("a.jsonld", "{", "is not JSON"),
        ("a.jsonld", '{"@context": 5, "@id": "http://e/a"}', "is not JSON-LD"),
        ("a.jsonld", '{"@context": "https://e.org/c"}', "nothing is fetched"),
    ],
)
def test_what_cannot_go_on_says_where_and_why(write, name, text, said):
    with pytest.raises(SourceError, match=said):
        list(open_source(write(name, text)))


def test_the_context_of_schema_org_is_known(read):
    text = (
        '{"@context": "https://schema.org/", "@id": "http://e/a", "@type": "Person", "name": "A"}'
    )
    found = read("a.jsonld", text)
    assert found.types("http://e/a") == {"schema:Person"}
    assert found.metadata("http://e/a") == [{"name": "A"}]


def test_graphs_of_trig_become_one(read):
    text = """@prefix e: <http://e.org/> .
e:a e:p e:b .
e:g { e:b e:p e:c . e:c e:p e:d }
GRAPH e:h { e:d e:p e:e ; e:q "}" . }
{ e:e e:p e:f }
[] { e:f e:p e:g }
"""
    triples = read("a.trig", text).triples
    assert "".join(sorted(s[-1] for s, _, _ in triples)) == "abcdef"


def test_statements_longer_than_the_window_are_read_whole(read):
    objects = ",\n".join(f"e:n{number}" for number in range(20_000))
    text = f"@prefix e: <http://e.org/> .\ne:a e:p {objects} .\ne:z e:p e:y .\n"
    triples = read("a.ttl", text).triples
    assert len(triples) == len(set(triples)) == 20_001


LINES = {
    "a.nt": ("", '<http://e.org/n{}> <http://e.org/p> "value of {}", .\n'.replace(",", ""), ""),
    "a.ttl": ("@prefix e: <http://e.org/> .\n", 'e:n{} e:p "value of {}" .\n', ""),
    "a.trig": (
        "@prefix e: <http://e.org/> .\ne:g {{\n".format(),
        'e:n{} e:p "value of {}" .\n',
        "}",
    ),
    "a.rdf": (
        '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.org/">\n',
        '<r:Description r:about="http://e.org/n{}"><e:p>value of {}</e:p></r:Description>\n',
        "</r:RDF>",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
def test_memory_does_not_grow_with_the_file(write, name):
    head, line, tail = LINES[name]

    def peak(count):
        path = write(name, head + "".join(line.format(n % 500, n) for n in range(count)) + tail)
        stream = open_source(path)
        tracemalloc.start()
        try:
            assert sum(1 for _ in stream) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(100)
    assert peak(6_000) < 1.5 * peak(2_000) + 100_000


def test_without_the_library_the_sentence_names_the_extra(write, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SourceError, match=r'pip install "bfsql-core\[rdf\]"'):
        open_source(write("a.nt", "\n"), SourceOptions())
