bfsql load memory.jsonl --path memory.db
