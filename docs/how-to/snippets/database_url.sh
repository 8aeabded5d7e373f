export DATABASE_URL=postgresql://bfsql_reader:put-a-long-random-text-here@localhost:5432/graphs
