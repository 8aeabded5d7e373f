bfsql load papers.csv --backend postgres --dsn-file owner.url --edge-column treats=TREATS > report.txt
bfsql load trials.csv --path trials.db --edge-column tests=TESTS >> report.txt
