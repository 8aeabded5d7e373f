bfsql bfs-query books.ttl ex:ada --max-hops 1 --more-files more-books.trig --graph ex:catalogue
