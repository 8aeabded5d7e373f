bfsql load people-and-films.csv credits.csv --backend neo4j --replace
