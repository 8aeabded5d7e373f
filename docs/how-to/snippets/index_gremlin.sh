bfsql index --backend gremlin
