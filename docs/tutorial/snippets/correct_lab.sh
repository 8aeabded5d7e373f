sed -i 's/^# \(.edges."people.supervisor".\)/\1/; s/^# to = ""/to = "people"/' lab.toml
sed -i 's/predicate = "site"/predicate = "taken_at"/' lab.toml
bfsql load lab.toml --replace
