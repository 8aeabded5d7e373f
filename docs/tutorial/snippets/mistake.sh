bfsql bfs-query hanks --max-hops 1 --path films.db 2>&1 || echo "exit code $?"
