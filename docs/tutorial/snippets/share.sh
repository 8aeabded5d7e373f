bfsql intersect-subgraphs tom-hanks meg-ryan --k 2 --exclude-node-types Film --path films.db
