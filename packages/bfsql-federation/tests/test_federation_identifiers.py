"""Which ids are one entity; and what an operator may write wrong about it."""

import re
from functools import partial
from pathlib import Path

import pytest

from bfsql.errors import ConfigurationError
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.settings import resolve
from bfsql_federation import FederationBackend, FederationSettings, Identifiers, Member
from bfsql_federation.identifiers import COMMON_PREFIXES, read_crosswalk
from bfsql_federation.report import meetings
from bfsql_federation.same_as import joined, stated_pairs

RX = {"RX": ["rx", "http://purl.bioontology.org/ontology/RXNORM/"]}
GRAPHS = {"all": {"backend": "federation"}, "films": {"path": "films.db", "title": "Films"}}


@pytest.mark.parametrize(
    ("spelt", "canonical", "reason"),
    [
        ("rx:1", "RX:1", "prefix RX:"),
        ("http://purl.bioontology.org/ontology/RXNORM/1", "RX:1", "prefix RX:"),
        ("RX:1", "RX:1", ""),
        ("rxx:1", "rxx:1", ""),
        ("aspirin", "RX:1", "crosswalk"),
        ("ASA", "RX:1", "crosswalk"),
        ("", "", ""),
    ],
)
def test_every_spelling_has_one_canonical_id(spelt, canonical, reason):
    same = [("aspirin", "rx:1", "crosswalk"), ("ASA", "aspirin", "crosswalk")]
    identifiers = Identifiers(RX, same)
    assert identifiers.canonical(spelt) == canonical
    assert identifiers.reason(spelt) == reason
    assert spelt in identifiers.spellings(canonical)
    assert {identifiers.canonical(one) for one in identifiers.spellings(canonical)} == {canonical}


def test_common_prefixes_do_not_contradict_each_other():
    identifiers = Identifiers(COMMON_PREFIXES)
    assert identifiers.canonical("http://purl.obolibrary.org/obo/CHEBI_15365") == "CHEBI:15365"
    assert identifiers.canonical("MeSH:D006261") == "MESH:D006261"
    settings = FederationSettings.model_construct(prefixes={"MeSH": ["mesh"]}, common_prefixes=True)
    own = Identifiers(settings.all_prefixes)
    assert own.canonical("mesh:D1") == "MeSH:D1"
    assert own.canonical("http://id.nlm.nih.gov/mesh/D1") == "MESH:D1"


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("a,b\na,c\n", "The crosswalk says that 'a' is 'b', and that it is 'c'"),
        ("a,b\nb,c\nc,a\n", "leads from 'a' in a circle back to"),
        ("id,canonical\na\n", "line 2 of .* It needs two ids"),
        ("a,b,c\n", "line 1 of .* It needs two ids"),
        (b"\xff\xfe,b\n", "cannot be read"),
    ],
)
def test_a_crosswalk_that_is_wrong_says_what(tmp_path, lines, sentence):
    path = tmp_path / "same.csv"
    path.write_bytes(lines if isinstance(lines, bytes) else lines.encode())
    with pytest.raises(ConfigurationError, match=sentence):
        Identifiers({}, read_crosswalk(path))


