bfsql bfs-query apollo-13 --max-hops 1 --topology-only --backend jsonld \
    --base-url http://127.0.0.1:8000
