bfsql load staff.csv reports.csv --path staff.db --default-predicate REPORTS_TO \
    --id-column badge --type-column role --name-column "full name" \
    --subject-column who --object-column "to whom"
