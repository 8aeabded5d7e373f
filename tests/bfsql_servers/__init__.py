"""Real servers for tests and benchmarks: Postgres, pgbouncer and Neo4j, each a process of its own.

Nothing here needs pytest, but for `fixtures` and `missing`, which make fixtures of the servers.
"""
