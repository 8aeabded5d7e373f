"""The rules of every loader as a pytest class.

    class TestLoads(LoaderSuite):
        plugin = plugin

        @pytest.fixture
        def settings(self, tmp_path): return NotesSettings(path=tmp_path / "notes.json")

Each test is a rule: a load is whole or nothing, its report counts what was found, the graph is the
one that `MemoryBackend` makes of the same records.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import pytest

from bfsql.abc import GraphDbInterface
from bfsql.errors import LoadRefused, SourceError
from bfsql.graph import open_graph
from bfsql.models import (
    REPLACING,
    EdgeRecord,
    EvidenceRecord,
    GraphRecord,
    LoadMode,
    LoadOptions,
    LoadReport,
    NodeRecord,
)
from bfsql.models.merge import UNTYPED
from bfsql.plugins import BackendPlugin
from bfsql_testing.conformance import EVERYTHING, Kind, storable
from bfsql_testing.conformance.comparison import Reference, same

__all__ = ["LoaderSuite"]

Load: TypeAlias = Callable[..., Awaitable[LoadReport]]
"""Loads records into the store, with the options of a load, by default those that replace."""
Contents: TypeAlias = Callable[[], Awaitable[Any]]
"""Reads what a load may change in the store, and what an interrupted one could leave behind."""
Source: TypeAlias = Callable[[Callable[[], object]], Iterator[GraphRecord]]
"""Generates records, and calls the given function when the load is to be cancelled."""

OLD: list[GraphRecord] = [NodeRecord("old", "thing")]
"""The contents of a store before a load that fails."""
_SEVERAL = [f"n{number}" for number in range(10)]
_PASSAGE = {"text_span": "A treats B.", "document_id": "a"}
_HARD: dict[str, GraphRecord] = {
    "half id": NodeRecord("half id \ud800", "thing"),
    "half type": NodeRecord("half type", "of half \udfff"),
    "nul id": NodeRecord("nul id \0", "thing"),
    "nul type": NodeRecord("nul type", "of nul \0"),
    "long id": NodeRecord("long id" + "x" * 10_000, "thing"),
    "half end": EdgeRecord("fine", "ONLY_OF_HALF", "half end" + "\udc00" * 500),
    "half predicate": EdgeRecord("fine", "half predicate \ud800", "fine"),
    "nul predicate": EdgeRecord("fine", "nul predicate \0", "fine"),
    "half passage": EvidenceRecord("fine", "half passage \ud800", "fine", {}),
}
"""Records that some stores cannot hold, by the text with which their names begin."""
_INTERRUPTED_LOAD = """
import asyncio, itertools, os, pickle, signal, sys
from bfsql.models import REPLACING, NodeRecord
signal.signal(signal.SIGINT, signal.default_int_handler)
def endless():
    for i in itertools.count():
        if i == 12_000:
            os.kill(os.getpid(), signal.SIGINT)
        yield NodeRecord(str(i), "thing")
load, settings = pickle.load(sys.stdin.buffer)
try:
    asyncio.run(load(settings, endless(), REPLACING))
except KeyboardInterrupt:
    sys.exit(7)
