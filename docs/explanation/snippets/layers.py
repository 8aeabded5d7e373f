"""The map of who may import whom, from the contracts that import-linter holds."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
contracts = settings["tool"]["importlinter"]["contracts"]
core = next(c for c in contracts if c["type"] == "layers" and c["containers"] == ["bfsql"])
closed = {
    module
    for contract in contracts
    if contract["type"] == "forbidden" and "bfsql_sqlite" in contract["source_modules"]
    for module in contract["forbidden_modules"]
}
for layer in core["layers"]:
    names = [name.strip() for name in layer.split("|")]
    private = {"__main__"}
    print(" | ".join(r if f"bfsql.{r}" in closed or r in private else f"{r} *" for r in names))
