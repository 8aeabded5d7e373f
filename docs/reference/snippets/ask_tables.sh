bfsql bfs-query p1 --max-hops 1 --config bfsql-firms.toml
