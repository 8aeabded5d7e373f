"""RDF files: every format, errors, and the processes that evaluate the queries."""

import asyncio
import gzip
import logging
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pyoxigraph
import pytest

from bfsql import call
from bfsql.errors import StoreError, StoreUnavailable
from bfsql.models.rdf import Literal
from bfsql_sparql.dataset import Blank, Refused, TooSlow, rows, truth
from bfsql_sparql.files import Files, fetching
from bfsql_sparql.settings import SparqlSettings
from bfsql_test_support.servers.stub import Said, answering

XSD = "http://www.w3.org/2001/XMLSchema#"
EX = "http://ex.org/"

TURTLE = f"""\
@prefix ex: <{EX}> .
@prefix xsd: <{XSD}> .
ex:a a ex:Thing ; ex:p ex:b ; ex:name "A" , "Ä"@de ;
  ex:born "2020-01-01T00:00:00Z"^^xsd:dateTime .
"""
NTRIPLES = f"""\
<{EX}a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{EX}Thing> .
<{EX}a> <{EX}p> <{EX}b> .
# a comment
<{EX}a> <{EX}name> "A" .
<{EX}a> <{EX}name> "\\u00C4"@de .
<{EX}a> <{EX}born> "2020-01-01T00:00:00Z"^^<{XSD}dateTime> .
"""
RDF_XML = f"""\
<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="{EX}">
  <ex:Thing rdf:about="{EX}a">
    <ex:p rdf:resource="{EX}b"/>
    <ex:name>A</ex:name>
    <ex:name xml:lang="de">Ä</ex:name>
    <ex:born rdf:datatype="{XSD}dateTime">2020-01-01T00:00:00Z</ex:born>
  </ex:Thing>
</rdf:RDF>
"""
JSON_LD = f"""\
{{"@context": {{"ex": "{EX}", "xsd": "{XSD}"}}, "@id": "ex:a", "@type": "ex:Thing",
  "ex:p": {{"@id": "ex:b"}}, "ex:name": ["A", {{"@value": "Ä", "@language": "de"}}],
  "ex:born": {{"@value": "2020-01-01T00:00:00Z", "@type": "xsd:dateTime"}}}}
"""
SAME = {
    "a.ttl": TURTLE,
    "a.turtle": TURTLE,
    "a.nt": NTRIPLES,
    "a.nq": NTRIPLES.replace(f"<{EX}b> .", f"<{EX}b> <{EX}g> ."),
    "a.trig": TURTLE.replace("ex:a a", "ex:g { ex:a a").replace("dateTime .", "dateTime . }"),
    "a.rdf": RDF_XML,
    "a.owl": RDF_XML,
    "a.jsonld": JSON_LD,
}
EVERYTHING = "SELECT ?s ?p ?o { ?s ?p ?o }"
IN_GRAPHS = "SELECT ?g ?s ?p ?o { GRAPH ?g { ?s ?p ?o } }"

HOLDER = 1
"""The process that holds the graph and forks."""


@pytest.fixture
async def serve(tmp_path):
    """Writes files and opens them; existing paths are opened as they are."""
    opened = []

    async def opens(*paths, settings=None, **texts):
        named = {name.replace("__", "."): text for name, text in texts.items()}
        for name, text in named.items():
            content = text if isinstance(text, bytes) else str(text).encode()
            (tmp_path / name).write_bytes(content)
        data = [*map(str, paths), *(str(tmp_path / name) for name in named)]
        made = SparqlSettings(data=data, **(settings or {}))
        files = await Files.open(made)
        opened.append(files)
        return files

    yield opens
    for files in opened:
        await files.close()


async def best(files, query=EVERYTHING):
    return rows((await files.reply(query)).body)


# --- formats ----------------------------------------------------------------


