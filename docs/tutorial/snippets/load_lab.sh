bfsql load lab --path lab.db --write lab.toml
