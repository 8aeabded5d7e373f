pip install bfsql-core bfsql-testing
bfsql new-backend notes
