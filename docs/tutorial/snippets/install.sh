pip install "bfsql-core[sqlite]"
