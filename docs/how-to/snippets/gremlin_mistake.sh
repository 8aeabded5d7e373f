bfsql search-entities "nora" --backend gremlin --traversal-source h 2>&1 || echo "exit code $?"
