bfsql index --backend neo4j --id-property Person=name,Movie=title --apply
