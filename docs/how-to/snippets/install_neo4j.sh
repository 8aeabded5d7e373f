pip install bfsql-core bfsql-neo4j
