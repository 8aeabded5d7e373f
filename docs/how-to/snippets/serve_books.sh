bfsql serve books.ttl more-books.trig
