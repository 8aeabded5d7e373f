bfsql search-entities cha --backend notes --path bfsql-notes/example.json
