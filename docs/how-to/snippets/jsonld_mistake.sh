bfsql search-entities nora --backend jsonld --base-url http://127.0.0.1:1 2>&1 || echo "exit code $?"
