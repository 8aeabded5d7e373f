"""RDF files in process that would end or hang the server: refused at the command line."""

import subprocess
import sys

import pytest

from bfsql.errors import StoreError
from bfsql_sparql.dataset import rows
from bfsql_sparql.files import open_files
from bfsql_sparql.settings import SparqlSettings
from bfsql_test_support.hostile_files import ABORTS, HONEST, HOSTILE
from bfsql_test_support.servers.port import free_port

RDF = {what: file for what, file in HOSTILE.items() if not file[0].endswith(("graphml", "gexf"))}
WITHOUT_OXIGRAPH = "import sys; sys.modules['oxrdflib'] = None; from bfsql.cli import main; main()"
COMMANDS = {
    "serve": ("serve", "FILE", "--port", "PORT"),
    "explore": ("explore", "FILE", "--no-browser", "--port", "PORT"),
    "describe-schema": ("describe-schema", "--backend", "sparql", "--data", "FILE"),
    "search-entities": ("search-entities", "a", "--path", "FILE"),
}


@pytest.fixture(params=["oxigraph", "rdflib"])
def engine(request):
    return request.param


@pytest.mark.parametrize(
    ("command", "what"),
    [*(("serve", what) for what in ABORTS), *((command, ABORTS[0]) for command in COMMANDS)][1:],
)
def test_a_command_refuses_a_hostile_file_and_ends(tmp_path, engine, what, command):
    name, content, words = HOSTILE[what]
    (tmp_path / name).write_bytes(content)
    values = {"FILE": str(tmp_path / name), "PORT": str(free_port())}
    start = ["-m", "bfsql"] if engine == "oxigraph" else ["-c", WITHOUT_OXIGRAPH]
    done = subprocess.run(
        [sys.executable, *start, *(values.get(word, word) for word in COMMANDS[command])],
        timeout=60,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("what", RDF)
async def test_no_engine_sees_a_hostile_file(tmp_path, engine, what):
    name, content, words = RDF[what]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StoreError) as refused:
        await open_files(SparqlSettings(data=[str(tmp_path / name)]), oxigraph=engine == "oxigraph")
    assert words in str(refused.value)


@pytest.mark.parametrize("what", HONEST)
async def test_an_honest_file_is_read(tmp_path, engine, what):
    name, content, value = HONEST[what]
    if engine == "oxigraph" and content.startswith(b"\xff\xfe"):
        pytest.skip("oxigraph reads RDF/XML in UTF-8 only")
    (tmp_path / name).write_bytes(content)
    files = await open_files(
        SparqlSettings(data=[str(tmp_path / name)]), oxigraph=engine == "oxigraph"
    )
    try:
        found = rows((await files.reply("SELECT ?o { ?s ?p ?o }")).body)
    finally:
        await files.close()
    assert [row[0].text for row in found] == [value]
