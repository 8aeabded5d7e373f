pip install "bfsql-core[sqlite,parquet]"
