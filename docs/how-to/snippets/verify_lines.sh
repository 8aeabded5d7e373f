bfsql verify films.db - << END || echo "exit code $?"
Apollo 13 -ACTED_IN-> Kevin Bacon
Nora Ephron -DIRECTED-> Apollo 13 #1
Tom Hanks starred in Apollo 13.
END
