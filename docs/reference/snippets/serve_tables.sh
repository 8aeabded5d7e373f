bfsql serve --backend postgres \
    --nodes "people: id=person_id, name=full_name, type='Person', aliases=nicknames" \
    --nodes "companies: id=company_id, type=kind, metadata=city" \
    --edges "jobs: subject=person_id, predicate='works for', object=company_id"
