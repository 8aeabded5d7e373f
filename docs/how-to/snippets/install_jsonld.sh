pip install bfsql-core bfsql-jsonld
