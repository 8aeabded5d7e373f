bfsql new-backend notes
