"""All query text of the store, built once from its layout.

Values travel as parameters, many ids in one array; `unnest` and a join make
the server use its indexes where `= ANY` scans the table (a ring of 1,000 ids
among 200,000 rows: 90 ms against 10).
"""

from bfsql_postgres.queries.columns import Fetched, fetched, fetched_vector
from bfsql_postgres.queries.identity import shared
from bfsql_postgres.queries.looking import Looks, searched
from bfsql_postgres.queries.metadata import EdgeRows, NodeRows
from bfsql_postgres.queries.provenance import Provenance
from bfsql_postgres.queries.schema import Schema
from bfsql_postgres.queries.topology import Topology

__all__ = [
    "EdgeRows",
    "Fetched",
    "Looks",
    "NodeRows",
    "Provenance",
    "Schema",
    "Topology",
    "fetched",
    "fetched_vector",
    "searched",
    "shared",
]
