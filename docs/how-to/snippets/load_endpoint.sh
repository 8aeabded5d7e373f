bfsql load people-and-films.csv credits.csv --backend sparql \
    --update-endpoint "$SPARQL_UPDATE_URL" --graph urn:films
