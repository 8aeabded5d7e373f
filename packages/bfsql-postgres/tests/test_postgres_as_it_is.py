"""Databases as they are, in two commands: a company's tables, and the demo's films."""

import asyncio
import json
import tomllib
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from bfsql.cli import bfsql as command
from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.models.valid_time import TimeKeys
from bfsql.sources import read_all
from bfsql_postgres import PostgresSettings, discovery
from bfsql_test_support.northwind import Table, northwind
from bfsql_test_support.relational_files import WRITERS
from bfsql_test_support.suites.agreement import assert_agreed, assert_same_answers
from bfsql_test_support.suites.as_it_is import (
    CRIMES,
    FILMS,
    Question,
    assert_answered,
    crimes,
    film_records,
)
from bfsql_test_support.tool_calls import read

FILE = Path(__file__).parents[3] / "docs/how-to/snippets/films.sql"

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


def create_statements(tables):
    """The statements that make and fill the tables."""
    return ";\n".join(
        f'CREATE TABLE "{name}" ({_columns(table)});\nINSERT INTO "{name}" VALUES {_rows(table)}'
        for name, table in tables.items()
    )


def _columns(table):
    kinds = {int: "int", str: "text", bool: "boolean", float: "float8"}
    values = {c: next((r[c] for r in table.rows if r[c] is not None), "") for c in table.rows[0]}
    found = [
        f'"{column}" {"date" if column.endswith("Date") else kinds[type(value)]}'
        for column, value in values.items()
    ]
    if table.key:
        found.append("PRIMARY KEY ({})".format(", ".join(f'"{one}"' for one in table.key)))
    found += [f'FOREIGN KEY ("{c}") REFERENCES "{t}"' for c, (t, _) in table.references.items()]
    return ", ".join(found)


def _rows(table):
    return ", ".join(f"({', '.join(map(_literal, row.values()))})" for row in table.rows)


def _literal(value):
    if isinstance(value, str):
        return f"""'{value.replace("'", "''")}'"""
    return "NULL" if value is None else str(value)


def records_of(tables):
    """The graph that the tables are."""
    found = []
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
async def company(owner, opened):
    await owner.execute(create_statements(northwind()))
    return await opened()


async def test_a_company_is_the_graph_of_its_keys(company):
    records = records_of(northwind())
    await assert_agreed(company, records, evidence=False)
    counts, wanted = await company.outline(), await MemoryBackend(records).outline()
    assert counts.node_counts == wanted.node_counts
    assert counts.relations == wanted.relations


CALLS = [
    ("describe_schema", {}),
    ("bfs_query", {"seeds": ["Product[unitPrice>30]", "*[city=Lyon]"], "max_hops": 2}),
    ("bfs_query", {"seeds": ["Order[orderDate>=1997-06-01]"], "facets": ["shipCity"]}),
    ("bfs_query", {"seeds": ["Employee[title!=Sales Manager]"], "along": ["-reportsTo-"]}),
    ("bfs_query", {"seeds": ["Customer:3"], "to": ["Region:1"], "max_hops": 5}),
    ("bfs_query", {"seeds": ["Order:*"], "path": ["-OrderDetail-> Product"], "max_tokens": 900}),
    ("describe_entity", {"id": "Order:7"}),
    ("intersect_subgraphs", {"seeds": ["Order:1", "Order:2"], "k": 2}),
    ("search_entities", {"query": "Supplier House 3"}),
]


def loaded(folder):
    """The records of the tables in a file, which are read by their keys."""
    return read_all([WRITERS["sqlite"](folder / "company", northwind())])


@pytest.mark.parametrize("records", [lambda _: records_of(northwind()), loaded])
async def test_answers_are_those_of_the_reference(company, records, tmp_path):
    reference = MemoryBackend(records(tmp_path))
    reference.name_keys = company.name_keys  # type: ignore[method-assign]
    async with open_graph(company) as own, open_graph(reference) as other:
        for tool, arguments in CALLS:
            await assert_same_answers([own, other], tool, **arguments)


