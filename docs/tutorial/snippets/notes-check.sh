bfsql check --backend notes --path bfsql-notes/tests/garden
