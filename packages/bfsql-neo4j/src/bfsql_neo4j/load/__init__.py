"""Writing a graph into a Neo4j database."""
