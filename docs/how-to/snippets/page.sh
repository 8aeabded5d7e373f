bfsql bfs-query meg-ryan --max-hops 2 --topology-only --limit 3 --path films.db
