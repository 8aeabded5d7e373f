bfsql doctor --backend postgres
