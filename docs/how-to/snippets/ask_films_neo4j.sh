bfsql bfs-query "Nora Ephron" --step "-directed-> Movie[released<1995]" --show ends \
    --backend neo4j
