bfsql search-entities "nora efron" --backend gremlin
