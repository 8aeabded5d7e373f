pytest -q bfsql-notes
