bfsql serve --backend gremlin
