bfsql serve --config bfsql-movies.toml --preserve-case \
    --exclude-labels Invoice,Log --exclude-types SEEN_BY
