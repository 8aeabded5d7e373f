bfsql search-entities "apolo 13" --backend jsonld --base-url http://127.0.0.1:8000
