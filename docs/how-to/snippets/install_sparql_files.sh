pip install bfsql-core bfsql-sparql
