bfsql load more-credits.csv --append --remove withdrawn-credits.csv \
    --backend sparql --graph urn:films
