export SPARQL_UPDATE_URL=http://localhost:7878/update
