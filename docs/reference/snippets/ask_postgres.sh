bfsql search-entities "nora efron" --backend postgres
