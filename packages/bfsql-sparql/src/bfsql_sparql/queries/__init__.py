"""All query text that the backend sends to a SPARQL store."""
