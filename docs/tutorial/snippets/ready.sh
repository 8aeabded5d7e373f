bfsql doctor films.db
bfsql install claude-desktop films.db --print
