bfsql load more-credits.csv --append --remove withdrawn-credits.csv \
    --backend postgres --dsn-file owner.url
