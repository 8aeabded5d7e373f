bfsql search-entities "tom hanks"
