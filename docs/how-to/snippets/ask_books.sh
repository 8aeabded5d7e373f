bfsql bfs-query ex:ada --max-hops 1 --backend sparql --data books.ttl,more-books.trig
