curl -sw "\n" http://127.0.0.1:8000/tools/describe_entities --json '{"ids": ["apollo-13"]}'
