bfsql search-entities "palmer" --backend sparql --endpoint http://127.0.0.1:9/sparql --connect-timeout 2 2>&1 || echo "exit code $?"
