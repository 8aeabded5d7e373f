"""What happens to an existing graph when another one is loaded into its place."""

import os
import sqlite3
import stat
from contextlib import closing

import pytest

from bfsql.errors import LoadRefused, StoreError
from bfsql.loading import load
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_sqlite import SqliteBackend, SqliteSettings, load_graph
from bfsql_sqlite.plugin import plugin
from bfsql_test_support.case_table import case_table

OLD = [
    NodeRecord("a", "person", {"name": "Ada", "age": 36}),
    NodeRecord("b", "person", {"name": "Bob"}),
    EdgeRecord("a", "KNOWS", "b", {"confidence": 0.5}),
    EvidenceRecord("a", "KNOWS", "b", {"text_span": "They met.", "document_id": "d"}),
]


@pytest.fixture
def load_with(file):
    """Loads records into `file`, with options."""

    def load(mode, records, **more):
        return load_graph(SqliteSettings(path=file), records, LoadOptions(mode, **more))

    return load


def names(folder):
    return sorted(path.name for path in folder.iterdir())


async def ids(path):
    with closing(sqlite3.connect(path)) as graph:
        return [id_ for (id_,) in graph.execute("SELECT id FROM node ORDER BY id")]


# --- new ----------------------------------------------------------------------


async def test_a_new_graph_goes_where_nothing_is_or_an_empty_file(load_with, file):
    file.touch()
    report = await load_with(LoadMode.NEW, OLD)
    assert (report.nodes, report.edges) == (2, 1)
    assert (report.place, report.backup) == (str(file), "")
    assert names(file.parent) == ["graph.db"]


@pytest.mark.parametrize("mode", [LoadMode.NEW, LoadMode.APPEND])
async def test_a_graph_of_an_older_layout_can_only_be_replaced(load_with, file, mode):
    await load_with(LoadMode.NEW, OLD)
    with closing(sqlite3.connect(file)) as graph:
        graph.execute("PRAGMA user_version = 1")
    with pytest.raises(LoadRefused, match=r"older layout 1.*--replace"):
        await load_with(mode, OLD)
    assert (await load_with(LoadMode.REPLACE, OLD)).nodes == 2


@case_table("mode", LoadMode)
@case_table("content", [b"my only copy of a thesis", b"SQLite format 3\0" + bytes(200), None])
async def test_what_is_no_graph_is_refused_in_every_mode(load_with, file, mode, content):
    if content is None:  # somebody else's database
        file.unlink(missing_ok=True)
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("CREATE TABLE thesis (chapter)")
    else:
        file.write_bytes(content)
    before = file.read_bytes()
    with pytest.raises(StoreError, match="does not contain a BFS-QL graph, so it is not replaced"):
        await load_with(mode, OLD)
    assert file.read_bytes() == before
    assert names(file.parent) == ["graph.db"]


async def test_a_graph_that_came_during_the_load_stays(load_with, file):
    other = SqliteSettings(path=file.with_name("other.db"))
    await load_graph(other, OLD)

    def meanwhile():
        yield NodeRecord("z", "T")
        other.path.replace(file)

    with pytest.raises(LoadRefused, match="--append"):
        await load_with(LoadMode.NEW, meanwhile())
    assert await ids(file) == ["a", "b"]


# --- replace ------------------------------------------------------------------


async def test_a_graph_that_is_replaced_is_kept_beside_the_new_one(load_with, file):
    for name in ("first", "second", "third"):
        report = await load_with(LoadMode.REPLACE, [NodeRecord(name, "T")])
    backup = file.with_name("graph.db.bak")
    assert (report.place, report.backup) == (str(file), str(backup))
    assert (await ids(file), await ids(backup)) == (["third"], ["second"])
    assert names(file.parent) == ["graph.db", "graph.db.bak"]


async def test_nothing_is_kept_where_that_is_not_wanted(load_with, file):
    await load_with(LoadMode.REPLACE, OLD)
    report = await load_with(LoadMode.REPLACE, OLD, backup=False)
    assert report.backup == ""
    assert names(file.parent) == ["graph.db"]


