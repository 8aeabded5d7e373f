bfsql search-entities "kapitulationen" --config bfsql-books.toml
