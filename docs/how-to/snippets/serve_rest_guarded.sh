bfsql serve --path films.db --rest --bearer-token-file token.txt --cors-origins https://app.example.org
