"""The same tables as CSV, Parquet, SQLite, DuckDB and Excel give the same graph."""

import datetime as dt
from dataclasses import replace

import pytest

from bfsql.sources import read_all
from bfsql_test_support.northwind import Table, northwind
from bfsql_test_support.relational_files import WRITERS


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    """A company's tables, with dates, moments and numbers that every form can tell apart."""
    # Nothing but a declared key says that `reportsTo` is an employee.
    special = {
        "orderDate": dt.date.fromisoformat,
        "method": lambda _: dt.datetime(1997, 2, 3, 10, 30),  # noqa: DTZ001 - as tables have it
        **dict.fromkeys(("freight", "unitPrice", "discount", "amount"), lambda n: n + 0.125),
    }
    return {
        name: replace(
            table,
            rows=[
                {c: special.get(c, lambda v: v)(v) for c, v in row.items() if c != "reportsTo"}
                for row in table.rows
            ],
            references={c: to for c, to in table.references.items() if c != "reportsTo"},
        )
        for name, table in northwind().items()
    }


@pytest.fixture(scope="module")
def expected(tables, tmp_path_factory) -> list[str]:
    """The records of the tables as CSV."""
    return records(WRITERS["csv"](tmp_path_factory.mktemp("csv") / "csv", tables))


def records(path):
    return sorted(map(repr, read_all([path])))


@pytest.mark.parametrize("form", [form for form in WRITERS if form != "csv"])
def test_the_graph_is_that_of_the_same_tables_as_csv(tmp_path, tables, expected, form):
    assert records(WRITERS[form](tmp_path / form, tables)) == expected


def test_the_graph_has_the_rows_as_nodes_and_the_references_as_edges(tables, expected):
    relations = {"EmployeeTerritory", "OrderDetail"}
    rows = {name: len(table.rows) for name, table in tables.items()}
    nodes = sum(number for name, number in rows.items() if name not in relations)
    references = sum(
        rows[name] * len(table.references)
        for name, table in tables.items()
        if name not in relations
    )
    assert sum(one.startswith("NodeRecord") for one in expected) == nodes
    edges = references + sum(rows[name] for name in relations)
    assert sum(one.startswith("EdgeRecord") for one in expected) == edges
