"""Distributions that are installed for one test: only their metadata, in a folder."""

from pathlib import Path


def install(folder: Path, distribution: str, **backends: str) -> None:
    """Write the metadata that an installer would write for a distribution with backends.

    Args:
        folder: A folder that is, or will be, on `sys.path`.
        **backends: `module:attribute` of each backend, by the backend's name.
    """
    _write(folder, distribution, "bfsql.backends", backends)


def install_hooks(folder: Path, distribution: str, **plugins: str) -> None:
    """The same for a distribution with hook plugins."""
    _write(folder, distribution, "bfsql.hooks", plugins)


def _write(folder: Path, distribution: str, group: str, points: dict[str, str]) -> None:
    info = folder / f"{distribution.replace('-', '_')}-1.2.3.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2.3\n", encoding="utf-8"
    )
    lines = [f"{name} = {place}" for name, place in points.items()]
    info.joinpath("entry_points.txt").write_text(
        "\n".join([f"[{group}]", *lines]) + "\n", encoding="utf-8"
    )
