"""Checks whether a connection's account could change the graph, without writing anything."""

from __future__ import annotations

from bfsql_neo4j.connection import Reader, place
from bfsql_neo4j.settings import Neo4jSettings

_ACCESS = "SHOW DATABASES YIELD name, access, home"
_EDITION = "CALL dbms.components() YIELD edition RETURN edition"
_PRIVILEGES = "SHOW USER PRIVILEGES YIELD access, action WHERE access = 'GRANTED' RETURN action"

_WRITING = {
    *("admin", "database_actions", "dbms_actions", "graph_actions", "write", "merge"),
    *("create_element", "delete_element", "set_label", "remove_label", "set_property"),
}
"""Privileges of the Enterprise edition that change nodes and relationships, or allow granting such
privileges.
"""


async def reason_it_may_write(reader: Reader, settings: Neo4jSettings) -> str | None:
    """A sentence for the operator; None if the account may only read.

    The Community edition has no roles: it can only close the whole database to writing.

    Args:
        reader: Connections as the account.
        settings: Name the database to check.
    """
    user = repr(settings.impersonate or settings.username) if settings.password else "anybody"
    named = settings.database
    for name, access, home in await reader.rows(_ACCESS):
        if (name == named.lower() if named else home) and access == "read-only":
            return None
    [[edition], *_] = await reader.rows(_EDITION)
    if edition == "community":
        return (
            f"{place(settings)} is Neo4j Community, which has no roles, so {user} may change "
            "everything. Set server.databases.read_only in its neo4j.conf between loads."
        )
    writing = sorted({action for (action,) in await reader.rows(_PRIVILEGES)} & _WRITING)
    if not writing:
        return None
    return (
        f"{place(settings)} allows {user} to write ({', '.join(writing)}). Connect as a user that "
        "has only the role reader."
    )
