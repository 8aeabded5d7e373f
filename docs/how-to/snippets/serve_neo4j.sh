bfsql serve --backend neo4j --id-property Person=name,Movie=title