async def test_each_format_gives_the_same_statements(each, serve, tmp_path):
    statements = {
        (f"{EX}a", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", f"{EX}Thing"),
        (f"{EX}a", f"{EX}p", f"{EX}b"),
        (f"{EX}a", f"{EX}name", Literal("A")),
        (f"{EX}a", f"{EX}name", Literal("Ä", "de")),
        (f"{EX}a", f"{EX}born", Literal("2020-01-01T00:00:00Z", None, f"{XSD}dateTime")),
    }
    for name, text in SAME.items():
        for packed in [False, True]:
            with each(name, packed):
                path = tmp_path / (f"{name}.gz" if packed else name)
                content = b"\xef\xbb\xbf" + text.encode()
                path.write_bytes(gzip.compress(content) if packed else content)
                assert set(await best(await serve(path))) == statements


async def test_several_files_are_one_dataset_and_their_blank_nodes_stay_apart(serve):
    text = f"<{EX}%s> <{EX}p> _:b ."
    files = await serve(a__nt=text % "a", b__ttl=text % "b", c__nq=text % "c")
    solutions = await best(files)
    assert {s for s, _, _ in solutions} == {f"{EX}a", f"{EX}b", f"{EX}c"}
    blanks = {o for _, _, o in solutions}
    assert len(blanks) == 3
    assert all(isinstance(blank, Blank) for blank in blanks)


QUADS = f"""\
<{EX}a> <{EX}p> <{EX}b> <{EX}1> .
<{EX}a> <{EX}p> <{EX}b> <{EX}2> .
<{EX}a> <{EX}p> <{EX}c> .
"""
TRIG = f"""\
<{EX}1> {{ <{EX}a> <{EX}p> <{EX}b> }}
GRAPH <{EX}2> {{ <{EX}a> <{EX}p> <{EX}b> }}
<{EX}a> <{EX}p> <{EX}c> .
"""
GRAPHS_OF_JSON_LD = f"""\
[{{"@id": "{EX}1", "@graph": {{"@id": "{EX}a", "{EX}p": {{"@id": "{EX}b"}}}}}},
 {{"@id": "{EX}2", "@graph": {{"@id": "{EX}a", "{EX}p": {{"@id": "{EX}b"}}}}}},
 {{"@id": "{EX}a", "{EX}p": {{"@id": "{EX}c"}}}}]
"""


async def test_named_graphs_are_kept_and_a_query_without_one_sees_each_statement_once(each, serve):
    for name, text in [("g__trig", TRIG), ("g__nq", QUADS), ("g__jsonld", GRAPHS_OF_JSON_LD)]:
        with each(name, text):
            files = await serve(**{name: text})
            assert sorted(await best(files)) == [
                (f"{EX}a", f"{EX}p", f"{EX}b"),
                (f"{EX}a", f"{EX}p", f"{EX}c"),
            ]
            assert sorted(await best(files, IN_GRAPHS)) == [
                (f"{EX}1", f"{EX}a", f"{EX}p", f"{EX}b"),
                (f"{EX}2", f"{EX}a", f"{EX}p", f"{EX}b"),
            ]


async def test_literals_are_kept_by_value_and_invalid_ones_as_they_are(each, serve):
    for name, format_ in SAME.items():
        with each(name):
            text = format_.replace("2020-01-01T00:00:00Z", "0042").replace("dateTime", "integer")
            odd = text.replace("0042", "no number")
            files = await serve(
                **{f"odd-{name}".replace(".", "__"): odd, name.replace(".", "__"): text}
            )
            assert set(await best(files, f"SELECT ?o {{ <{EX}a> <{EX}born> ?o }}")) == {
                (Literal("42", None, f"{XSD}integer"),),
                (Literal("no number", None, f"{XSD}integer"),),
            }


async def test_relative_paths_begin_where_the_person_is(serve, tmp_path, monkeypatch):
    (tmp_path / "a.ttl").write_text(TURTLE)
    monkeypatch.chdir(tmp_path)
    assert len(await best(await serve(Path("a.ttl")))) == 5


async def test_relative_iris_are_the_file_s_own(serve):
    files = await serve(a__ttl="<#a> <p> <>.", b__jsonld='{"@id": "#b", "http://p/": {"@id": ""}}')
    assert sorted(await best(files)) == [
        ("file:///a.ttl#a", "file:///p", "file:///a.ttl"),
        ("file:///b.jsonld#b", "http://p/", "file:///b.jsonld"),
    ]


async def test_the_prefixes_of_files_are_reported_the_first_file_s_first(serve):
    one = "@prefix x: <http://one/> . @prefix s: <http://s/> .\n@prefix y: <http://y/> .\n"
    files = await serve(a__ttl=one, b__rdf=RDF_XML, c__trig="PREFIX x: <http://other/>\n")
    assert list(files.prefixes.items())[:2] == [("x", "http://one/"), ("y", "http://y/")]
    assert files.prefixes["ex"] == EX


async def test_an_empty_dataset_opens_and_says_so(serve, caplog):
    with caplog.at_level(logging.WARNING, "bfsql"):
        files = await serve(a__ttl="# nothing\n")
    assert "contains no statements" in caplog.text
    assert await best(files) == []
    assert truth((await files.reply("ASK {}")).body)


# --- a folder ---------------------------------------------------------------


async def test_a_store_of_oxigraph_is_served_read_only_with_its_graphs(tmp_path):
    folder = tmp_path / "store"
    store = pyoxigraph.Store(str(folder))
    store.load(f"<{EX}g> {{ <{EX}a> <{EX}p> <{EX}b> }}", format=pyoxigraph.RdfFormat.TRIG)
    store.flush()
    del store
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    files = await Files.open(SparqlSettings(data=[str(folder)]))
    assert await best(files) == [(f"{EX}a", f"{EX}p", f"{EX}b")]
    assert await best(files, IN_GRAPHS) == [(f"{EX}g", f"{EX}a", f"{EX}p", f"{EX}b")]
    await files.close()
    assert (
        before.items() <= {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}.items()
    )


async def test_a_store_of_oxigraph_is_served_alone(serve, tmp_path):
    pyoxigraph.Store(str(tmp_path / "store")).flush()
    with pytest.raises(StoreError, match="is served on its own"):
        await serve(tmp_path / "store", a__ttl=TURTLE)


async def test_a_broken_store_of_oxigraph_is_reported(tmp_path):
    (tmp_path / "CURRENT").write_text("nonsense")
    with pytest.raises(StoreError, match="cannot be opened as an Oxigraph store"):
        await Files.open(SparqlSettings(data=[str(tmp_path)]))


# --- bad input --------------------------------------------------------------


async def test_a_path_that_is_none_is_reported(serve, tmp_path):
    with pytest.raises(StoreError, match=r"absent\.ttl: there is no such file"):
        await serve(tmp_path / "absent.ttl")
    with pytest.raises(StoreError, match="this folder is not an Oxigraph store"):
        await serve(tmp_path)


async def test_a_syntax_error_in_line_7_is_named(each, serve):
    for name, text in [
        ("a__ttl", TURTLE + "\n\nex:a ex:p ; .\n"),
        ("a__ttl", TURTLE + '\n\nex:a ex:p "no end .\nex:a ex:p ex:b .\n'),
        ("a__trig", TURTLE + "\n\nex:a ex:p ; .\n"),
        ("a__nt", NTRIPLES + f"<{EX}a> nonsense .\n"),
        ("a__nt", NTRIPLES + f"<{EX}a> <{EX}p> <{EX}b> <{EX}g> .\n"),
        ("a__nq", NTRIPLES + f"<{EX}a> <{EX}p> <{EX}b> <{EX}g> <{EX}h> .\n"),
        ("a__nq", NTRIPLES.encode() + b'<http://ex.org/a> <http://ex.org/p> "\xff" .\n'),
        ("a__rdf", RDF_XML.replace("<ex:name xml", "<ex:nam xml").replace("<ex:p ", "\n<ex:p ")),
        ("a__rdf", RDF_XML.replace('<ex:name xml:lang="de">', '\n<ex:name rdf:ID="2 2">')),
        ("a__jsonld", "\n\n\n\n\n\n{]"),
    ]:
        with each(name, text):
            place = rf"{name.replace('__', '.')}, line 7: \w"
            with pytest.raises(StoreError, match=place):
                await serve(**{name: text})


async def test_a_syntax_error_early_in_a_large_file_is_named(each, serve, capfd):
    for name in ["a__nt", "a__ttl"]:
        with each(name):
            lines = [f"<{EX}{i}> <{EX}p> <{EX}{i + 1}> .\n" for i in range(200_000)]
            lines[2] = f"<{EX}a> nonsense .\n"
            with pytest.raises(StoreError, match=rf"{name.replace('__', '.')}, line 3: bad syntax"):
                await serve(**{name: "".join(lines)})
            assert "Traceback" not in capfd.readouterr().err


async def test_a_file_that_cannot_be_read_is_reported(each, serve):
    known = r"has no known RDF extension.*\.ttl \.turtle, .*\.jsonld"
    damaged = "not a gzip file, or it is damaged"
    elsewhere = "nothing is fetched|fetch data from elsewhere"
    for name, content, reason in [
        *((name, TURTLE, known) for name in ("a__txt", "a__json", "ttl", "a__gz")),
        ("a__ttl__gz", b"no gzip", damaged),
        ("a__nt__gz", gzip.compress(NTRIPLES.encode())[:-12], damaged),
        ("a__ttl", TURTLE.encode("utf-16-le"), "UTF-16 without a byte order mark"),
        ("a__ttl", TURTLE.encode("cp1252"), "line 3: this is not UTF-8 text.*cp1252 .*Ä"),
        ("a__jsonld", b'{"@context": "http://ex.org/c", "a": 1}', elsewhere),
        ("a__jsonld", b'{"@context": {"@import": "file:///c"}}', elsewhere),
        # The reason of a syntax error is whole, also where a text ends too early.
        ("a__ttl", "\n:a :b :c .", r"line 2: bad syntax: The prefix : has not been declared"),
        ("a__trig", f"<{EX}g> {{ <{EX}a> <{EX}p> <{EX}b> .\n", r"a\.trig, line \d+: bad syntax"),
        ("b__ttl", f'<{EX}a> <{EX}p> """\n\n', r"b\.ttl, line \d+: bad syntax"),
    ]:
        with each(name, content, reason), pytest.raises(StoreError, match=reason):
            await serve(**{name: content})


async def test_utf_16_is_recognised_by_its_byte_order_mark(each, serve):
    for name in ["a.ttl", "a.nt"]:
        with each(name):
            file, text = name.replace(".", "__"), SAME[name]
            plain = set(await best(await serve(**{file: text})))
            assert set(await best(await serve(**{file: text.encode("utf-16")}))) == plain


async def test_external_entities_of_xml_are_left_alone(serve, tmp_path):
    (tmp_path / "outside").write_text("confidential")
    entity = f'<!DOCTYPE r [<!ENTITY e SYSTEM "{(tmp_path / "outside").as_uri()}">]>\n<rdf:RDF'
    document = RDF_XML.replace("<rdf:RDF", entity).replace(">A<", ">A&e;<")
    (outcome,) = await asyncio.gather(serve(a__rdf=document), return_exceptions=True)
    if isinstance(outcome, StoreError):
        assert "confidential" not in str(outcome)
    else:
        assert "confidential" not in repr(await best(outcome))


async def test_a_file_after_a_broken_one_is_served(serve):
    with pytest.raises(StoreError):
        await serve(a__ttl="nonsense")
    assert len(await best(await serve(a__ttl=TURTLE))) == 5


# --- queries ----------------------------------------------------------------


@pytest.fixture
def listener():
    """A server that must receive no requests: its address, and the requests received."""
    came: list[str] = []

    def respond(asked):
        came.append(asked.path)
        return Said(404)

    with answering(respond) as url:
        yield f"{url}/x", came


async def test_what_would_fetch_or_change_or_is_no_query_is_refused(each, serve, listener):
    for query in [
        "SELECT * { SERVICE <URL> { ?s ?p ?o } }",
        "SELECT * { sErViCe SILENT <URL> { ?s ?p ?o } }",
        "SELECT * FROM <URL> { ?s ?p ?o }",
        "SELECT * FROM NAMED <URL> { GRAPH ?g { ?s ?p ?o } }",
        "SELECT * { ?s ?p '\\\\' SERVICE <URL> { ?s ?p ?o } }",
        "SELECT * { \\u0053ERVICE <URL> { ?s ?p ?o } }",
        "SELECT * { ?s ?p 'a\\u0027 . SERVICE <URL> { ?s ?p ?o } #' }",
        "SELECT * { ?s ?p ?o #\n SERVICE <URL> { ?s ?p ?o } }",
        "LOAD <URL>",
        "INSERT DATA { <http://a> <http://b> <http://c> }",
        "DELETE WHERE { ?s ?p ?o }",
        "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }",
        "DESCRIBE <http://ex.org/a>",
        "",
        "SELECT * {",
    ]:
        with each(query):
            address, came = listener
            files = await serve(a__ttl=TURTLE)
            with pytest.raises(Refused):
                await files.reply(query.replace("URL", address))
            assert not came
            assert len(await best(files)) == 5


async def test_a_word_inside_of_a_name_or_text_fetches_nothing(each, serve):
    for query in [
        'ASK { ?s ?p "SERVICE <http://x/> { }" }',
        "ASK { ?s ?p '''FROM ' <http://x/>''' }",
        "ASK { <http://x/from/service> ?service ?from }",
        "PREFIX from: <http://service/> ASK { from:service ?p ?o }",
        "ASK { ?s ?p ?o } # SERVICE",
        'ASK { ?s ?p "@from" FILTER(?s < ?o && ?o > ?p) }',
        'ASK { ?s ?p "\\\\u0022 a service" }',
    ]:
        with each(query):
            assert fetching(query) is None
            files = await serve(a__ttl=TURTLE)
            await files.reply(query)


async def test_a_text_with_an_escaped_escape_stays_as_it_is(serve):
    files = await serve(a__ttl=TURTLE)
    for query in ('SELECT ("\\\\u0022" AS ?x) {}', 'SELECT ("\\\\u0022 } #" AS ?x) {}'):
        text = query.partition('"')[2].rpartition('"')[0].replace("\\\\", "\\")
        assert await best(files, query) == [(Literal(text),)]


async def test_an_answer_above_the_bound_is_refused(serve):
    files = await serve(
        a__nt="".join(f"<{EX}a{i}> <{EX}p> <{EX}b> .\n" for i in range(100)),
        settings={"max_response_bytes": 5_000},
    )
    with pytest.raises(Refused, match="bytes"):
        await files.reply(EVERYTHING)
    assert len(await best(files, EVERYTHING + " LIMIT 10")) == 10


# --- time -------------------------------------------------------------------

LONG = "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?b ?q ?c . ?c ?r ?d . ?d ?s ?e }"
ENDLESS = "SELECT ?a ?b ?c ?d { ?a ?p ?b . ?b ?q ?c . ?c ?r ?d . ?d ?s ?e }"


def crowd(size):
    """A graph with an edge from each node to each."""
    nodes = range(size)
    return "".join(f"<{EX}{a}> <{EX}p> <{EX}{b}> .\n" for a in nodes for b in nodes)


def running():
    """The processes that evaluate queries, and the one that holds the graph."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "bfsql_sparql.oxigraph_process" in one.cmdline():  # a zombie has none
                found.append(one)
    return found


async def until_running(number):
    """Wait until there are so many such processes."""
    end = time.monotonic() + 30
    while len(running()) != number:
        assert time.monotonic() < end, f"there are {len(running())} processes"
        await asyncio.sleep(0.01)


async def test_a_query_over_its_time_is_too_slow_and_ends(serve):
    files = await serve(a__nt=crowd(40))
    for query in (ENDLESS, LONG):  # LONG is inside of a join that gives no row
        with pytest.raises(TooSlow, match=r"more than 0\.2 s"):
            await files.reply(query, 0.2)
        await until_running(HOLDER)
    assert truth((await files.reply("ASK { ?s ?p ?o }")).body)
    await files.close()
    await until_running(0)


async def test_the_deadline_of_the_call_is_a_timeout(serve):
    files = await serve(a__nt=crowd(40))
    with call.scope(seconds=0.2), pytest.raises(TimeoutError) as raised:
        await files.reply(ENDLESS)
    assert not isinstance(raised.value, StoreError)
    await until_running(HOLDER)
    await files.close()
    await until_running(0)


async def test_a_cancelled_query_ends_and_the_loop_was_never_held(serve):
    files = await serve(a__nt=crowd(40))
    asking = asyncio.ensure_future(files.reply(ENDLESS))
    gap = 0.0
    for _ in range(20):
        before = time.monotonic()
        await asyncio.sleep(0.01)
        gap = max(gap, time.monotonic() - before)
    assert not asking.done()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert gap < 10  # although the query never ends
    await until_running(HOLDER)
    await files.close()
    await until_running(0)


async def test_a_cheap_query_does_not_wait_for_an_expensive_one(serve):
    files = await serve(a__nt=crowd(40))
    asking = asyncio.ensure_future(files.reply(LONG))
    await asyncio.sleep(0.1)
    for _ in range(10):
        assert truth((await files.reply("ASK { ?s ?p ?o }")).body)
    assert not asking.done()
    asking.cancel()


async def test_several_queries_run_at_once_and_a_closed_dataset_answers_none(serve):
    files = await serve(a__nt=crowd(10), settings={"max_concurrent": 2})
    replies = await asyncio.gather(*(best(files) for _ in range(8)))
    assert {len(solutions) for solutions in replies} == {100}
    await files.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await files.reply(EVERYTHING)
    await files.close()


async def test_closing_ends_what_is_under_way(serve):
    files = await serve(a__nt=crowd(40))
    asking = asyncio.ensure_future(files.reply(ENDLESS))
    await asyncio.sleep(0.1)
    await files.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await asking
    await until_running(0)


@pytest.mark.parametrize("name", ["a.nt", "a.ttl"])
async def test_reading_can_be_cancelled(tmp_path, name):
    with (tmp_path / name).open("w") as stream:
        for i in range(400_000):
            stream.write(f"<{EX}{i}> <{EX}p> <{EX}{i + 1}> .\n")
    settings = SparqlSettings(data=[str(tmp_path / name)])
    opening = asyncio.ensure_future(Files.open(settings))
    await asyncio.sleep(0.3)
    assert not opening.done()
    before = time.monotonic()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert time.monotonic() - before < 10
    await until_running(0)
    end = time.monotonic() + 60
    while any(thread.name.startswith("bfsql-sparql") for thread in threading.enumerate()):
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


# --- processes --------------------------------------------------------------


async def test_a_query_whose_process_ends_is_refused_and_the_next_one_is_answered(serve):
    files = await serve(a__nt=crowd(40))
    asking = asyncio.ensure_future(files.reply(ENDLESS))
    await until_running(HOLDER + 1)
    max(running(), key=lambda one: one.pid).kill()  # as the system does without memory
    with pytest.raises(Refused, match=r"ended the process .* too much memory") as refused:
        await asking
    assert refused.value.status is not None  # the query was understood
    assert files.changed() is None
    assert len(await best(files, EVERYTHING + " LIMIT 10")) == 10


async def test_a_graph_that_is_lost_with_its_process_counts_as_changed(serve):
    files = await serve(a__nt=crowd(10))
    [holder] = running()
    holder.kill()
    await until_running(0)
    with pytest.raises(StoreUnavailable, match="no process could be started"):
        await files.reply(EVERYTHING)
    assert files.changed() is not None


@pytest.mark.parametrize("what", ["files", "a folder"])
async def test_without_fork_each_process_opens_the_graph_itself(serve, tmp_path, monkeypatch, what):
    if what == "a folder":
        store = pyoxigraph.Store(str(tmp_path / "store"))
        store.load(crowd(40), format=pyoxigraph.RdfFormat.N_TRIPLES)
        store.flush()
        del store
        files = await serve(tmp_path / "store")
    else:
        monkeypatch.delattr(os, "fork")
        files = await serve(a__nt=crowd(40))
    for _ in range(2):
        with pytest.raises(TooSlow):
            await files.reply(LONG, 0.2)
        assert len(await best(files)) == 1_600
    assert len(running()) == 1
    await files.close()
    await until_running(0)


MEMORY = """
import os
from bfsql_sparql import oxigraph_process
oxigraph_process.available = lambda: 200_000_000
oxigraph_process._limit_memory()
bytearray(50_000_000)
print("enough", flush=True)
bytearray(150_000_000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit exists on Linux only")
def test_the_memory_of_a_query_is_limited_beyond_that_of_the_graph():
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "enough\n"
    assert "MemoryError" in done.stderr


SERVES = """
import asyncio, sys
from bfsql_sparql.files import Files
from bfsql_sparql.settings import SparqlSettings

async def main():
    files = await Files.open(SparqlSettings(data=[sys.argv[1]]))
    await files.reply("ASK {}")
    print("open", flush=True)
    await files.reply(sys.argv[2])
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.parametrize("query", ["ASK {}", LONG, ENDLESS])
def test_no_process_is_left_behind_by_a_server_that_is_killed(tmp_path, query):
    (tmp_path / "a.nt").write_text(crowd(40))
    command = [sys.executable, "-c", SERVES, str(tmp_path / "a.nt"), query]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"open\n"
        time.sleep(0.2)  # so that the query has begun
        started = psutil.Process(server.pid).children(recursive=True)
        assert len(started) == 2
        server.kill()
    _, alive = psutil.wait_procs(started, timeout=30)
    assert not alive


def test_no_process_is_left_behind_by_a_server_that_is_killed_while_it_reads(tmp_path):
    with (tmp_path / "a.nt").open("w") as stream:
        for i in range(400_000):
            stream.write(f"<{EX}{i}> <{EX}p> <{EX}{i + 1}> .\n")
    command = [sys.executable, "-c", SERVES, str(tmp_path / "a.nt"), "ASK {}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        end = time.monotonic() + 30
        while not (started := psutil.Process(server.pid).children()):
            assert time.monotonic() < end
            time.sleep(0.01)
        server.kill()
    _, alive = psutil.wait_procs(started, timeout=30)
    assert not alive
