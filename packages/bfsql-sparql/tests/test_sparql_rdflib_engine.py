"""How much of the data rdflib looks at for an answer."""

import json

from bfsql_sparql.files import Stop
from bfsql_sparql.rdflib_engine import RdflibEngine

EX = "http://ex.org/"


class Counted(Stop):
    """A flag that counts how often it was looked at: once a statement, at least."""

    __slots__ = ("looks",)

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def check(self) -> None:
        self.looks += 1
        super().check()


def test_rdflib_looks_up_what_two_values_bind(tmp_path):
    file = tmp_path / "a.nt"
    lines = (f"<{EX}{i}> <{EX}p> <{EX}{i + 1}> .\n" for i in range(2_000))
    file.write_text("".join(lines), encoding="utf-8")
    engine, stop = RdflibEngine(), Counted()
    engine.read(file, "ntriples", Stop())
    values = f"VALUES ?s {{ <{EX}1> <{EX}2> }} VALUES ?p {{ <{EX}p> <{EX}q> }}"
    found = json.loads(engine.answer(f"SELECT ?o {{ {values} ?s ?p ?o }}", stop, 10_000))
    assert {row["o"]["value"] for row in found["results"]["bindings"]} == {f"{EX}2", f"{EX}3"}
    assert stop.looks < 100
