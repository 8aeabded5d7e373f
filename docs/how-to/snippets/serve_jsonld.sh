bfsql serve --backend jsonld --base-url http://127.0.0.1:8000
