bfsql index --apply --config bfsql-firms.toml --dsn-file owner.url
