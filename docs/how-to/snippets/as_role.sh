bfsql bfs-query --config roles.toml --graph-name films --as reader tom-hanks --answer-format lines
