bfsql load people-and-films.csv credits.csv --backend gremlin --replace
