bfsql doctor --backend neo4j
