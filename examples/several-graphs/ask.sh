export FEDERATION_PAPERS_DSN="$DATABASE_URL"
bfsql bfs-query --config bfsql-several.toml "steroid synthesis inhibitor" \
    --step "<-ex:memberOf- drug[-TREATS-> Cushing disease]" --step "<-TESTS- Trial[year>=2015]" \
    --show ends --answer-format lines
