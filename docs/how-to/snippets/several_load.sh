bfsql load drugs.csv diseases_of_drugs.csv --path drugs.db --edge-column treats=TREATS > report.txt
bfsql load trials.csv --path trials.db --edge-column tests=TESTS >> report.txt
