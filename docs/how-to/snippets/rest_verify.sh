curl -sw "\n" http://127.0.0.1:8000/verify --json '{"text": "Tom Hanks -DIRECTED-> Apollo 13"}'
