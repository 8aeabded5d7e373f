bfsql bfs-query city.db Lorvale --at 2024-05-01 --answer-format lines
