pip install "bfsql-core[sentence-transformers]"
