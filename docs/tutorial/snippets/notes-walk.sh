bfsql bfs-query Grandmother --max-hops 1 --topology-only --backend notes --path bfsql-notes/tests/garden
bfsql describe-entity Water --backend notes --path bfsql-notes/tests/garden
