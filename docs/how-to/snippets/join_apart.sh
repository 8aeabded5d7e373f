bfsql load diseases.ttl treats.csv --path apart.db --subject-column drug --object-column disease \
    --subject-type Drug --object-type Disease --default-predicate TREATS
