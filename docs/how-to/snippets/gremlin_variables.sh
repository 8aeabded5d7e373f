export GREMLIN_URI=ws://localhost:8182/gremlin