async def test_a_file_in_the_place_of_the_backup_that_is_no_graph_stays(load_with, file):
    await load_with(LoadMode.REPLACE, OLD)
    backup = file.with_name("graph.db.bak")
    backup.write_text("mine", encoding="utf-8")
    with pytest.raises(StoreError, match=r"graph\.db\.bak exists.*--no-backup"):
        await load_with(LoadMode.REPLACE, [NodeRecord("z", "T")])
    assert backup.read_text(encoding="utf-8") == "mine"
    assert await ids(file) == ["a", "b"]


async def test_without_hard_links_the_old_graph_is_copied(load_with, file, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    await load_with(LoadMode.REPLACE, OLD)
    monkeypatch.setattr(os, "link", refuse)
    await load_with(LoadMode.REPLACE, [NodeRecord("z", "T")])
    assert await ids(file.with_name("graph.db.bak")) == ["a", "b"]
    assert await ids(file) == ["z"]


async def test_a_link_and_the_mode_of_its_file_stay_and_the_backup_is_beside_the_file(tmp_path):
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "real.db", tmp_path / "link.db"
    link.symlink_to(real)
    await load_graph(SqliteSettings(path=link), OLD)
    assert link.is_symlink()
    real.chmod(0o640)
    report = await load_graph(SqliteSettings(path=link), OLD)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert report.backup == str(real.with_name("real.db.bak"))
    assert names(real.parent) == ["real.db", "real.db.bak"]


async def test_records_are_merged_into_the_graph_that_is_there(load_with, file):
    await load_with(LoadMode.APPEND, OLD)
    report = await load_with(
        LoadMode.APPEND,
        [
            NodeRecord("d", "paper", {"name": "On meeting"}),
            NodeRecord("a", "author", {"age": 37}),
            EdgeRecord("a", "KNOWS", "b", {"confidence": 0.9}),
            EdgeRecord("b", "READ", "d"),
        ],
    )
    assert (report.nodes, report.edges, report.evidence) == (3, 2, 1)
    assert (report.duplicate_nodes, report.duplicate_edges) == (1, 1)
    assert names(file.parent) == ["graph.db"]
    backend = await SqliteBackend.create(path=file)
    assert await backend.metadata_for_node("a") == {
        "name": "Ada",
        "age": [36, 37],
        "other_types": ["author"],
    }
    found = await backend.metadata_for_edges_batch([("a", "KNOWS", "b")])
    assert found["a", "KNOWS", "b"]["confidences"] == [0.5, 0.9]
    # The document of an old passage has become a node.
    assert (await backend.provenance_for_node("d", 5))["total"] == 1
    await backend.close()


# --- append and remove --------------------------------------------------------


async def test_a_node_without_a_type_gets_one_later_whatever_it_was_called(load_with, file):
    await load_with(
        LoadMode.NEW, [EdgeRecord("a", "P", "b")], create_nodes=True, default_type="Node"
    )
    await load_with(
        LoadMode.APPEND, [NodeRecord("a", "person", {"name": "Ada"})], default_type="owl:Thing"
    )
    backend = await SqliteBackend.create(path=file)
    found = {node.id: node.entity_type for node in await backend.get_nodes_batch(["a", "b"])}
    assert found == {"a": "person", "b": "Node"}
    assert await backend.metadata_for_node("a") == {"name": "Ada"}
    await backend.close()


async def test_what_is_removed_goes_with_its_edges_and_leaves_no_name(load_with, file):
    secret = {"note": "nobody may read this"}
    await load_with(
        LoadMode.NEW,
        [
            *OLD,
            NodeRecord("gone", "ghost", secret),
            EdgeRecord("gone", "HAUNTS", "a", secret),
            EdgeRecord("a", "SEES", "gone"),
            EdgeRecord("a", "LIKES", "b"),
            EdgeRecord("a", "KNOWS", "only an end", secret),
        ],
    )
    report = await load_with(
        LoadMode.APPEND,
        [NodeRecord("c", "person")],
        remove=[
            NodeRecord("gone", "whatever"),
            NodeRecord("never there", ""),
            EdgeRecord("a", "LIKES", "b", {"confidence": 1}),
            EdgeRecord("a", "KNOWS", "only an end"),
            EdgeRecord("a", "LIKES", "b"),
            EdgeRecord("b", "LIKES", "a"),
        ],
    )
    assert (report.nodes, report.edges) == (3, 1)
    assert (report.removed_nodes, report.removed_edges, report.not_there) == (1, 4, 2)
    assert report.not_there_examples == ["node 'never there'", "edge 'b' 'LIKES' 'a'"]
    assert await ids(file) == ["a", "b", "c"]
    backend = await SqliteBackend.create(path=file)
    assert await backend.entity_types() == ["person"]
    assert await backend.predicates() == ["KNOWS"]
    await backend.close()
    assert b"nobody may read" not in file.read_bytes()
    assert b"HAUNTS" not in file.read_bytes()


async def test_nothing_can_be_removed_where_no_graph_is(load_with, file):
    with pytest.raises(LoadRefused, match="no graph at"):
        await load_with(LoadMode.APPEND, [], remove=[NodeRecord("a", "")])
    assert names(file.parent) == []


async def test_a_damaged_graph_is_not_added_to(load_with, file):
    await load_with(LoadMode.NEW, [NodeRecord(f"n{i}", "T") for i in range(2_000)])
    content = bytearray(file.read_bytes())
    content[4096:80_000] = b"\xff" * (80_000 - 4096)
    file.write_bytes(content)
    with pytest.raises(StoreError, match=r"damaged.*--replace"):
        await load_with(LoadMode.APPEND, OLD)
    assert file.read_bytes() == bytes(content)


# --- from RDF files -----------------------------------------------------------

RDF = """@prefix e: <http://e.org/> .
e:a a e:T ; e:p e:b, e:c ; e:says "x" ; e:says "y" . e:b a e:T . e:c e:p e:a .
"""


async def test_statements_about_one_node_are_no_duplicates(file, tmp_path):
    (tmp_path / "g.ttl").write_text(RDF, encoding="utf-8")
    settings, paths = SqliteSettings(path=file), [tmp_path / "g.ttl"]
    report = await load(plugin, settings, paths, how=LoadOptions())
    assert (report.nodes, report.edges, report.duplicate_nodes) == (3, 3, 0)


async def test_a_statement_that_is_taken_out_does_not_take_its_ends_along(file, tmp_path):
    (tmp_path / "g.ttl").write_text(RDF, encoding="utf-8")
    gone = "@prefix e: <http://e.org/> .\ne:a e:p e:b . e:c a e:T .\n"
    (tmp_path / "gone.ttl").write_text(gone, encoding="utf-8")
    settings, how = SqliteSettings(path=file), LoadOptions(LoadMode.APPEND)
    await load(plugin, settings, [tmp_path / "g.ttl"], how=LoadOptions())
    report = await load(plugin, settings, [], remove=[tmp_path / "gone.ttl"], how=how)
    assert (report.removed_nodes, report.removed_edges, report.not_there) == (1, 3, 0)
    assert await ids(file) == ["e:a", "e:b"]


# --- empty graphs, and progress -----------------------------------------------


async def test_a_graph_without_nodes_or_with_loose_edges_alone_changes_nothing(load_with, file):
    loose = [EdgeRecord("x", "P", "y")]
    for records, reason in (([], "no node"), (loose, "all 1 edges dangle")):
        with pytest.raises(LoadRefused, match=reason):
            await load_with(LoadMode.NEW, records, require_nodes=True)
    respelt = [NodeRecord("1", "T"), EdgeRecord("1.0", "P", "1.0")]
    with pytest.raises(LoadRefused, match=r'different ids: 1, for instance "1" and "1\.0"\.$'):
        await load_with(LoadMode.NEW, respelt, require_nodes=True)
    assert names(file.parent) == []
    report = await load_with(
        LoadMode.NEW, loose, require_nodes=True, create_nodes=True, default_type="Node"
    )
    assert (report.nodes, report.created_nodes) == (2, 2)


async def test_progress_goes_through_the_phases_and_can_end_the_load(load_with, file):
    phases = []
    await load_with(LoadMode.NEW, OLD, progress=lambda *told: phases.append(told))
    assert list(dict.fromkeys(phase for phase, _ in phases)) == ["merging", "writing"]
    assert all(share is None or 0 <= share < 1 for _, share in phases)

    def stop(phase, _):
        if phase == "writing":
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        await load_with(LoadMode.REPLACE, [NodeRecord("z", "T")], progress=stop)
    assert await ids(file) == ["a", "b"]
    assert names(file.parent) == ["graph.db"]
