bfsql serve --path films.db --rest
