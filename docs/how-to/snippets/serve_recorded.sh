bfsql serve films.db --record calls.jsonl
