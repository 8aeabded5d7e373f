bfsql bfs-query lab.db "Bay of Fundy" --step "<-taken_at- sample" \
    --step "-collected_by-> person" --step "-supervisor-> person" --show walks
