bfsql verify films.db answer.txt || echo "exit code $?"
