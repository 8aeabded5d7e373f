bfsql bfs-query lloyd-bridges --max-hops 1 --node-types Film --predicates DIRECTED --path films.db
