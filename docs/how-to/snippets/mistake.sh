bfsql config --max-tokens 100 2>&1 || echo "exit code $?"
