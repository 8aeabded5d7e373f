bfsql search-entities ada --backend postgres --schema grafs 2>&1 || echo "exit code $?"
