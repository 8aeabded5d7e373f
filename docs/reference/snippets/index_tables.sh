bfsql index --config bfsql-firms.toml
