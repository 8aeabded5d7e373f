bfsql serve --path films.db --transport http
