"""RDF files in process that would end or hang the server: refused at the command line."""

import subprocess

import pytest

from bfsql.errors import StoreError
from bfsql_sparql.dataset import rows
from bfsql_sparql.files import Files
from bfsql_sparql.settings import SparqlSettings
from bfsql_test_support.hostile_files import ABORTS, HONEST, HOSTILE
from bfsql_test_support.servers.port import free_port

RDF = {what: file for what, file in HOSTILE.items() if not file[0].endswith(("graphml", "gexf"))}
COMMANDS = {
    "serve": ("serve", "FILE", "--port", "PORT"),
    "explore": ("explore", "FILE", "--no-browser", "--port", "PORT"),
    "describe-schema": ("describe-schema", "--backend", "sparql", "--data", "FILE"),
    "search-entities": ("search-entities", "a", "--path", "FILE"),
}


def test_a_command_refuses_a_hostile_file_and_ends(each, tmp_path, programs):
    for command, what in [
        *(("serve", what) for what in ABORTS),
        *((command, ABORTS[0]) for command in COMMANDS),
    ][1:]:
        with each(command, what):
            name, content, words = HOSTILE[what]
            (tmp_path / name).write_bytes(content)
            values = {"FILE": str(tmp_path / name), "PORT": str(free_port())}
            done = subprocess.run(
                [programs / "bfsql", *(values.get(word, word) for word in COMMANDS[command])],
                timeout=60,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 2
            assert words in done.stderr
            assert "Traceback" not in done.stderr


async def test_oxigraph_does_not_see_a_hostile_file(each, tmp_path):
    for name, content, words in RDF.values():
        with each(name):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(StoreError) as refused:
                await Files.open(SparqlSettings(data=[str(tmp_path / name)]))
            assert words in str(refused.value)


async def test_an_honest_file_is_read(each, tmp_path):
    for name, content, value in HONEST.values():
        with each(name):
            (tmp_path / name).write_bytes(content)
            files = await Files.open(SparqlSettings(data=[str(tmp_path / name)]))
            try:
                found = rows((await files.reply("SELECT ?o { ?s ?p ?o }")).body)
            finally:
                await files.close()
            assert [row[0].text for row in found] == [value]
