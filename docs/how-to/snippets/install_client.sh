bfsql install claude-desktop --path films.db --print
