"""Results of benchmarks in `benchmarks/results/`, which `--save` writes and tests read.

A file is a list of rows. A row has the date and the machine of its run; running a part again
replaces the rows of that part only.
"""

import datetime as dt
import json
import os
import platform
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "benchmarks" / "results"

Row = Mapping[str, Any]


def saved(name: str) -> list[dict[str, Any]]:
    """The rows of a file; none if it does not exist."""
    path = FOLDER / f"{name}.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text("utf-8")) if path.exists() else []
    return rows


def save(name: str, rows: Iterable[Row], keys: Collection[str]) -> None:
    """Add rows to a file, in place of those that are equal in some fields.

    Args:
        keys: The fields by which a row is found again.
    """
    run = {"date": dt.datetime.now(dt.UTC).date().isoformat(), "machine": machine()}
    kept = {tuple(row.get(key) for key in keys): row for row in saved(name)}
    kept |= {tuple(row.get(key) for key in keys): {**row, **run} for row in rows}
    FOLDER.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in kept.values())
    (FOLDER / f"{name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def machine() -> str:
    """Processor, cores, system and Python."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text("utf-8", "replace").splitlines()
        model = next((line.partition(": ")[2] for line in lines if "model name" in line), model)
    system = f"{platform.system()} {platform.machine()}"
    return f"{model}, {os.cpu_count()} cores, {system}, Python {platform.python_version()}"
