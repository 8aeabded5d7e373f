"""Tests of `bfsql load` for every store, with files such as users have.

The module of a store names the store:

    class TestUserFiles(UserFilesSuite):
        @pytest.fixture
        def store(self, tmp_path: Path) -> Store:
            return Store(("--path", str(tmp_path / "graph.db")))
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result

from bfsql.cli import bfsql

NODES = "id,type,name\na,Person,Ann\nb,Person,Bob\n"
EDGES = "source,target,type\na,b,KNOWS\nb,c,KNOWS\n"
MORE = "source,target,type\nc,d,KNOWS\n"


class Store(NamedTuple):
    """The store that the command loads into, and that it reads."""

    load: tuple[str, ...]
    """Options of `bfsql load` that name the store."""
    read: tuple[str, ...] | None = None
    """Options of the tools, if they differ."""


class Graph(NamedTuple):
    """The part of a graph within three hops of the node `a`."""

    types: dict[str, str]
    triples: set[tuple[str, str, str]]


class UserFilesSuite:
    """Requires the fixture `store`, whose contents the tests replace."""

    PREFIX = ""
    """The prefix that the store adds to ids from tables."""
    RDF = False
    """Whether nodes may lack a type, which is then reported as `owl:Thing`."""
    KEEPS_NAME_KEYS = True
    """Whether a load keeps which column became the name."""

    @pytest.fixture(autouse=True)
    def _in_a_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = tmp_path / "files"
        folder.mkdir()
        monkeypatch.chdir(folder)
        for name, text in (("nodes", NODES), ("edges", EDGES), ("more", MORE)):
            (folder / f"{name}.csv").write_text(text, encoding="utf-8")

    @pytest.fixture
    def load(self, store: Store) -> Callable[..., Result]:
        """Runs `bfsql load` into the store."""
        return lambda *args: CliRunner().invoke(
            bfsql, ("load", *args, *store.load), prog_name="bfsql"
        )

    @pytest.fixture
    def held(self, store: Store) -> Callable[[], Graph]:
        """Reads the contents of the store."""

        def read() -> Graph:
            query = ("bfs-query", f"{self.PREFIX}a", "--max-hops", "3", "--json")
            options = store.load if store.read is None else store.read
            done = CliRunner().invoke(bfsql, (*query, *options), prog_name="bfsql")
            assert done.exit_code == 0, done.stderr
            answer = json.loads(done.stdout)
            return Graph(
                {self._own(node["id"]): self._own(node["entity_type"]) for node in answer["nodes"]},
                {
                    (self._own(e["subject"]), self._own(e["predicate"]), self._own(e["object"]))
                    for e in answer["edges"]
                },
            )

        return read

    def _own(self, name: str) -> str:
        return name.removeprefix(self.PREFIX)

    @pytest.fixture
    def old(self, load: Callable[..., Result], held: Callable[[], Graph]) -> Graph:
        """The contents of the store before the load under test."""
        done = load("nodes.csv", "edges.csv", "--replace", "--no-backup")
        assert done.exit_code == 0, done.stderr
        return held()

    def test_ends_that_only_edges_name_become_nodes(
        self, load: Callable[..., Result], held: Callable[[], Graph], old: Graph
    ) -> None:
        done = load("edges.csv", "--replace", "--no-backup")
        assert (done.exit_code, done.stderr) == (0, "")
        assert "Created 3 nodes for ids" in done.stdout
        assert "3 nodes, 2 edges" in done.stdout
        made = "owl:Thing" if self.RDF else "Node"
        assert held().types == dict.fromkeys("abc", made)

    def test_a_graph_that_is_there_is_replaced_only_when_that_is_said(
        self, load: Callable[..., Result], held: Callable[[], Graph], old: Graph
    ) -> None:
        wrong = load("more.csv")
        assert (wrong.exit_code, wrong.stdout) == (1, "")
        assert "--replace" in wrong.stderr
        assert held() == old

    def test_good_lines_are_loaded_although_others_are_refused(
        self, load: Callable[..., Result], held: Callable[[], Graph], old: Graph
    ) -> None:
        Path("some.csv").write_text("id,type\na,Cat\n,Cat\n", encoding="utf-8")
        done = load("some.csv", "--replace", "--no-backup")
        assert done.exit_code == 1
        assert "Lines refused: 1 (" in done.stdout
        assert "some.csv, line 3: " in done.stdout
        assert list(held().types) == ["a"]

    def test_edges_that_meet_no_node_are_loaded_and_reported_first(
        self, load: Callable[..., Result], held: Callable[[], Graph], old: Graph
    ) -> None:
        Path("numbered.csv").write_text("id,code\n1,a\n2,b\n", encoding="utf-8")
        done = load("numbered.csv", "edges.csv", "--replace", "--no-backup")
        assert (done.exit_code, done.stderr) == (1, "")
        assert done.stdout.startswith(
            "None of the 3 ids at the ends of edges is the id of a node, "
        )
        assert "the column code of numbered.csv: name it with --id-column code. " in done.stdout
        assert held().triples == {("a", "KNOWS", "b"), ("b", "KNOWS", "c")}

    def test_edges_that_were_read_as_nodes_are_reported_first(
        self, load: Callable[..., Result], old: Graph
    ) -> None:
        Path("exported.csv").write_text("id,@from,@to\ne1,a,b\n", encoding="utf-8")
        done = load("nodes.csv", "exported.csv", "--replace", "--no-backup")
        assert (done.exit_code, done.stderr) == (1, "")
        assert done.stdout.startswith("exported.csv was read as a table of nodes, but its columns ")

    def test_a_graph_of_dangling_edges_is_not_loaded(
        self, load: Callable[..., Result], held: Callable[[], Graph], old: Graph
    ) -> None:
        wrong = load("more.csv", "--replace", "--no-create-nodes")
        assert (wrong.exit_code, wrong.stdout) == (1, "")
        assert "dangle" in wrong.stderr
        assert held() == old

    def test_a_table_without_rows_is_not_loaded(
        self, load: Callable[..., Result], held: Callable[[], Graph], old: Graph
    ) -> None:
        Path("empty.csv").write_text("id,type\n", encoding="utf-8")
        wrong = load("empty.csv", "--replace")
        assert (wrong.exit_code, wrong.stdout) == (1, "")
        assert "the graph would have no node" in wrong.stderr
        assert held() == old

    def test_another_encoding_is_reported_and_can_be_named(
        self, load: Callable[..., Result], held: Callable[[], Graph], old: Graph
    ) -> None:
        Path("latin.csv").write_bytes("id,type\na,Café\n".encode("latin-1"))
        wrong = load("latin.csv", "--replace")
        assert (wrong.exit_code, wrong.stdout) == (2, "")
        assert "--encoding" in wrong.stderr
        assert held() == old
        done = load("latin.csv", "--replace", "--encoding", "latin-1", "--no-backup")
        assert done.exit_code == 0
        assert list(held().types.values()) == ["Café"]

    def test_a_dry_run_changes_nothing(
        self, load: Callable[..., Result], held: Callable[[], Graph], old: Graph
    ) -> None:
        done = load("more.csv", "--dry-run")
        assert done.exit_code == 0
        assert "Nothing was written." in done.stdout
        assert held() == old

    def test_the_column_that_became_the_name_is_asked_by_its_own_name(
        self, store: Store, load: Callable[..., Result]
    ) -> None:
        Path("samples.csv").write_text("id,type,material\na,Sample,DNA\nb,Sample,RNA\n")
        Path("books.csv").write_text("id,type,name,material\nd,Book,B,DNA\n")
        named = ("--name-column", "samples.csv=material")
        assert load("samples.csv", "books.csv", "--replace", *named).exit_code == 0
        found = []
        for seed in ("Sample[material=DNA]", "Sample[name=DNA]", "*[material=DNA]"):
            query = ("bfs-query", seed, "--json", *(store.read or store.load))
            answer = json.loads(CliRunner().invoke(bfsql, query, prog_name="bfsql").stdout)
            found.append([self._own(node["id"]) for node in answer["nodes"]] or answer["notes"])
        unknown = 'No property "material" is known there; it has name.'
        assert found[1:] == [["a"], ["d"]]
        assert found[0] == ["a"] if self.KEEPS_NAME_KEYS else unknown in found[0][0]


class ServerFilesSuite(UserFilesSuite):
    """For stores that a load fills or replaces, but does not add to."""

    ELSEWHERE = ""
    """Where the graph can be loaded if the existing one is to remain, as the error names it."""

    def test_the_error_about_a_graph_that_is_there_counts_what_replacing_would_delete(
        self, load: Callable[..., Result], old: Graph
    ) -> None:
        wrong = load("more.csv")
        assert "already contains a graph of 3 nodes and 2 edges. --replace deletes" in wrong.stderr
        assert self.ELSEWHERE in wrong.stderr
        assert "--append" not in wrong.stderr

    @pytest.mark.parametrize("option", [("more.csv", "--append"), ("--remove", "more.csv")])
    def test_a_graph_is_neither_added_to_nor_reduced(
        self,
        option: tuple[str, ...],
        load: Callable[..., Result],
        held: Callable[[], Graph],
        old: Graph,
    ) -> None:
        wrong = load(*option)
        assert (wrong.exit_code, wrong.stdout) == (2, "")
        assert "--append and --remove are not available for this backend" in wrong.stderr
        assert "--replace" not in wrong.stderr
        assert held() == old
