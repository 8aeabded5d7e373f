bfsql bfs-query "Nora Ephron" --max-hops 1 --config bfsql-movies.toml
