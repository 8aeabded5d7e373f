bfsql load people-and-films.csv credits.csv --backend postgres --dsn-file owner.url
