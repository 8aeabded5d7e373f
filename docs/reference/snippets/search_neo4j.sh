bfsql search-entities "meg rian" --config bfsql-movies.toml
