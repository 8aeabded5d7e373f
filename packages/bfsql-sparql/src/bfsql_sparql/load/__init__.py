"""Writing a graph into a SPARQL store, all or nothing."""
