bfsql doctor books.ttl
bfsql install claude-desktop books.ttl --print
