bfsql federation report --config bfsql-several.toml
