bfsql bfs-query "Nora Ephron" --step "-DIRECTED-> Movie[released<1995]" --show ends \
    --backend postgres