async def test_the_column_that_became_the_name_is_asked_by_its_own_name(owner, opened):
    await owner.execute(
        """CREATE TABLE samples (id int PRIMARY KEY, material text);
        CREATE TABLE uses (id int PRIMARY KEY, title text, sample int REFERENCES samples);
        CREATE TABLE books (id int PRIMARY KEY, name text, title text);
        INSERT INTO samples VALUES (1, 'DNA'), (2, 'RNA'); INSERT INTO books VALUES (1, 'B', 'x');
        INSERT INTO uses VALUES (1, 'x', 1), (2, 'y', 2)"""
    )
    seeds = ["samples[material=DNA]", "*[material=DNA]", "uses[title=x]", "books[title=x]"]
    async with open_graph(await opened()) as graph:
        found = [await read(graph, "bfs_query", seeds=[one]) for one in [*seeds, "*[title=x]"]]
        assert [[node["id"] for node in answer["nodes"]] for answer in found] == [
            *(["samples:1"], ["samples:1"], ["uses:1"], ["books:1"], ["books:1"])
        ]
        asked = {"fields": ["material"], "facets": ["material"], "sort_by": "-material"}
        answer = await read(graph, "bfs_query", seeds=["samples:*"], **asked)
        assert [one["metadata"]["name"] for one in answer["nodes"]] == ["RNA", "DNA"]
        assert answer["facets"]["material"]["distinct"] == 2


@pytest.mark.parametrize("kind", ["daterange", "tsrange", "tstzrange", "datemultirange"])
async def test_a_column_of_ranges_has_both_dates(owner, opened, kind):
    ranges = {
        "[2010-01-01,2012-01-01)": {"2010-01-01", "2011"},
        "(2012-01-01,2015-06-01]": {"2012-01-02", "2015-06-01"},
        "[2012-01-01T12:00,infinity]": {"2012-01-02", "2015-06-01"},
        "(,2010-01-01]": {"2010-01-01"},
        "empty": set(),
    }
    if kind == "datemultirange":
        ranges = {f"{{{text}}}": at for text, at in ranges.items() if text != "empty"}
        ranges |= {"{[2010-01-01,2010-02-01), [2015-01-01,)}": {"2010-01-01", "2015-06-01"}}
    rows = ", ".join(f"('a', 'b{n}', '{text}')" for n, text in enumerate(ranges))
    await owner.execute(
        f"""CREATE TABLE people (id text PRIMARY KEY, kind text);
        INSERT INTO people SELECT unnest('{{a,b0,b1,b2,b3,b4}}'::text[]), 'P';
        CREATE TABLE terms (a text, b text, during {kind});
        INSERT INTO terms VALUES {rows}"""
    )
    tables = {"nodes": ["people: id=id, type=kind"], "edges": ["terms: subject=a, object=b"]}
    backend = await opened(**tables, valid_from=["during"], valid_until=["during"])
    backend.time_keys = TimeKeys(["during"], ["during"])
    async with open_graph(backend) as graph:
        for at in ("2010-01-01", "2011", "2012-01-02", "2015-06-01"):
            edges = (await graph.bfs_query("a", 1, at=at)).content["edges"]
            held = {f"b{n}" for n, days in enumerate(ranges.values()) if at in days}
            assert {edge["object"] for edge in edges} == held, at
        [relation] = (await read(graph, "describe_schema"))["relations"]
    ended = 3 if kind == "datemultirange" else 4
    assert relation == f"P -terms-> P (5, {ended} with an end)"


async def test_an_exact_name_is_found_among_many_longer_ones_without_a_doubt(owner, opened):
    await owner.execute(
        """CREATE TABLE cities (id int PRIMARY KEY, name text, near int REFERENCES cities);
        INSERT INTO cities SELECT n, 'Drolo, Drolo ' || n, 1 FROM generate_series(1, 400) AS n;
        INSERT INTO cities VALUES (900, 'Drolo', 1)"""
    )
    async with open_graph(await opened()) as graph:
        answer = await read(graph, "bfs_query", seeds=["Drolo"])
        assert answer["notes"][0] == '"Drolo" was taken as cities:900 (cities).'


async def test_a_column_of_names_beside_a_column_of_types_is_asked_by_its_own_name(owner, opened):
    await owner.execute(
        """CREATE TABLE things (id text PRIMARY KEY, kind text, title text, size int);
        CREATE TABLE parts (id text PRIMARY KEY, kind text, label text, size int);
        CREATE TABLE links (a text, b text);
        INSERT INTO things VALUES ('1', 'Film', 'Heat', 3), ('2', 'Book', 'Heat', 4);
        INSERT INTO parts VALUES ('p', 'Film', 'Solo', 2)"""
    )
    named = {"things": "title", "parts": "label"}
    nodes = [f"{one}: id=id, type=kind, name={name}" for one, name in named.items()]
    backend = await opened(nodes=nodes, edges=["links: subject=a, object=b"])
    async with open_graph(backend) as graph:
        seeds = ["*[title=Heat]", "Film[title=Heat]", "Film[label=Solo]", "Film[name=Solo]"]
        found = [await read(graph, "bfs_query", seeds=[one], sort_by="title") for one in seeds]
        ids = [[node["id"] for node in answer["nodes"]] for answer in found]
        assert ids == [["1", "2"], ["1"], ["p"], ["p"]]


