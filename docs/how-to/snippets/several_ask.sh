bfsql bfs-query --config bfsql-several.toml NSAID --step "<-ex:memberOf- Drug[-TREATS-> Headache]" \
    --step "<-TESTS- Trial" --show ends --answer-format lines
