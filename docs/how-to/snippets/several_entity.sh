bfsql describe-entity --config bfsql-several.toml aspirin
