bfsql bfs-query author:1 --max-hops 1 --backend postgres \
    --nodes "authors: id=author:id, type='Author'" \
    --nodes "books: id=book:id, type='Book', name=title" \
    --edges "wrote: subject=author:author_id, object=book:book_id"
