bfsql serve --backend sparql --data books.ttl more-books.trig
