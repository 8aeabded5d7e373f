pip install "bfsql-core[testing]"
bfsql new-backend notes
