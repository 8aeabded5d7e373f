"""Databases as they are: the mapping that keys and foreign keys propose."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import asyncpg
import pytest

from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord
from bfsql_postgres import PostgresBackend, PostgresSettings, discovery
from bfsql_test_support.northwind import Table, northwind
from bfsql_test_support.servers.database import Database
from bfsql_test_support.suites.agreement import assert_agreed

Open = Callable[..., Awaitable[PostgresBackend]]

# --- a company's tables, as SQL and as records -------------------------------------

NAMES = {
    "Region": "regionDescription",
    "Territory": "territoryDescription",
    "State": "stateName",
    "Employee": "lastName",
    "Category": "categoryName",
    "Supplier": "companyName",
    "Product": "productName",
    "Segment": "segmentDescription",
    "Customer": "companyName",
    "Shipper": "companyName",
}


def create_statements(tables: Mapping[str, Table]) -> str:
    """The statements that make and fill the tables."""
    return ";\n".join(
        f'CREATE TABLE "{name}" ({_columns(table)});\nINSERT INTO "{name}" VALUES {_rows(table)}'
        for name, table in tables.items()
    )


def _columns(table: Table) -> str:
    kinds = {int: "int", str: "text", bool: "boolean", float: "float8"}
    values = {c: next(r[c] for r in table.rows if r[c] is not None) for c in table.rows[0]}
    found = [
        f'"{column}" {"date" if column.endswith("Date") else kinds[type(value)]}'
        for column, value in values.items()
    ]
    found.append("PRIMARY KEY ({})".format(", ".join(f'"{one}"' for one in table.key)))
    found += [f'FOREIGN KEY ("{c}") REFERENCES "{t}"' for c, (t, _) in table.references.items()]
    return ", ".join(found)


def _rows(table: Table) -> str:
    return ", ".join(f"({', '.join(map(_literal, row.values()))})" for row in table.rows)


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return f"""'{value.replace("'", "''")}'"""
    return "NULL" if value is None else str(value)


def records_of(tables: Mapping[str, Table]) -> list[GraphRecord]:
    """The graph that the tables are."""
    found: list[GraphRecord] = []
    for name, table in tables.items():
        for row in table.rows:
            ends = {
                column: f"{target}:{row[column]}"
                for column, (target, _) in table.references.items()
                if row[column] is not None
            }
            others = {
                "name" if column == NAMES.get(name) else column: value
                for column, value in row.items()
                if column not in (*table.key, *table.references) and value is not None
            }
            if set(table.key) == set(table.references):
                found.append(EdgeRecord(ends[table.key[0]], name, ends[table.key[1]], others))
                continue
            node = f"{name}:{row[table.key[0]]}"
            found.append(NodeRecord(node, name, others))
            found += [
                EdgeRecord(node, column.removesuffix("ID"), end) for column, end in ends.items()
            ]
    return found


@pytest.fixture
async def company(owner: asyncpg.Connection, opened: Open) -> PostgresBackend:
    await owner.execute(create_statements(northwind()))
    return await opened()


async def test_a_company_is_the_graph_of_its_keys(company: PostgresBackend) -> None:
    records = records_of(northwind())
    await assert_agreed(company, records, evidence=False)
    counts, wanted = await company.outline(), await MemoryBackend(records).outline()
    assert counts.node_counts == wanted.node_counts
    assert counts.relations == wanted.relations
