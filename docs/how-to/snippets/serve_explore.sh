bfsql explore films.db
