bfsql graphs --config graphs.toml
