bfsql load more-credits.csv --append --remove withdrawn-credits.csv \
    --backend postgres --schema films --dsn-file owner.url
