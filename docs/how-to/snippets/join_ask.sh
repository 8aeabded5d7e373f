bfsql bfs-query joined.db "central nervous system disease" \
    --step "<-rdfs:subClassOf-" --step "<-ASSOCIATED_WITH- Gene" --show ends
