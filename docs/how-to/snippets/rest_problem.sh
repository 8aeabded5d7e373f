curl -sw "\n" http://127.0.0.1:8000/entities/apollo
