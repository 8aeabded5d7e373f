bfsql search-entities "meg ryann" --path films.db --json
