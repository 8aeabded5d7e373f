bfsql search-entities "got mail" --config bfsql-movies.toml --search contains
