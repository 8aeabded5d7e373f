bfsql load diseases.ttl gene_disease.csv --path joined.db \
    --subject-column gene --object-column doid --id-prefix doid=:DOID_ \
    --subject-type Gene --object-type owl:Class --default-predicate ASSOCIATED_WITH
