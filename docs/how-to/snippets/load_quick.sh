bfsql load people-and-films.csv credits.csv --path films.db
bfsql doctor films.db
bfsql install claude-desktop films.db --print
