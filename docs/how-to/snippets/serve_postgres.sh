bfsql serve --backend postgres
