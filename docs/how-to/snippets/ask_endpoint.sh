bfsql bfs-query lib:ada --max-hops 1 --backend sparql --prefix lib=https://example.org/library/
