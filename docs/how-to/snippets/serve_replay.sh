bfsql explore films.db --replay calls.jsonl
