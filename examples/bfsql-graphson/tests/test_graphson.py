"""A graph as TinkerPop writes it, found by its content, and lines that are no vertex."""

from pathlib import Path

from bfsql.models import EdgeRecord, NodeRecord
from bfsql.models.records import Refusal
from bfsql.sources import open_sources

MODERN = """\
{"id":{"@type":"g:Int32","@value":1},"label":"person","outE":{"created":[{"id":{"@type":"g:Int32",\
"@value":9},"inV":{"@type":"g:Int32","@value":3},"properties":{"weight":{"@type":"g:Double",\
"@value":0.4}}}]},"properties":{"name":[{"id":{"@type":"g:Int64","@value":0},"value":"marko"}],\
"city":[{"id":1,"value":"Aachen","properties":{"since":2004}},{"id":2,"value":"Bonn"}]}}
{"id":{"@type":"g:Int32","@value":3},"label":"software"}
[]
{"id":{"@type":"g:Int32","@value":4},"label":"software","outE":[]}
"""


def test_vertices_and_edges_are_read_and_what_is_lost_is_said(tmp_path: Path) -> None:
    (tmp_path / "modern.json").write_text(MODERN)
    (source,) = open_sources([tmp_path / "modern.json"])
    marko, edge, software, broken, wrong = source.records
    assert marko == NodeRecord("1", "person", {"name": "marko", "city": ["Aachen", "Bonn"]})
    assert edge == EdgeRecord("1", "created", "3", {"weight": 0.4})
    assert software == NodeRecord("3", "software", {})
    assert isinstance(broken, Refusal)
    assert isinstance(wrong, Refusal)
    assert (broken.line, wrong.line, wrong.reason) == (3, 4, "outE is not an object")
    assert source.account.format == "graphson"
    assert source.account.notes == ["1 values have properties of their own, which were left out"]


def test_other_json_is_left_to_its_own_format(tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text('[{"id": 1, "label": "one"}]')
    (source,) = open_sources([tmp_path / "graph.json"])
    assert source.account.format == "json"
    assert list(source.records) == [NodeRecord("1", "", {"name": "one"})]
