bfsql serve --path films.db
