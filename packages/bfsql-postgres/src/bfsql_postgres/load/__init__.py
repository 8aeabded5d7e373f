"""Writing a graph into a schema of Postgres, all or nothing."""
