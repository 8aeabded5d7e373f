pip install bfsql-core bfsql-sqlite
