bfsql search-entities broken.ttl "ada" 2>&1 || echo "exit code $?"
