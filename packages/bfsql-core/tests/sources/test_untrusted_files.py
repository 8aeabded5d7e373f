"""Files that would exhaust a parser are refused in one sentence; honest ones like them are read."""

import gzip
from contextlib import nullcontext

import pytest
from backports import zstd

from bfsql.errors import SourceError
from bfsql.sources import open_source
from bfsql.sources.rdf_guard import TurtleGuard
from bfsql_test_support.commands import run
from bfsql_test_support.hostile_files import ABORTS, HONEST, HOSTILE, NESTED_ENTITIES, statement


def long_ones_slow(names):
    return [pytest.param(n, marks=[pytest.mark.slow] * n.startswith("a long")) for n in names]


@pytest.mark.parametrize("what", long_ones_slow(HOSTILE))
def test_a_hostile_file_is_refused_in_one_sentence(write, what):
    name, content, words = HOSTILE[what]
    path = write(name, content)
    try:
        refused = str(*open_source(path))  # a line that is refused
        assert path.suffix in {".nt", ".nq"}
    except SourceError as error:
        refused = str(error)
    assert words in refused
    assert "\n" not in refused


@pytest.mark.parametrize("what", [name for name in HOSTILE if HOSTILE[name][0] in {"a.nt", "a.nq"}])
def test_a_hostile_line_costs_no_other(write, sort_out, what):
    name, content, words = HOSTILE[what]
    around = [statement("<http://e.org/b>"), statement("<http://e.org/c>")]
    found = sort_out(open_source(write(name, around[0] + content + around[1])))
    assert sorted(edge.object for edge in found.edges) == ["http://e.org/b", "http://e.org/c"]
    (refusal,) = found.refusals
    assert refusal.line == 2
    assert words in refusal.reason


@pytest.mark.parametrize("what", HONEST)
def test_an_honest_file_is_read(write, sort_out, what):
    name, content, value = HONEST[what]
    found = sort_out(open_source(write(name, content)))
    assert [[*node.metadata.values()] for node in found.nodes if node.metadata] == [[value]]


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compressed_file_is_checked_too(tmp_path, ending):
    path = tmp_path / f"a.rdf{ending}"
    path.write_bytes((gzip if ending == ".gz" else zstd).compress(NESTED_ENTITIES))
    with pytest.raises(SourceError, match="which refers to another"):
        list(open_source(path))


@pytest.mark.slow  # a process each
@pytest.mark.parametrize("what", [*ABORTS, "a literal of 4 MB with 600,000 references"])
def test_load_ends_soon(write, tmp_path, programs, what):
    name, content, words = (HOSTILE | HONEST)[what]
    source, store = write(name, content), tmp_path / "graph.json"
    done = run(programs / "bfsql", "load", source, "--path", store)
    if what in HONEST:
        assert done.returncode == 0, done.stderr
    else:
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert words in done.stderr
        assert not store.exists()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_pieces_of_any_size_give_the_same_tokens(size):
    texts = ('"<< \\\\"', '"""<< "" <<"""', "'''<< '' \\' <<'''", "e:O\\'B # << ' \n")
    even = b"".join(map(statement, texts)) + statement("<<( e:a e:b 1 )>>")
    for content, is_deep in ((even * 1_001, False), (even + b"<< " * 1_001, True)):
        guard = TurtleGuard("a.ttl")
        pieces = [content[at : at + size] for at in range(0, len(content), size)]
        with pytest.raises(SourceError) if is_deep else nullcontext():
            for piece in [*pieces, b""]:
                guard.feed(piece)


def test_quotes_that_no_line_closes_do_not_hide_what_follows(write, sort_out):
    deep = HOSTILE["deep terms in N-Triples"][1]
    for broken in (b'<a> <b> "unclosed .\n', b'<a> <b> """ .\n', b"<a> <b> ''' .\n", b"<a <b .\n"):
        found = sort_out(open_source(write("a.nt", broken + deep)))
        assert "nests RDF-star terms" in found.refusals[-1].reason


@pytest.mark.slow  # a process each
@pytest.mark.parametrize("name", ["a.ttl", "a.nt"])
@pytest.mark.parametrize("opened", ['<http://e.org/a> <http://e.org/p> "', '<http://e.org/a"'])
@pytest.mark.parametrize("between", ["\n", "\r", " <b "])
def test_a_term_left_open_hides_no_deep_one_from_the_guard(write, programs, name, opened, between):
    deep = HOSTILE["deep terms in N-Triples"][1].decode()
    text = f'{opened}{between}"> <http://e.org/p> {deep[34:].strip()[:-1]} " .\n'
    path = write(name, text)
    code = (
        "import pathlib, sys; from bfsql.sources import open_source\n"
        "try: list(open_source(pathlib.Path(sys.argv[1])))\n"
        "except Exception as error: print(type(error).__name__)"
    )
    done = run(programs / "python", write("read.py", code), path)
    assert done.returncode == 0, done.stderr
    assert done.stdout in {"", "SourceError\n"}


def test_quotes_after_a_text_hide_nothing():
    deep = HOSTILE["deep terms in Turtle"][1]
    for quotes in (b'"x"""', b"'x'''"):
        with pytest.raises(SourceError, match="line 1: nests"):
            TurtleGuard("a.ttl").feed(b"<a> <b> " + quotes + b" . " + deep)


def test_ends_of_terms_that_never_began_do_not_let_deeper_ones_pass():
    guard = TurtleGuard("a text")
    with pytest.raises(SourceError, match="nests RDF-star terms more than 1,000"):
        guard.feed(b">> " * 20_000 + b"<< " * 1_100)
