"""All query text: what the backend asks a SPARQL store."""
