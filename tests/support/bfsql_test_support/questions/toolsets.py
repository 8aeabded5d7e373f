"""Sets of tools: our six tools, a schema tool and a query tool, or none; every call is counted.

The sets of two follow common practice. Their schema lists types with their properties, the
values of properties that have few, and the relations; a query returns compact JSON, one object per
row.
"""

import asyncio
import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, ClassVar, Self

import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client
from neo4j import AsyncDriver
from neo4j.exceptions import DriverError, Neo4jError

from bfsql.call import AnswerFormat
from bfsql.errors import ToolError
from bfsql.graph import Graph
from bfsql_test_support.compact_parser import read
from bfsql_test_support.servers.sparql import Refused, SparqlServer

BASE = "urn:bfsql:"
PREFIXES = {
    "": BASE,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
}
"""The prefixes of what our loader writes."""
FEW_VALUES = 8
"""Most values of a property for which a schema lists them."""
LONGEST_ANSWER = 60_000
"""Most characters in the answer of a query, as in our tools by default."""


class CallRefused(Exception):
    """A call was answered with an error; the message is its text."""


@dataclass(frozen=True)
class Call:
    """The cost of one call.

    Attributes:
        arguments: Characters of the arguments, as compact JSON.
        answer: Characters of the text that the model reads, whether an answer or an error.
    """

    tool: str
    arguments: int
    answer: int
    seconds: float = 0.0


@dataclass(frozen=True)
class Definition:
    """A tool as a model sees it."""

    name: str
    description: str
    input_schema: Mapping[str, Any]

    def text(self) -> str:
        """The definition as compact JSON."""
        return compact(vars(self))


