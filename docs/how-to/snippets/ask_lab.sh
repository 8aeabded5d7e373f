bfsql bfs-query lab.db "Bay of Fundy" --step "<-TAKEN_AT- sample" \
    --step "-collected_by-> *" --show ends
