bfsql bfs-query author:1 --max-hops 1 --backend postgres \
    --nodes "author_nodes: type='Author'" --nodes "book_nodes: type='Book', name=title" \
    --edges "wrote_edges: predicate='wrote'"
