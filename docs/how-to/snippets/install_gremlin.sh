pip install bfsql-core bfsql-gremlin
