bfsql demo
