pip install bfsql-core bfsql-postgres
