bfsql load tea.ttl --path tea.db --language en > report.txt
bfsql bfs-query ex:tea --max-hops 1 --path tea.db
