bfsql doctor --backend sparql
bfsql install claude-desktop --backend sparql --print
