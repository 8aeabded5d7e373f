bfsql load people-and-films.csv credits.csv --backend postgres --schema films --dsn-file owner.url
