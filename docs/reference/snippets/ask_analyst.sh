BFSQL_POSTGRES_ROLE=analyst bfsql bfs-query c1 --max-hops 1 --topology-only \
    --config bfsql-firms.toml
