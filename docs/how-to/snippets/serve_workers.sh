bfsql serve --path films.db --transport http --stateless --workers 2
