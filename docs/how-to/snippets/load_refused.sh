bfsql load staff_today.csv --append --backend neo4j 2>&1 || echo "exit code $?"
