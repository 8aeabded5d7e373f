sed -i 's/predicate = "site"/predicate = "TAKEN_AT"/' lab.toml
bfsql load lab.toml --replace
