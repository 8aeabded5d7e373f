NEO4J_DATABASE=flims bfsql search-entities nora --backend neo4j 2>&1 || echo "exit code $?"
