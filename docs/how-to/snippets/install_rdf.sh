pip install "bfsql-core[sqlite,rdf]"
