"""The progress that a load reports while it runs."""

import gzip
from collections.abc import Iterable
from pathlib import Path

from bfsql.loading import EVERY, load
from bfsql.models import GraphRecord, LoadMode, LoadOptions, LoadReport
from bfsql.plugins import BackendPlugin
from bfsql_test_support.backends import toy

ROWS = "source,target\n" + "".join(f"n{i},n{i + 1}\n" for i in range(20 * EVERY))


async def test_reading_is_reported_as_a_share_of_the_bytes_on_disk(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(ROWS, encoding="utf-8")
    with gzip.open(tmp_path / "b.csv.gz", "wt", encoding="utf-8") as packed:
        packed.write(ROWS)

    async def count(_: toy.ToySettings, records: Iterable[GraphRecord], __: object) -> LoadReport:
        return LoadReport(edges=sum(1 for _record in records))

    told: list[tuple[str, float | None]] = []
    how = LoadOptions(LoadMode.REPLACE, progress=lambda *phase: told.append(phase))
    plugin = BackendPlugin("counts", toy.ToySettings, toy.plugin.open, count)
    paths = [tmp_path / "a.csv", tmp_path / "b.csv.gz"]
    report = await load(plugin, toy.ToySettings(), paths, how=how)
    assert report.edges == 40 * EVERY
    shares = [share or 0.0 for _, share in told]
    assert {phase for phase, _ in told} == {"reading"}
    assert shares == sorted(shares)
    assert shares[0] < 0.2
    assert 0.9 < shares[-1] <= 1.0
    middle = (tmp_path / "a.csv").stat().st_size
    packed_size = (tmp_path / "b.csv.gz").stat().st_size
    assert abs(shares[19] - middle / (middle + packed_size)) < 0.1
