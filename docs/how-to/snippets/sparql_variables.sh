export SPARQL_ENDPOINT_URL=http://localhost:7878/query
