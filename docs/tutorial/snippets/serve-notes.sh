bfsql serve --backend notes --path bfsql-notes/tests/garden
