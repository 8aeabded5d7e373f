bfsql load treats.csv --path joined.db --append --subject-column drug --object-column disease \
    --subject-type Drug --object-type Disease --default-predicate TREATS > report.txt
bfsql load same.csv --path joined.db --append
bfsql bfs-query joined.db levodopa --step "-TREATS->" --step "-same_as->" \
    --step "<-ASSOCIATED_WITH- Gene" --show ends
