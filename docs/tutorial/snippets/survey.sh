bfsql bfs-query meg-ryan --max-hops 1 --topology-only --path films.db
