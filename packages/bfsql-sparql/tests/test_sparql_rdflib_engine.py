"""How much of the data rdflib examines for an answer, and how often it parses queries."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql.models.rdf import is_iri
from bfsql_sparql import rdflib_queries
from bfsql_sparql.files import Stop
from bfsql_sparql.queries.graph import iri, text
from bfsql_sparql.rdflib_engine import RdflibEngine
from bfsql_testing.conformance.graphs import HOSTILE

EX = "http://ex.org/"


class Counted(Stop):
    """A flag that counts its checks: at least one for each statement."""

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


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that rdflib parses from now on."""
    texts: list[str] = []
    parse = rdflib_queries._parsed

    def counted(query: str) -> Any:
        texts.append(query)
        return parse(query)

    monkeypatch.setattr(rdflib_queries, "_parsed", counted)
    monkeypatch.setattr(rdflib_queries, "_idle", rdflib_queries._Idle())
    return texts


def rows(query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(RdflibEngine().answer(query, Stop(), 1_000_000))[
        "results"
    ]["bindings"]
    return found


TEXTS = st.sampled_from([*HOSTILE, "x:0", "x:1", "", "@en", '"', "\\u0022"]) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8
)
IRIS = st.sampled_from(["x:0", "x:1", "x:99", "urn:a", "http://x.test/a#b", "urn:%22"])


@given(st.lists(TEXTS, min_size=1, max_size=3), IRIS, st.sampled_from(["", "@en", "^^"]))
@settings(max_examples=50, deadline=None)
def test_values_are_what_they_are_though_only_their_form_is_parsed(
    texts: list[str], of: str, more: str
) -> None:
    more = more if more != "^^" else f"^^{iri('urn:datatype')}"
    values = " ".join(f"({text(one)}{more} {iri(of)})" for one in texts)
    test = f"FILTER(?v IN ({text(texts[0])}{more}) && ?i = {iri(of)} && 1000000 > 0)"
    found = rows(f"SELECT ?v ?i {{ VALUES (?v ?i) {{ {values} }} {test} }}")
    tagged = {"@en": {"xml:lang": "en"}, "": {}}.get(more, {"datatype": "urn:datatype"})
    wanted = {
        "v": {"type": "literal", "value": texts[0], **tagged},
        "i": {"type": "uri", "value": of},
    }
    assert found == [wanted] * texts.count(texts[0])


def test_queries_of_one_form_are_parsed_once(parsed: list[str]) -> None:
    for one in (one for one in HOSTILE if len(one) < 100 and "\0" not in one):
        [row] = rows(f"SELECT ?v {{ VALUES ?v {{ {text(one)} }} FILTER(?v = {text(one)}) }}")
        assert row["v"]["value"] == one
        if is_iri(f"urn:{one}"):
            [row] = rows(f"SELECT ?v {{ VALUES ?v {{ {iri(f'urn:{one}')} }} }}")
            assert row["v"]["value"] == f"urn:{one}"
    assert len(parsed) == 2


@pytest.mark.parametrize(
    "query",
    [
        "PREFIX a: <urn:a/> SELECT ?v { VALUES ?v { a:b } }",
        'SELECT ?v { VALUES ?v { <urn:a/b> } # <urn:not> "this"\n}',
        "SELECT ?v { VALUES ?v { <urn:a/b> } FILTER('<urn:c>' != ?v) }",
        'SELECT ?v { VALUES ?v { <urn:a/b> } FILTER("""x"y""" != ?v) }',
        "BASE <urn:a/> SELECT ?v { VALUES ?v { <urn:a/b> } }",
    ],
)
def test_other_queries_are_parsed_as_they_are(query: str) -> None:
    for _ in range(2):
        assert [row["v"]["value"] for row in rows(query)] == ["urn:a/b"]


def test_queries_of_one_form_are_evaluated_by_threads_at_once(parsed: list[str]) -> None:
    def asked(number: int) -> bool:
        values = " ".join(f"<urn:{number}:{at}>" for at in range(50))
        found = rows(f"SELECT ?v {{ VALUES ?v {{ {values} }} FILTER(isIRI(?v)) }}")
        return " ".join(f"<{row['v']['value']}>" for row in found) == values

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(asked, range(40))) == {True}
    assert len(parsed) <= 4
