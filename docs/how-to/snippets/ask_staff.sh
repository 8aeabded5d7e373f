bfsql bfs-query "Ada Lovelace" --step "-REPORTS_TO-> *" --show ends --path staff.db