def test_a_long_chain_and_comments_in_a_crosswalk(tmp_path):
    path = tmp_path / "same.tsv"
    rows = "".join(f"n{k}\tn{k + 1}\n" for k in range(2_000))
    path.write_text(f"id\tcanonical\n# a comment\n\n{rows}")
    identifiers = Identifiers({}, read_crosswalk(path))
    assert {identifiers.canonical(f"n{k}") for k in range(2_001)} == {"n2000"}


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({}, "The setting members is missing"),
        ({"members": {}}, "members"),
        ({"members": {"a": 5}}, "[backend.members.a] needs backend"),
        ({"members": {"a": {"backend": "federation"}}}, "is a federation; name its members here"),
        ({"members": {"a": {"backend": "sqlit"}}}, "sqlite"),
        ({"members": {"a": {"backend": "sqlite", "pth": "x"}}}, "pth in [backend.members.a]"),
        ({"members": {"a": {"backend": "sqlite", "path": "x", "ids": 5}}}, "ids in [backend"),
        (
            {"members": {"a": {"served": "nothing"}}},
            "has as served none of [graphs.NAME]: all, films",
        ),
        ({"members": {"a": {"served": ["films"]}}}, "has as served none of [graphs.NAME]"),
        ({"members": {"a": {"served": "all"}}}, "is a federation; name its members here instead"),
    ],
)
def test_settings_that_are_wrong_say_what(table, sentence):
    with pytest.raises(ConfigurationError, match=re.escape(sentence)):
        resolve(FederationSettings, table=table, graphs=GRAPHS)


def test_a_member_may_be_a_graph_that_is_served_by_itself(tmp_path, monkeypatch):
    table = {"members": {"a": {"served": "films", "rename_types": {"Film": "Movie"}}}}
    read = partial(resolve, FederationSettings, table=table, base=tmp_path, graphs=GRAPHS)
    member = read().settings.members["a"]
    assert (member.name, member.backend.path) == ("sqlite", tmp_path / "films.db")
    assert member.words.rename_types == {"Film": "Movie"}
    monkeypatch.setenv("BFSQL_GRAPHS_FILMS_PATH", "others.db")
    assert read().settings.members["a"].backend.path == Path("others.db")


def test_paths_of_members_are_relative_to_the_file(tmp_path):
    table = {"members": {"a": {"backend": "sqlite", "path": "a.db"}}}
    found = resolve(FederationSettings, table=table, base=tmp_path).settings
    assert found.members["a"].backend.path == tmp_path / "a.db"
    assert str(found.members["a"]) == "sqlite"


def test_a_spelling_of_two_prefixes_is_refused():
    with pytest.raises(ConfigurationError, match="'x:' is a spelling of 'A:' and of 'B:'"):
        Identifiers({"A": ["x"], "B": ["x"]})


async def test_ids_that_graphs_call_the_same_are_one_up_to_a_limit(caplog):
    left = [
        NodeRecord("a:1", "Drug", {"name": "one", "other": "c:9"}),
        NodeRecord("b:1", "Drug"),
        EdgeRecord("a:1", "sameAs", "b:1"),
        *(NodeRecord(f"h:{k}", "Drug") for k in range(6)),
        *(EdgeRecord("h:0", "sameAs", f"h:{k}") for k in range(1, 6)),
    ]
    right = [NodeRecord("b:1", "Chemical", {"mass": 5}), NodeRecord("c:9", "Chemical")]
    members = [Member("left", MemoryBackend(left)), Member("right", MemoryBackend(right))]
    plain = Identifiers({})
    pairs = await stated_pairs(members, ["sameAs", "Drug.other", "Disease.x", "nothing"], plain)
    identifiers = Identifiers({}, joined(pairs, 4))
    assert identifiers.spellings("a:1") == ["a:1", "b:1", "c:9"]
    assert identifiers.canonical("h:3") == "h:3"
    assert "h:0 and 5 more ids are stated to be one entity; they stay apart" in caplog.text
    backend = FederationBackend(members, identifiers)
    found = (await backend.metadata_for_nodes_batch(["b:1"]))["a:1"]
    assert (found["name"], found["mass"], found["graphs"]) == ("one", 5, ["left", "right"])
    assert found["same_as"] == [
        "b:1 (left: sameAs in left)",
        "b:1 (right: sameAs in left)",
        "c:9 (right: Drug.other in left)",
    ]
    assert await backend.edges_batch(["a:1"]) == []  # it would lead from the entity to itself
    told = await meetings(backend)
    assert told.entities == {"left": 7, "right": 1}
    assert told.shared[("left", "right")] == 1
    assert told.largest[0][0] == "a:1"
    await backend.close()
