"""A test that is asked every row of a table in one case."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest


def case_table(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Any], Any]:
    """Runs a test for every row, with the same fixtures, and raises all that failed at the end.

    Takes what `pytest.mark.parametrize` takes, or a mapping of rows by name. Each failure names its
    row; each row has a folder of its own in `tmp_path`.
    """
    columns = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else names
    named = rows.items() if isinstance(rows, Mapping) else [(repr(row), row) for row in rows]
    cells = [(name, row if len(columns) > 1 else (row,)) for name, row in named]
    assert cells

    def calls(fixtures: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        for number, (name, row) in enumerate(cells):
            arguments = {**fixtures, **dict(zip(columns, row, strict=True))}
            if "tmp_path" in fixtures:
                arguments["tmp_path"] = fixtures["tmp_path"] / f"row-{number}"
                arguments["tmp_path"].mkdir()
            yield name, arguments

    def decorated(test: Any) -> Any:
        def asked(*own: Any, **fixtures: Any) -> None:
            with failures() as row:
                for name, arguments in calls(fixtures):
                    with row(name):
                        test(*own, **arguments)

        async def awaited(*own: Any, **fixtures: Any) -> None:
            with failures() as row:
                for name, arguments in calls(fixtures):
                    with row(name):
                        await test(*own, **arguments)

        case = functools.wraps(test)(awaited if inspect.iscoroutinefunction(test) else asked)
        signature = inspect.signature(test)
        fixtures = [p for name, p in signature.parameters.items() if name not in columns]
        assert len(fixtures) + len(columns) == len(signature.parameters), columns
        case.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return case

    return decorated


@contextmanager
def failures() -> Iterator[Callable[[str], Any]]:
    """A context for each row, by its name, which keeps what fails in it until the end of all."""
    failed: list[BaseException] = []

    @contextmanager
    def row(name: str) -> Iterator[None]:
        try:
            yield
        except (Exception, BaseExceptionGroup, pytest.fail.Exception) as error:  # noqa: BLE001 - kept till the end
            error.add_note(f"in the row {name}")
            failed.append(error)

    yield row
    if failed:
        raise BaseExceptionGroup(f"{len(failed)} rows failed", failed)
