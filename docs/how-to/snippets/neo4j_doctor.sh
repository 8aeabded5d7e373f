pip install bfsql-core bfsql-neo4j
bfsql doctor --backend neo4j
