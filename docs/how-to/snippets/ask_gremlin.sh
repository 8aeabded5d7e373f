bfsql bfs-query "Nora Ephron" --max-hops 1 --backend gremlin --topology-only
