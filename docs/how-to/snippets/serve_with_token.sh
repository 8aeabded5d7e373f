bfsql serve --path films.db --transport http --bearer-token-file token.txt