COMPANY = [
    Question(
        "Which products does a supplier supply?",
        {"seeds": ["Supplier: Supplier House 3"], "path": ["<-supplier- Product"]},
        """SELECT 'Product:' || "productID" FROM "Product" AS p JOIN "Supplier" AS s USING
            ("supplierID") WHERE s."companyName" = 'Supplier House 3'""",
    ),
    Question(
        "Which employees report to somebody who reports to Fuller?",
        {"seeds": ["Employee:2"], "path": ["<-reportsTo- Employee", "<-reportsTo- Employee"]},
        """SELECT 'Employee:' || e."employeeID" FROM "Employee" AS e JOIN "Employee" AS m
            ON m."employeeID" = e."reportsTo" WHERE m."reportsTo" = 2""",
    ),
    Question(
        "Which products cost more than 30, by a supplier in Lyon?",
        {
            "seeds": ["Supplier[city=Lyon]"],
            "path": ["<-supplier- Product"],
            "where": ["unitPrice>30"],
        },
        """SELECT 'Product:' || "productID" FROM "Product" AS p JOIN "Supplier" AS s USING
            ("supplierID") WHERE s.city = 'Lyon' AND p."unitPrice" > 30""",
    ),
    Question(
        "Which customers bought one of the first two products?",
        {
            "seeds": ["Product:1", "Product:2"],
            "path": ["<-OrderDetail- Order", "-customer-> Customer"],
        },
        """SELECT DISTINCT 'Customer:' || o."customerID" FROM "Order" AS o JOIN "OrderDetail" AS d
            USING ("orderID") WHERE d."productID" IN (1, 2)""",
    ),
    Question(
        "Which orders have a line of more than 55 pieces?",
        {
            "seeds": ["Product:*"],
            "path": ["<-OrderDetail- Order"],
            "where": ["OrderDetail.quantity>55"],
        },
        """SELECT DISTINCT 'Order:' || "orderID" FROM "OrderDetail" WHERE quantity > 55""",
    ),
]


async def filled_company(owner):
    await owner.execute(create_statements(northwind()))


async def filled_films(owner):
    await owner.execute(FILE.read_text(encoding="utf-8"))


async def filled_crimes(owner):
    graph = crimes()
    tables = {label: Table(("id",), rows) for label, rows in graph.nodes.items()}
    several = Counter(name for name, _, _ in graph.relationships)
    for name, (start, end), pairs in graph.relationships:
        ends = {"start_id": (start, name), "end_id": (end, name)}
        rows = [dict(zip(ends, pair, strict=True)) for pair in pairs]
        tables[name if several[name] == 1 else f"{start}_{name}"] = Table((), rows, ends)
    await owner.execute(create_statements(tables))


GRAPHS = {
    "films": (filled_films, FILMS),
    "company": (filled_company, COMPANY),
    "crimes": (filled_crimes, CRIMES),
}


@pytest.mark.parametrize("name", list(GRAPHS))
async def test_questions_are_answered_as_sql_does_without_a_choice(name, owner, database, schema):
    fill, questions = GRAPHS[name]
    await fill(owner)
    settings = PostgresSettings(dsn=database.reader_url, schema_=schema)
    proposal = await discovery.propose(settings)
    printed = {one.field: json.dumps(one.value) for one in proposal.settings}
    assert "'" not in "".join(printed.values())  # which a shell would need to quote
    for more in ({}, printed):
        given = {"dsn": database.reader_url, "schema": schema, **more}
        async with open_graph("postgres", **given) as graph:
            await assert_answered(graph, questions, lambda question: owner.fetch(question.sql))


async def test_doctor_writes_a_table_for_each_of_the_database(
    owner, database, schema, tmp_path, monkeypatch
):
    await filled_films(owner)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", database.reader_url)
    invoke = partial(asyncio.to_thread, CliRunner().invoke, command)
    options = ["--backend", "postgres", "--schema", schema, "--write"]
    result = await invoke(["doctor", *options])
    assert result.exit_code == 0, result.output
    text = await asyncio.to_thread((tmp_path / "bfsql.toml").read_text, "utf-8")
    assert "\n[backend.nodes.Person]\n" in text
    written = tomllib.loads(text)["backend"]
    settings = PostgresSettings(dsn=database.reader_url, schema_=schema)
    proposed = {one.field: one.tables for one in (await discovery.propose(settings)).settings}
    assert {field: written[field] for field in ("nodes", "edges")} == proposed
    found = await invoke(["search-entities", "Nora Ephron"])
    assert "Nora Ephron" in found.output


async def test_the_films_of_the_documentation_are_those_of_the_demo(owner, opened):
    await owner.execute(FILE.read_text(encoding="utf-8"))
    await assert_agreed(await opened(), list(film_records()), evidence=False, singly=20)
