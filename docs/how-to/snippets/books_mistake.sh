bfsql search-entities "ada" --backend sparql --data broken.ttl 2>&1 || echo "exit code $?"