"""


def many(number: int) -> Iterator[GraphRecord]:
    """A chain of this many nodes; the last edge ends at an id that is not a node."""
    for i in range(number):
        yield NodeRecord(f"n{i}", "thing", {"name": f"name {i}"})
        yield EdgeRecord(f"n{i}", "next", f"n{i + 1}", {"confidence": 0.5})


def breaking(number: int, error: Exception) -> Iterator[GraphRecord]:
    """Records of this many nodes, and then an error."""
    yield from many(number)
    raise error


async def cancel(load: Load, source: Source) -> BaseException:
    """Cancel a load when its source requests it, and return the error that ends it."""
    reached, loop = asyncio.Event(), asyncio.get_running_loop()
    work = asyncio.ensure_future(load(source(lambda: loop.call_soon_threadsafe(reached.set))))
    await reached.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await work
    return caught.value


@pytest.mark.asyncio
class LoaderSuite:
    """The rules that every loader keeps; subclass it as `Test...`.

    The subclass has the `plugin`, and a fixture `settings` that names a place of the test's own,
    which every load replaces. A loader may be called in any thread, but has to read its records
    beside the event loop. A rule that does not hold is overridden by a test that says why.
    """

    plugin: ClassVar[BackendPlugin]
    """What the entry point of the backend names."""
    keeps: ClassVar[frozenset[Kind]] = EVERYTHING
    """The kinds of values that the store keeps, as in `BackendSuite`."""
    whole_or_nothing: ClassVar[bool] = True
    """Whether the previous graph is still there when a load ends while it writes. If not, the
    rules hold only until all records have been read."""
    cancelled_note: ClassVar[str] = ""
    """Start of the note on the error when a load is cancelled while it reads; "" for no note."""

    @pytest.fixture
    def settings(self) -> Any:
        """Settings that name a place to load into and to read from."""
        raise AssertionError(f"{type(self).__name__} has no fixture `settings`")

    @pytest.fixture
    def load(self, settings: Any) -> Load:
        """Loads records into the place that the settings name."""
        load_records: Any = self.plugin.load
        return lambda records, options=REPLACING: load_records(settings, records, options)

    @pytest.fixture
    def contents(self, settings: Any) -> Contents:
        """Reads what must not change; a store overrides it to include what a load writes besides.

        Here these are nodes of the suite's graphs, and the types and predicates of the store.
        """

        async def contents() -> Any:
            async with self._opened(settings) as db:
                nodes = await db.get_nodes_batch(["old", *_SEVERAL])
                names = (list(await db.entity_types()), list(await db.predicates()))
            return sorted((node.id, node.entity_type) for node in nodes), names

        return contents

    @pytest.fixture
    async def before(self, load: Load, contents: Contents) -> Any:
        """The result of `contents` after a first load."""
        await load(OLD)
        held = await contents()
        assert "old" in str(held)
        return held

    @asynccontextmanager
    async def _opened(self, settings: Any) -> AsyncIterator[GraphDbInterface]:
        db = await self.plugin.open(settings)
        try:
            yield db
        finally:
            await db.close()

    async def _expect_graph_of(
        self, settings: Any, records: Sequence[GraphRecord], ids: list[str]
    ) -> None:
        """Compare the store with the reference for some records; `ids` are nodes of both."""
        async with (
            self._opened(settings) as db,
            open_graph(db) as mine,
            Reference(db, records) as wanted,
        ):
            await same(mine, wanted, "describe_schema", {})
            await same(mine, wanted, "bfs_query", {"seeds": ids, "max_hops": 2})
            for entity_id in ids:
                await same(mine, wanted, "describe_entity", {"id": entity_id})

    # --- what is loaded ---------------------------------------------------------

    async def test_the_report_counts_what_was_found(self, load: Load) -> None:
        """Nodes, edges and passages, each once, and what was merged, dangles or belongs nowhere."""
        report = await load(
            [
                EdgeRecord("a", "treats", "b", {"confidence": 0.5}),
                NodeRecord("a", "drug", {"name": "A"}),
                NodeRecord("a", "chemical", {"name": "Alpha"}),
                NodeRecord("b", "", {}),
                EdgeRecord("a", "treats", "b", {"confidence": 0.9, "provenance": [_PASSAGE]}),
                EdgeRecord("a", "treats", "ghost"),
                EdgeRecord("ghost", "treats", "ghost"),
                EvidenceRecord("a", "treats", "b", _PASSAGE),
                EvidenceRecord("a", "causes", "b", {"text_span": "nobody says so"}),
                EvidenceRecord("x", "treats", "y", {"text_span": "nobody at all"}),
            ]
        )
        assert report.place
        # Not every loader notices that merged nodes had different types.
        assert report.retyped_nodes <= 1
        assert replace(
            report, place="", backup="", retyped_nodes=0, retyped_examples=[]
        ) == LoadReport(
            nodes=2,
            edges=3 if Kind.DANGLING_EDGES in self.keeps else 1,
            evidence=1,
            duplicate_nodes=1,
            duplicate_edges=1,
            dangling_edges=2,
            dangling_examples=["ghost"],
            described_ends=2,
            undescribed_ends=1,
            undescribed_sample=["ghost"],
            unattached_evidence=2,
        )

    async def test_records_of_one_thing_are_one_by_the_common_rules(
        self, load: Load, settings: Any
    ) -> None:
        """Whatever their order, and with the passages of an edge that comes later."""
        records: list[GraphRecord] = [
            EvidenceRecord("a", "treats", "b", _PASSAGE),
            NodeRecord("a", "", {"name": "A", "x": 1}),
            NodeRecord("a", "drug", {"name": "Alpha", "x": 2}),
            EdgeRecord("a", "treats", "b", {"confidence": 0.5, "source_documents": ["q", "p"]}),
            NodeRecord("a", "chemical"),
            NodeRecord("b", ""),
            EdgeRecord("a", "treats", "b", {"confidence": 0.9, "source_documents": ["p"]}),
            EdgeRecord("b", "treats", "a"),
            EvidenceRecord("a", "treats", "b", {"text_span": "So it does.", "document_id": "b"}),
        ]
        able = storable(records, self.keeps)
        await load(able)
        await self._expect_graph_of(settings, able, ["a", "b"])

    async def test_an_empty_graph_is_a_graph(self, load: Load, settings: Any) -> None:
        """Nothing of the previous one is left."""
        await load(many(2))
        assert replace(await load([]), place="", backup="") == LoadReport()
        async with self._opened(settings) as db:
            assert not list(await db.entity_types())
            assert not list(await db.predicates())
            assert not list(await db.search_entities("name"))
            assert not list(await db.edges_batch(["n0"]))

    async def test_a_load_replaces_the_last_one(self, load: Load, settings: Any) -> None:
        """Nodes, edges, types and predicates."""
        await load([NodeRecord("n0", "old"), NodeRecord("n9", "old"), EdgeRecord("n0", "P", "n9")])
        able = storable(many(3), self.keeps)
        await load(able)
        await self._expect_graph_of(settings, able, ["n0", "n1", "n2"])

    async def test_ends_of_edges_become_nodes_only_on_request(
        self, load: Load, settings: Any
    ) -> None:
        """They are named by their ids, and have the requested type or none."""
        records = [EdgeRecord("a", "p", "b"), EdgeRecord("b", "p", "c"), NodeRecord("b", "T")]
        for options in (
            LoadOptions(LoadMode.REPLACE, create_nodes=True, require_nodes=True),
            LoadOptions(LoadMode.REPLACE, create_nodes=True, default_type="Node"),
        ):
            report = await load(records, options)
            assert (report.nodes, report.edges, report.dangling_edges) == (3, 2, 0)
            assert (report.created_nodes, report.created_examples) == (2, ["a", "c"])
            async with self._opened(settings) as db:
                types = {n.id: n.entity_type for n in await db.get_nodes_batch(["a", "b", "c"])}
                # A store may leave out the name of a node without a type, which is its id anyway.
                default = "a" if options.default_type == UNTYPED else None
                name = (await db.metadata_for_node("a")).get("name", default)
            assert types == {"a": options.default_type, "b": "T", "c": options.default_type}
            assert name == "a"

    async def test_progress_goes_through_the_phases(self, load: Load) -> None:
        """Where the loader reports it; shares are between 0 and 1."""
        phases: list[tuple[str, float | None]] = []
        progress = lambda *phase: phases.append(phase)
        await load(many(3), LoadOptions(LoadMode.REPLACE, progress=progress))
        if not phases:
            pytest.skip("The loader reports no progress.")
        assert {phase for phase, _ in phases} <= {"reading", "merging", "writing"}
        assert all(share is None or 0 <= share <= 1 for _, share in phases)
        assert phases[-1][0] == "writing"

    # --- what is refused --------------------------------------------------------

    async def test_what_cannot_be_stored_is_refused_by_name_and_leaves_no_trace(
        self, load: Load, settings: Any
    ) -> None:
        """Ids, types and predicates that some store cannot hold: loaded as they are, or refused."""
        report = await load([*_HARD.values(), NodeRecord("fine", "thing")])
        told = [str(refusal) for refusal in report.refusals]
        assert report.refused == len(told)
        assert all(text.isascii() and len(text) < 700 for text in told)
        refused = {start for start in _HARD if any(start in text for text in told)}
        loaded = [record for start, record in _HARD.items() if start not in refused]
        assert len(_HARD) - len(loaded) == report.refused
        assert report.nodes == 1 + sum(isinstance(record, NodeRecord) for record in loaded)
        assert not [i for i in report.dangling_examples if any(i.startswith(s) for s in refused)]
        async with self._opened(settings) as db:
            types, predicates = set(await db.entity_types()), set(await db.predicates())
        edges = [record for record in loaded if isinstance(record, EdgeRecord)]
        assert types == {"thing", *(r.entity_type for r in loaded if isinstance(r, NodeRecord))}
        assert predicates <= {edge.predicate for edge in edges}

    async def test_a_strict_load_ends_at_what_cannot_be_stored(
        self, load: Load, contents: Contents
    ) -> None:
        """The error names the record, and nothing is changed."""
        report = await load([*_HARD.values(), *OLD])
        if not report.refused:
            pytest.skip("The store holds every record of the suite.")
        before = await contents()
        with pytest.raises(SourceError, match="strict"):
            await load(_HARD.values(), LoadOptions(LoadMode.REPLACE, strict=True))
        assert await contents() == before

    async def test_a_graph_that_is_there_stays_unless_it_is_to_be_replaced(
        self, load: Load, contents: Contents
    ) -> None:
        """The error says so before anything is read."""
        await load([*OLD, EdgeRecord("old", "P", "old")])
        before = await contents()
        for mode in (LoadMode.NEW, LoadMode.APPEND)[: 1 if self.plugin.appends else 2]:
            source = many(3)
            with pytest.raises(LoadRefused, match=r"contains a graph of 1 node( and 1 edge)?\."):
                await load(source, LoadOptions(mode))
            assert next(source) == next(many(3))
            assert await contents() == before

    async def test_a_graph_that_is_not_worth_loading_changes_nothing(
        self, load: Load, contents: Contents, before: Any
    ) -> None:
        """One in which every edge dangles, and one without nodes."""
        demanding = LoadOptions(LoadMode.REPLACE, require_nodes=True)
        with pytest.raises(LoadRefused, match="all 1 edges dangle"):
            await load([EdgeRecord("x", "P", "y")], demanding)
        with pytest.raises(LoadRefused, match="would have no node"):
            await load([], demanding)
        assert await contents() == before

    # --- all or nothing ---------------------------------------------------------

    @pytest.mark.parametrize("error", [RuntimeError("it broke"), PermissionError(13, "not yours")])
    async def test_a_failing_source_changes_nothing(
        self, load: Load, contents: Contents, before: Any, error: Exception
    ) -> None:
        """Its error arrives as it is: an unreadable file is not the fault of the store."""
        with pytest.raises(type(error)) as caught:
            await load(breaking(20_000, error))
        assert caught.value is error
        assert await contents() == before

    async def test_a_load_that_is_cancelled_while_it_reads_stops_and_changes_nothing(
        self, load: Load, contents: Contents, before: Any
    ) -> None:
        """Although its source never ends, at the latest with the next ten thousand records."""
        taken, over = 0, False

        def endless(started: Callable[[], object]) -> Iterator[GraphRecord]:
            nonlocal taken
            while not over:
                yield from many(10_000)
                taken += 1
                started()
            raise RuntimeError("the load went on after it was cancelled")

        notes = getattr(await cancel(load, endless), "__notes__", [])
        taken_before = taken
        await asyncio.sleep(0.5)
        over = True
        assert taken == taken_before, "the load goes on reading"
        begins = [note.startswith(self.cancelled_note) for note in notes]
        assert begins == [True] * bool(self.cancelled_note)
        assert await contents() == before

    async def test_a_load_that_is_cancelled_while_it_merges_changes_nothing(
        self, load: Load, contents: Contents, before: Any
    ) -> None:
        """After its last record; the next load is not disturbed."""
        if not self.whole_or_nothing:
            pytest.skip("The previous graph is deleted before the new one is whole.")

        def then_merge(taken: Callable[[], object]) -> Iterator[GraphRecord]:
            yield from many(60_000)
            taken()

        await cancel(load, then_merge)
        assert await contents() == before
        assert (await load(many(2))).nodes == 2

    async def test_an_interrupt_from_the_keyboard_changes_nothing(
        self, load: Load, settings: Any, contents: Contents, before: Any
    ) -> None:
        """In a process of its own, which imports the loader by its name."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _INTERRUPTED_LOAD, stdin=asyncio.subprocess.PIPE
        )
        given = pickle.dumps((self.plugin.load, settings))
        await asyncio.wait_for(process.communicate(given), 60)
        assert process.returncode == 7  # as the script says
        assert await contents() == before
        assert (await load(many(2))).nodes == 2

    async def test_readers_have_the_old_graph_until_the_new_one_is_read(
        self, load: Load, settings: Any
    ) -> None:
        """Backends that are opened before the load, and while it reads its records."""
        await load(storable(many(5), self.keeps))
        loop = asyncio.get_running_loop()

        async def number(db: GraphDbInterface) -> int:
            return len(list(await db.get_nodes_batch(_SEVERAL)))

        async def number_when_opened() -> int:
            async with self._opened(settings) as db:
                return await number(db)

        async with self._opened(settings) as earlier:

            def meanwhile() -> Iterator[GraphRecord]:
                yield from many(3)
                for read in (number(earlier), number_when_opened()):
                    assert asyncio.run_coroutine_threadsafe(read, loop).result(30) == 5

            await load(meanwhile())
        assert await number_when_opened() == 3

    async def test_two_loads_at_once_do_not_mix(self, load: Load, settings: Any) -> None:
        """A loader may refuse one while another is under way; one of them remains whole."""
        if not self.whole_or_nothing:
            pytest.skip("The previous graph is deleted before the new one is whole.")
        sizes = (300, 400, 500)
        loads = (load(many(number)) for number in sizes)
        reports = await asyncio.gather(*loads, return_exceptions=True)
        assert all(isinstance(one, LoadReport | LoadRefused) for one in reports), reports
        loaded = {report.nodes for report in reports if isinstance(report, LoadReport)}
        assert loaded <= {*sizes}
        ids = [f"n{i}" for i in range(max(sizes))]
        async with self._opened(settings) as db:
            nodes = len(list(await db.get_nodes_batch(ids)))
            edges = {(s, p, o) for s, p, o in await db.edges_batch(ids)}
        assert nodes in loaded
        assert sum(p == "next" and o != f"n{nodes}" for _, p, o in edges) == nodes - 1

    async def test_nothing_is_left_in_the_folder_of_temporary_files(
        self, load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After a load, and after one that fails."""
        folder = tmp_path / "temporary files"
        folder.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        await load(many(3))
        with pytest.raises(RuntimeError, match="the source broke"):
            await load(breaking(20_000, RuntimeError("the source broke")))
        assert list(folder.iterdir()) == []

    # --- append and remove ------------------------------------------------------

    def _append(self, remove: Iterable[GraphRecord] = ()) -> LoadOptions:
        if not self.plugin.appends:
            pytest.skip("The plugin declares that its loader does not append.")
        return LoadOptions(LoadMode.APPEND, remove=remove)

    async def test_several_loads_make_the_graph_of_one(self, load: Load, settings: Any) -> None:
        """Records of one thing are merged by the same rules as within one load."""
        first: list[GraphRecord] = [
            NodeRecord("a", "", {"name": "A", "x": 1}),
            NodeRecord("b", "T"),
            EdgeRecord("a", "P", "b", {"confidence": 0.5}),
        ]
        second: list[GraphRecord] = [
            NodeRecord("a", "drug", {"name": "Alpha", "x": 2}),
            EdgeRecord("a", "P", "b", {"confidence": 0.9}),
            EvidenceRecord("a", "P", "b", _PASSAGE),
            EdgeRecord("b", "Q", "a"),
        ]
        append, able = self._append(), storable([*first, *second], self.keeps)
        await load([record for record in able if record in first])
        report = await load([record for record in able if record not in first], append)
        assert (report.nodes, report.edges) == (2, 2)
        await self._expect_graph_of(settings, able, ["a", "b"])

    async def test_what_is_removed_goes_with_its_edges(self, load: Load, settings: Any) -> None:
        """And what the store did not have is counted, and named."""
        gone: list[GraphRecord] = [NodeRecord("n3", ""), NodeRecord("nobody", "")]
        gone.append(EdgeRecord("n0", "next", "n1"))
        append = self._append(gone)
        await load(storable(many(4), self.keeps))
        report = await load([EdgeRecord("n0", "NEW", "n2")], append)
        whole = Kind.DANGLING_EDGES in self.keeps
        assert (report.removed_nodes, report.removed_edges) == (1, 3 if whole else 2)
        assert (report.not_there, len(report.not_there_examples)) == (1, 1)
        assert "nobody" in report.not_there_examples[0]
        nodes = [record for record in many(3) if isinstance(record, NodeRecord)]
        edges = [EdgeRecord("n1", "next", "n2", {"confidence": 0.5}), EdgeRecord("n0", "NEW", "n2")]
        left = storable([*nodes, *edges], self.keeps)
        await self._expect_graph_of(settings, left, ["n0", "n1", "n2"])

    async def test_an_appended_load_that_fails_changes_nothing(
        self, load: Load, contents: Contents, before: Any
    ) -> None:
        """What it was to add before the error is not there."""
        with pytest.raises(RuntimeError, match="the source broke"):
            await load(breaking(3, RuntimeError("the source broke")), self._append())
        assert await contents() == before
