bfsql bfs-query "Meg Ryan" --step "-ACTED_IN-> Film" --step "<-DIRECTED- Person" --show ends --fields name --path films.db