class Toolset(ABC):
    """Tools over one store.

    Attributes:
        schema_tool: The tool that a client calls first, once a session; empty if there is none.
        instructions: What the server of the tools tells a client beside their definitions.
    """

    schema_tool: ClassVar[str]
    instructions: str = ""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    @abstractmethod
    def definitions(self) -> list[Definition]:
        """The tools as a model sees them."""

    @abstractmethod
    async def _answer(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Run a call."""

    async def run(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The text of the answer to a call."""
        text, start = "", time.perf_counter()
        try:
            text = await self._answer(tool, arguments)
        except CallRefused as refused:
            text = str(refused)
            raise
        finally:
            seconds = time.perf_counter() - start
            self.calls.append(Call(tool, len(compact(arguments)), len(text), seconds))
        return text


class NoTools(Toolset):
    """No tools at all: what a model answers from memory."""

    schema_tool = ""

    def definitions(self) -> list[Definition]:
        return []

    async def _answer(self, tool: str, arguments: Mapping[str, Any]) -> str:
        raise CallRefused(f"There is no tool {tool!r}; there are none.")


class QueryTools(Toolset):
    """A schema tool and a tool for a query language."""

    schema_tool = "get_schema"
    query_tool: ClassVar[str]

    @abstractmethod
    async def rows(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        """The rows that a query returns."""

    @abstractmethod
    async def _schema(self) -> str:
        """The answer of the schema tool."""

    @abstractmethod
    async def _read(self, query: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows that the store returns."""

    async def column(self, query: str, **parameters: Any) -> list[Any]:
        """The first value of each row."""
        return [next(iter(row.values())) for row in await self.rows(query, **parameters)]

    async def value(self, query: str, **parameters: Any) -> Any:
        """The first value of the only row."""
        [value] = await self.column(query, **parameters)
        return value

    async def _answer(self, tool: str, arguments: Mapping[str, Any]) -> str:
        if tool == self.schema_tool:
            return await self._schema()
        if tool != self.query_tool:
            there = f"there are {self.schema_tool} and {self.query_tool}"
            raise CallRefused(f"There is no tool {tool!r}; {there}.")
        query, parameters = str(arguments.get("query", "")), arguments.get("params") or {}
        text = compact(await self._read(query, parameters))
        if len(text) > LONGEST_ANSWER:
            raise CallRefused(
                f"The answer has {len(text):,} characters, more than {LONGEST_ANSWER:,}. Ask for "
                "less: count, or put a LIMIT behind the query."
            )
        return text

    def _definitions(self, schema: str, described: str, /, **arguments: Any) -> list[Definition]:
        """The definitions of the tools, by their descriptions and the arguments of a query."""
        asked = {"type": "object", "properties": arguments, "required": ["query"]}
        return [
            Definition(self.schema_tool, schema, {"type": "object", "properties": {}}),
            Definition(self.query_tool, described, asked),
        ]


class SixTools(Toolset):
    """Our tools over an open graph."""

    schema_tool = "describe_schema"

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph

    def definitions(self) -> list[Definition]:
        return [
            Definition(tool.name, tool.description, tool.input_schema)
            for tool in self.graph.definitions()
        ]

    async def _answer(self, tool: str, arguments: Mapping[str, Any]) -> str:
        try:
            answer = await self.graph.call(tool, dict(arguments))
        except ToolError as error:
            raise CallRefused(str(error)) from error
        return "".join(answer.blocks)

    async def call(self, tool: str, **arguments: Any) -> Any:
        """The decoded answer to a call; a list for tools that return one."""
        text = await self.run(tool, arguments)
        if text.startswith(("{", "[")):
            return json.JSONDecoder().raw_decode(text)[0]
        content = read(text)
        return content.get("result", content)

    async def bfs(self, *seeds: str, **arguments: Any) -> dict[str, Any]:
        """The answer of `bfs_query`."""
        answer: dict[str, Any] = await self.call("bfs_query", seeds=list(seeds), **arguments)
        return answer

    async def walk(self, seed: str, *steps: str, **arguments: Any) -> list[dict[str, Any]]:
        """The nodes at which a path ends, with their names."""
        told = {"path": list(steps), "show": "ends", "fields": ["name"], **arguments}
        nodes: list[dict[str, Any]] = (await self.bfs(seed, **told))["nodes"]
        return nodes

    async def count(self, seed: str, *steps: str, **arguments: Any) -> int:
        """The number of nodes at which a path ends."""
        answer = await self.bfs(seed, path=list(steps), limit=0, **arguments)
        return int(answer["shown_count"])


class ServedTools(Toolset):
    """Our tools as an MCP client has them: of `bfsql serve`, over stdio.

    Args:
        client: A client that is connected.
        listed: The definitions that the server sent.
    """

    schema_tool = "describe_schema"

    def __init__(self, client: mcp.Client, listed: list[Definition]) -> None:
        super().__init__()
        self._client, self._listed = client, listed
        self.instructions = client.instructions or ""

    @classmethod
    @asynccontextmanager
    async def of(
        cls, graph: Path, description: str, answer_format: AnswerFormat
    ) -> AsyncIterator[Self]:
        """A server of a graph file until the context ends.

        Args:
            graph: The file, by its whole path.
        """
        options = ["--graph-description", description, "--answer-format", answer_format]
        command = ["-m", "bfsql", "serve", str(graph), *options]
        with TemporaryDirectory(prefix="bfsql-chat-") as folder:  # which has no bfsql.toml
            parameters = StdioServerParameters(command=sys.executable, args=command, cwd=folder)
            async with mcp.Client(stdio_client(parameters)) as client:
                tools = (await client.list_tools()).tools
                listed = [Definition(t.name, t.description or "", t.input_schema) for t in tools]
                yield cls(client, listed)

    def definitions(self) -> list[Definition]:
        return self._listed

    async def _answer(self, tool: str, arguments: Mapping[str, Any]) -> str:
        try:
            answer = await self._client.call_tool(tool, dict(arguments))
        except mcp.MCPError as error:
            raise CallRefused(str(error)) from error
        text = "".join(block.text for block in answer.content if block.type == "text")
        if answer.is_error:
            raise CallRefused(text)
        return text


class CypherTools(QueryTools):
    """A schema tool and a tool for read-only Cypher queries."""

    query_tool = "read_cypher"

    def __init__(self, driver: AsyncDriver) -> None:
        super().__init__()
        self._driver = driver

    def definitions(self) -> list[Definition]:
        params = {
            "type": "object",
            "description": "The parameters to pass to the Cypher query.",
            "additionalProperties": True,
        }
        return self._definitions(
            "List all node labels with their properties, the relationship types with their "
            "properties, and between which labels they run.",
            "Execute a read Cypher query on the Neo4j database. The answer is a JSON list "
            "with an object for each row.",
            query={"type": "string", "description": "The Cypher query to execute."},
            params=params,
        )

    async def rows(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        arguments = {"query": query} | ({"params": parameters} if parameters else {})
        rows: list[dict[str, Any]] = json.loads(await self.run("read_cypher", arguments))
        return rows

    async def _read(self, query: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        try:
            async with self._driver.session(default_access_mode="READ") as session:
                return await (await session.run(query, dict(parameters))).data()
        except (Neo4jError, DriverError) as error:
            raise CallRefused(str(error)) from error

    async def _schema(self) -> str:
        lines = ["Node properties:"]
        labels = await self._names("CALL db.labels() YIELD label RETURN label AS name")
        lines += [await self._properties(label, f"(x:`{label}`)") for label in labels]
        lines.append("Relationship properties:")
        types = await self._names(
            "CALL db.relationshipTypes() YIELD relationshipType RETURN relationshipType AS name"
        )
        described = [await self._properties(t, f"()-[x:`{t}`]->()") for t in types]
        lines += [line for line in described if not line.endswith("{}")]
        lines.append("The relationships:")
        relations = (
            "MATCH (a)-[r]->(b) RETURN DISTINCT labels(a)[0] AS a, type(r) AS r, labels(b)[0] AS b"
        )
        lines += sorted(
            f"(:{row['a']})-[:{row['r']}]->(:{row['b']})" for row in await self._read(relations, {})
        )
        return "\n".join(lines)

    async def _names(self, query: str) -> list[str]:
        return sorted(row["name"] for row in await self._read(query, {}))

    async def _properties(self, name: str, pattern: str) -> str:
        found = await self._read(
            f"MATCH {pattern} UNWIND keys(x) AS key WITH key, x[key] AS value "
            "WITH key, collect(DISTINCT value) AS values, collect(value)[0] AS first "
            f"RETURN key, valueType(first) AS type, size(values) <= {FEW_VALUES} AS few, "
            f"values[..{FEW_VALUES}] AS values ORDER BY key",
            {},
        )
        shown = (
            f"{row['key']}: {row['type'].removesuffix(' NOT NULL')}"
            + (f" {compact(sorted(row['values']))}" if row["few"] else "")
            for row in found
        )
        return f"{name} {{{', '.join(shown)}}}"


class SparqlTools(QueryTools):
    """A schema tool and a tool for SPARQL SELECT queries.

    Args:
        prefixes: Prefix to namespace, declared in front of each query.
    """

    query_tool = "read_sparql"

    def __init__(
        self, server: SparqlServer, prefixes: Mapping[str, str] = MappingProxyType(PREFIXES)
    ) -> None:
        super().__init__()
        self._server = server
        self._prefixes = prefixes
        self._head = "".join(f"PREFIX {one}: <{iri}>\n" for one, iri in prefixes.items())

    def definitions(self) -> list[Definition]:
        return self._definitions(
            "List the classes with their properties, and the relations between them.",
            "Execute a SELECT query. The answer is a JSON list with an object for each row. "
            f"These prefixes are declared: {' '.join(f'{one}:' for one in self._prefixes)}. "
            "Names are rdfs:label, aliases skos:altLabel. What is known of a triple hangs on a "
            "node with rdf:subject, rdf:predicate and rdf:object.",
            query={"type": "string", "description": "The SPARQL query to execute."},
        )

    async def rows(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        """The rows that a query returns; `$name` in it stands for the literal of a parameter."""
        for name in sorted(parameters, key=len, reverse=True):
            query = query.replace(f"${name}", json.dumps(parameters[name]))
        rows: list[dict[str, Any]] = json.loads(await self.run("read_sparql", {"query": query}))
        return rows

    async def _read(
        self, query: str, parameters: Mapping[str, Any] = MappingProxyType({})
    ) -> list[dict[str, Any]]:
        try:
            return await asyncio.to_thread(self._server.select, self._head + query)
        except (Refused, OSError, ValueError) as error:
            raise CallRefused(str(error)) from error

    async def _schema(self) -> str:
        relations = await self._read(
            "SELECT DISTINCT ?a ?p ?b { ?s ?p ?o . ?s a ?a . ?o a ?b . FILTER(isIRI(?s)) }"
        )
        properties = await self._read(
            "SELECT ?a ?p (COUNT(DISTINCT ?o) AS ?n) (SAMPLE(DATATYPE(?o)) AS ?t) "
            "{ ?s a ?a ; ?p ?o FILTER(isLiteral(?o)) } GROUP BY ?a ?p"
        )
        of_edges = await self._read(
            "SELECT ?p ?q (SAMPLE(DATATYPE(?o)) AS ?t) { ?s rdf:predicate ?p ; ?q ?o "
            "FILTER(isLiteral(?o)) } GROUP BY ?p ?q"
        )
        lines = [self._line(row, "apb") for row in relations]
        for row in properties:
            few = int(row["n"]) <= FEW_VALUES
            lines.append(self._line(row, "apt") + (await self._values(row) if few else ""))
        lines += [f"<< {self._short(row['p'])} >> {self._line(row, 'qt')}" for row in of_edges]
        return "\n".join(sorted(lines))

    async def _values(self, row: Mapping[str, str]) -> str:
        found = await self._read(
            f"SELECT DISTINCT ?o {{ ?s a <{row['a']}> ; <{row['p']}> ?o }} ORDER BY ?o"
        )
        return f" {compact([one['o'] for one in found])}"

    def _line(self, row: Mapping[str, str], variables: str) -> str:
        return " ".join(self._short(row[variable]) for variable in variables)

    def _short(self, iri: str) -> str:
        for prefix, namespace in self._prefixes.items():
            if iri.startswith(namespace):
                return f"{prefix}:{iri.removeprefix(namespace)}"
        return iri.replace("http://www.w3.org/2001/XMLSchema#", "xsd:")


def compact(value: Any) -> str:
    """JSON without spaces; values of other types become strings."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
