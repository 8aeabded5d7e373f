bfsql load people-and-films.csv credits.csv --path films.db --replace
