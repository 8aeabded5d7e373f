bfsql load new-credits.csv --remove no-credits.csv --backend neo4j
