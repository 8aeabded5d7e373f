grep -A 2 "may refer" lab.toml
