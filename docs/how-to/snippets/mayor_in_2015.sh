bfsql bfs-query city.db Lorvale --at 2015 --answer-format lines
